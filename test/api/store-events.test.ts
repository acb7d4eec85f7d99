import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { createApp } from '../../api/app.ts'
import { getEvents } from '../../api/events/routes.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { numberEvents, type SeedEvent, seedEvent } from '../support/seller.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const read = ({ store, keys }: SeededStore, query = '', mode: Mode = 'test') =>
  api.call('GET', `/v1/stores/${store.storeId}/events${query}`, { key: keys[mode].secret })
const event = ({ store, account }: SeededStore, more: Partial<SeedEvent>) =>
  seedEvent(api.database.db, { ...store, ...account, ...more })
const idsOf = (answer: { body: { data: { id: string }[] } }) => answer.body.data.map(({ id }) => id)

/** Reads to the end, page by page. */
async function walk(
  seller: SeededStore,
  query: string,
  mode: Mode,
  start?: string,
): Promise<string[]> {
  const seen: string[] = []
  let cursor = start === undefined ? '' : `&cursor=${start}`
  do {
    const { body } = await read(seller, `${query}${cursor}`, mode)
    seen.push(...idsOf({ body }))
    cursor = body.hasMore ? `&cursor=${body.nextCursor}` : ''
  } while (cursor !== '')
  return seen
}

test('200 with each envelope as it was sent, and its mode and sequence', async () => {
  const seller = await seedStore(api.database.db)
  const paymentId = newId('pay')
  const id = await event(seller, { paymentId, sequence: 1 })
  const { status, body } = await read(seller)
  assert.equal(status, 200)
  assert.deepEqual([body.hasMore, body.nextCursor], [false, null])
  const [stored] = await api.database.db<[{ body: string }]>`
    select body from events where event_id = ${id}`
  assert.deepEqual(body.data, [{ ...JSON.parse(stored.body), mode: 'test', sequence: 1 }])
})

test('200 newest first over both modes for a live key, none twice, none left out, also while events come', async () => {
  const seller = await seedStore(api.database.db)
  const wanted: string[] = []
  for (let count = 1; count <= 9; count += 1) {
    wanted.unshift(
      await event(seller, { sequence: count, mode: count % 2 === 0 ? 'test' : 'live' }),
    )
  }
  const first = await read(seller, '?limit=4', 'live')
  await event(seller, { sequence: 10, mode: 'live' })
  const rest = await walk(seller, '?limit=4', 'live', first.body.nextCursor)
  assert.deepEqual([...idsOf(first), ...rest], wanted)
  assert.equal((await read(seller)).body.data.length, 4)
  assert.equal((await read(seller, '?mode=live', 'live')).body.data.length, 6)
})

test('200 filtered by type and payment', async () => {
  const seller = await seedStore(api.database.db)
  const paymentId = newId('pay')
  const detected = await event(seller, { paymentId, type: 'payment.detected', sequence: 1 })
  const confirmed = await event(seller, { paymentId, sequence: 2 })
  const other = await event(seller, { sequence: 3 })
  assert.deepEqual(idsOf(await read(seller, `?paymentId=${paymentId}`)), [confirmed, detected])
  assert.deepEqual(idsOf(await read(seller, '?type=payment.confirmed')), [other, confirmed])
  const both = await read(seller, `?type=payment.detected&paymentId=${paymentId}`)
  assert.deepEqual(idsOf(both), [detected])
  assert.deepEqual(idsOf(await read(seller, `?after=1&paymentId=${paymentId}`)), [confirmed])
  assert.deepEqual(idsOf(await read(seller, '?after=0&type=payment.detected')), [detected])
})

test('200 with after: oldest first from a sequence on, of one mode, by cursor or by sequence', async () => {
  const seller = await seedStore(api.database.db)
  const wanted: string[] = []
  for (let count = 1; count <= 5; count += 1) wanted.push(await event(seller, { sequence: count }))
  await event(seller, { sequence: 1, mode: 'live' })
  assert.deepEqual(await walk(seller, '?after=0&limit=2', 'test'), wanted)
  assert.deepEqual(await walk(seller, '?after=0&limit=2&mode=test', 'live'), wanted)
  const two = await read(seller, '?after=3&limit=2')
  assert.deepEqual(idsOf(two), wanted.slice(3))
  assert.equal(two.body.hasMore, false)
  assert.deepEqual((await read(seller, '?after=5')).body, {
    data: [],
    hasMore: false,
    nextCursor: null,
  })
})

test('200 with after leads past thousands of events of other types', async () => {
  const seller = await seedStore(api.database.db)
  const { storeId } = seller.store
  const made = await api.database.db<{ eventId: string }[]>`
    insert into events (event_id, order_key, store_id, account_id, mode, type, body)
    select ${storeId} || n, lpad(n::text, 10, '0'), ${storeId}, ${seller.account.accountId}, 'test',
      'payment.detected', '{}'
    from generate_series(1, 12000) n
    returning event_id`
  await numberEvents(
    api.database.db,
    made.map(({ eventId }) => eventId),
    1,
  )
  const id = await event(seller, { sequence: 12_001 })
  assert.deepEqual(await walk(seller, '?after=0&type=payment.confirmed', 'test'), [id])
  assert.deepEqual(await walk(seller, '?type=payment.canceled', 'test'), [])
})

test('200 leaves out what the relay has not numbered yet', async () => {
  const seller = await seedStore(api.database.db)
  await event(seller, {})
  assert.deepEqual(idsOf(await read(seller)), [])
  assert.deepEqual(idsOf(await read(seller, '?after=0')), [])
})

test('200 with what was caused just before, as soon as the relay has numbered it', async () => {
  const seller = await seedStore(api.database.db)
  const id = await event(seller, {})
  // A clock that stands still: the wait has no end but the number.
  const app = createApp({ ...api.deps, nowMs: () => 0 }, [getEvents])
  let settledCount = 0
  const ask = async (query: string) => {
    const url = `http://localhost/v1/stores/${seller.store.storeId}/events${query}`
    const headers = { Authorization: `Bearer ${seller.keys.test.secret}` }
    const answer = await app.fetch(new Request(url, { headers }), '127.0.0.1')
    settledCount += 1
    return { body: await answer.json() }
  }
  const asked = [ask(''), ask('?after=0')]
  // Another store's events are nobody's to wait for here.
  assert.deepEqual(idsOf(await read(await seedStore(api.database.db))), [])
  assert.equal(settledCount, 0)
  await numberEvents(api.database.db, [id], 1)
  for (const answer of await Promise.all(asked)) assert.deepEqual(idsOf(answer), [id])
})

test('400 invalid_request for after without a mode by a live key, and for unknown words', async () => {
  const seller = await seedStore(api.database.db)
  assertError(await read(seller, '?after=0', 'live'), 400, 'invalid_request', 'mode')
  assertError(await read(seller, '?after=-1'), 400, 'invalid_request', 'after')
  assertError(await read(seller, '?after=x'), 400, 'invalid_request', 'after')
  assertError(await read(seller, '?type=payment.paid'), 400, 'invalid_request', 'type')
})

test('403 mode_mismatch for a test key that names live', async () => {
  const seller = await seedStore(api.database.db)
  assertError(await read(seller, '?mode=live'), 403, 'mode_mismatch')
})
