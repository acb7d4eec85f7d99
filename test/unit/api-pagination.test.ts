import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { readPage, toPage } from '../../api/pagination.ts'

const ids = Array.from({ length: 45 }, (_, index) => newId('pay', 1_000 + index)).reverse()
const filters = { storeId: 'store_1', status: 'PENDING', token: undefined }

/** What a list's query does: rows below the cursor, newest first, one more than the limit. */
function select(before: string | undefined, limit: number) {
  return ids.filter((id) => before === undefined || id < before).slice(0, limit + 1)
}

test('a walk shows every row once, newest first, and ends', () => {
  const seen: string[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 10; pages += 1) {
    const start = readPage(cursor === undefined ? {} : { cursor }, filters)
    const page = toPage(
      start,
      select(start.before, start.limit),
      (id) => id,
      (id) => id,
    )
    assert.equal(page.hasMore, page.nextCursor !== null)
    seen.push(...page.data)
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  assert.deepEqual(seen, ids)
})

test('a page that ends exactly at the last row has no next one', () => {
  const start = readPage({ limit: 45 }, filters)
  const page = toPage(
    start,
    select(undefined, 45),
    (id) => id,
    (id) => id,
  )
  assert.deepEqual([page.data.length, page.hasMore, page.nextCursor], [45, false, null])
})

test('a cursor of another store, of other filters, or a changed one is refused', () => {
  const start = readPage({ limit: 5 }, filters)
  const { nextCursor } = toPage(
    start,
    select(undefined, 5),
    (id) => id,
    (id) => id,
  )
  assert.ok(nextCursor)
  assert.equal(readPage({ cursor: nextCursor, limit: 7 }, filters).before, ids[4])
  const others = [
    { ...filters, storeId: 'store_2' },
    { ...filters, status: undefined },
    { ...filters, token: 'usdc' },
  ]
  for (const other of others) assertRefused(nextCursor, other)
  for (const cursor of ['', 'x', `${nextCursor}=`, `${nextCursor}A`, nextCursor.slice(1), '%00']) {
    assertRefused(cursor, filters)
  }
})

function assertRefused(cursor: string, of: Record<string, unknown>) {
  assert.throws(
    () => readPage({ cursor }, of),
    (error) =>
      error instanceof ServiceError &&
      error.code === 'invalid_request' &&
      error.details.param === 'cursor',
  )
}
