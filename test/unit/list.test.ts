import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Mode } from '#shared/networks/registry.ts'
import { type Found, mergeFound, readSlice, type Stretch } from '../../api/list.ts'

const idOf = (row: string) => row
const found = (rows: string, scannedTo?: string): Found<string> => ({ rows: [...rows], scannedTo })

test('rows of both modes come newest first, and the last one shown is where the next page begins', () => {
  assert.deepEqual(mergeFound([found('ica'), found('hgb')], 4, idOf), {
    rows: ['i', 'h', 'g', 'c'],
    next: 'c',
  })
})

test('a list that ends says so', () => {
  assert.deepEqual(mergeFound([found('c'), found('')], 1, idOf), { rows: ['c'], next: undefined })
  assert.deepEqual(mergeFound([], 1, idOf), { rows: [], next: undefined })
})

test('nothing older than the place where a search broke off is shown: something may be missing there', () => {
  assert.deepEqual(mergeFound([found('i', 'f'), found('gba')], 5, idOf), {
    rows: ['i', 'g'],
    next: 'f',
  })
})

test('the newest place counts when several searches broke off', () => {
  assert.deepEqual(mergeFound([found('', 'c'), found('gd', 'd')], 5, idOf), {
    rows: ['g', 'd'],
    next: 'd',
  })
})

test('walks of any page size over any rows, filtered or not, see each wanted row once and in order', async () => {
  // A deterministic mix: two modes, a third of the rows wanted, searches that break off after four rows.
  const all = Array.from({ length: 60 }, (_, index) => ({
    id: `x${String(index).padStart(3, '0')}`,
    mode: ((index * 7) % 5 < 2 ? 'live' : 'test') as Mode,
    isWanted: (index * 11) % 3 === 0,
  })).reverse()
  const stretchOf = ({ mode, from, before }: Stretch) =>
    all.filter((row) => row.mode === mode && row.id >= from && row.id < before)
  const list = {
    read: async (stretch: Stretch) =>
      stretchOf(stretch)
        .slice(0, 4)
        .filter((row) => row.isWanted)
        .slice(0, stretch.limit),
    readScanEnd: async (stretch: Stretch) => stretchOf(stretch)[3]?.id,
    idOf: (row: { id: string }) => row.id,
  }
  for (const limit of [1, 2, 3, 10]) {
    const seen: string[] = []
    let before: string | undefined
    for (let page = 0; page === 0 || before !== undefined; page += 1) {
      assert.ok(page < 100, 'the walk ends')
      const slice = await readSlice(list, ['live', 'test'], { before, limit })
      assert.ok(slice.rows.length <= limit)
      seen.push(...slice.rows.map(({ id }) => id))
      before = slice.next
    }
    const wanted = all.filter((row) => row.isWanted).map(({ id }) => id)
    assert.deepEqual(seen, wanted, `pages of ${limit}`)
  }
})

test('a page is empty only after many rows in a row were not wanted, and says where to go on', async () => {
  let searchCount = 0
  const list = {
    read: async () => [],
    readScanEnd: async () => {
      searchCount += 1
      return `x${String(1_000 - searchCount)}`
    },
    idOf: (row: string) => row,
  }
  assert.deepEqual(await readSlice(list, ['test'], { before: undefined, limit: 5 }), {
    rows: [],
    next: 'x990',
  })
})
