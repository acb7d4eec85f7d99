import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { type AttemptRecord, recordAttempts } from '../../dispatcher/attempt-queries.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { numberEvents, type SeedEvent, seedDelivery, seedEvent } from '../support/seller.ts'

const WEBHOOK_URL = 'https://shop.example/hook'
let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'
const call = (
  { store, keys }: SeededStore,
  method: Method,
  path: string,
  body?: unknown,
  mode: 'test' | 'live' = 'test',
) =>
  api.call(method, `/v1/stores/${store.storeId}/webhook${path}`, {
    key: keys[mode].secret,
    ...(body === undefined ? {} : { body }),
  })
const open = () => seedStore(api.database.db, { webhookUrl: WEBHOOK_URL })
const event = ({ store, account }: SeededStore, more: Partial<SeedEvent> = {}) =>
  seedEvent(api.database.db, { ...store, ...account, sequence: 1, ...more })
const ids = (answer: { body: { data: { deliveryId: string }[] } }) =>
  answer.body.data.map(({ deliveryId }) => deliveryId)
/** Writes down an attempt as the dispatcher does. */
async function attempt(
  deliveryId: string,
  result: Partial<Pick<AttemptRecord, 'responseStatus' | 'responseBody' | 'error'>> = {},
): Promise<void> {
  const record = { responseStatus: 500, responseBody: 'oops', error: null, ...result }
  const job = {
    deliveryId,
    token: '-infinity',
    bundle: { token: '', deliveryIds: [], id: '', retryCount: 0 },
  }
  const at = new Date()
  const isSuccess = record.responseStatus === 200
  const nextAttemptAt = isSuccess ? null : new Date(at.getTime() + 60_000)
  await withTransaction(api.database.db, (tx) =>
    recordAttempts(tx, [
      { ...record, job, url: WEBHOOK_URL, at, durationMs: 12, isSuccess, nextAttemptAt },
    ]),
  )
}

test('GET list 200 newest first, filtered by status, event type and payment', async () => {
  const seller = await open()
  const paymentId = newId('pay')
  const detected = await seedDelivery(
    api.database.db,
    await event(seller, { paymentId, type: 'payment.detected', sequence: 1 }),
  )
  const confirmed = await seedDelivery(
    api.database.db,
    await event(seller, { paymentId, sequence: 2 }),
    'PENDING',
  )
  const dead = await seedDelivery(api.database.db, await event(seller, { sequence: 3 }), 'DEAD')
  const find = async (query: string) => ids(await call(seller, 'GET', `/deliveries${query}`))
  assert.deepEqual(await find(''), [dead, confirmed, detected])
  assert.deepEqual(await find('?status=PENDING'), [confirmed])
  assert.deepEqual(await find('?status=DELIVERED'), [detected])
  assert.deepEqual(await find('?status=DEAD'), [dead])
  assert.deepEqual(await find('?eventType=payment.confirmed'), [dead, confirmed])
  assert.deepEqual(await find(`?paymentId=${paymentId}`), [confirmed, detected])
  assert.deepEqual(await find(`?paymentId=${paymentId}&status=DEAD`), [])
  assert.deepEqual(await find(`?paymentId=${newId('pay')}`), [])
})

test('GET list 200 shows what a delivery is, with each one’s own attempts, oldest first', async () => {
  const seller = await open()
  const paymentId = newId('pay')
  const deliveryId = await seedDelivery(
    api.database.db,
    await event(seller, { paymentId }),
    'PENDING',
  )
  await attempt(deliveryId)
  await attempt(deliveryId, { responseStatus: 200, responseBody: 'thanks' })
  const other = await seedDelivery(api.database.db, await event(seller, { sequence: 2 }), 'PENDING')
  await attempt(other, { responseStatus: null, responseBody: null, error: 'timeout' })
  const [newer, one] = (await call(seller, 'GET', '/deliveries')).body.data
  assert.deepEqual(
    newer.attempts.map((row: { error: string }) => row.error),
    ['timeout'],
  )
  const { createdAt, deliveredAt, attempts, ...rest } = one
  assert.ok(Date.parse(createdAt) > 0 && Date.parse(deliveredAt) > 0)
  const answers = attempts.map((row: Record<string, unknown>) => [
    row['responseStatus'],
    row['responseBody'],
    row['error'],
  ])
  assert.deepEqual(answers, [
    [500, 'oops', null],
    [200, 'thanks', null],
  ])
  assert.deepEqual(rest, {
    deliveryId,
    eventId: `${paymentId}:payment.confirmed`,
    eventType: 'payment.confirmed',
    paymentId,
    mode: 'test',
    url: WEBHOOK_URL,
    status: 'DELIVERED',
    attemptCount: 2,
    nextAttemptAt: null,
  })
})

test('GET list 200 pages through both modes for a live key, none twice, none left out', async () => {
  const seller = await open()
  const wanted: string[] = []
  for (let count = 1; count <= 7; count += 1) {
    const mode = count % 3 === 0 ? 'live' : 'test'
    wanted.unshift(
      await seedDelivery(api.database.db, await event(seller, { mode, sequence: count })),
    )
  }
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await call(seller, 'GET', `/deliveries?limit=2${cursor}`, undefined, 'live')
    seen.push(...ids({ body }))
    cursor = body.hasMore ? `&cursor=${body.nextCursor}` : ''
  } while (cursor !== '')
  assert.deepEqual([...seen].sort(), [...wanted].sort())
  assert.equal((await call(seller, 'GET', '/deliveries')).body.data.length, 5)
})

test('GET 200 shows where what is pending goes now, and that it is parked while the store has no URL', async () => {
  const seller = await open()
  const pending = await seedDelivery(
    api.database.db,
    await event(seller, { sequence: 1 }),
    'PENDING',
  )
  const done = await seedDelivery(api.database.db, await event(seller, { sequence: 2 }))
  const look = async () => {
    const { body: list } = await call(seller, 'GET', '/deliveries')
    const { body: one } = await call(seller, 'GET', `/deliveries/${pending}`)
    const [ended, waiting] = list.data
    assert.deepEqual(waiting, one)
    assert.equal(ended.deliveryId, done)
    assert.equal(ended.url, WEBHOOK_URL)
    return one
  }
  const before = await look()
  assert.equal(before.url, WEBHOOK_URL)
  assert.ok(before.nextAttemptAt)
  await call(seller, 'DELETE', '', undefined, 'live')
  const parked = await look()
  assert.deepEqual([parked.status, parked.url, parked.nextAttemptAt], ['PENDING', null, null])
  const moved = 'https://elsewhere.example/hook'
  await call(seller, 'PUT', '', { url: moved }, 'live')
  const after = await look()
  assert.deepEqual([after.url, after.nextAttemptAt], [moved, before.nextAttemptAt])
})

test('GET list 400 invalid_request for unknown words, and a cursor of another list', async () => {
  const seller = await open()
  for (const count of [1, 2]) {
    await seedDelivery(api.database.db, await event(seller, { sequence: count }))
  }
  for (const [query, param] of [
    ['?status=delivered', 'status'],
    ['?eventType=payment.paid', 'eventType'],
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?cursor=abc', 'cursor'],
    ['?sort=asc', 'sort'],
  ] as const) {
    const answer = await call(seller, 'GET', `/deliveries${query}`)
    assertError(answer, 400, 'invalid_request', param)
  }
  const { nextCursor } = (await call(seller, 'GET', '/deliveries?limit=1')).body
  const other = await call(seller, 'GET', `/deliveries?status=DEAD&cursor=${nextCursor}`)
  assertError(other, 400, 'invalid_request', 'cursor')
})

test('GET one 200 with its attempts, oldest first', async () => {
  const seller = await open()
  const deliveryId = await seedDelivery(api.database.db, await event(seller), 'PENDING')
  await attempt(deliveryId, { responseStatus: null, responseBody: null, error: 'timeout' })
  await attempt(deliveryId, { responseStatus: 200, responseBody: 'ok' })
  const { status, body } = await call(seller, 'GET', `/deliveries/${deliveryId}`)
  assert.equal(status, 200)
  assert.equal(body.deliveryId, deliveryId)
  const attempts = body.attempts.map(({ at, ...rest }: { at: string }) => {
    assert.ok(Date.parse(at) > 0)
    return rest
  })
  assert.deepEqual(attempts, [
    {
      durationMs: 12,
      url: WEBHOOK_URL,
      responseStatus: null,
      responseBody: null,
      error: 'timeout',
    },
    { durationMs: 12, url: WEBHOOK_URL, responseStatus: 200, responseBody: 'ok', error: null },
  ])
})

test('GET one 200 with the latest 200 of more attempts, the last one among them', async () => {
  const seller = await open()
  const deliveryId = await seedDelivery(api.database.db, await event(seller), 'PENDING')
  for (let number = 1; number <= 202; number += 1) {
    await attempt(deliveryId, { responseBody: `answer ${number}` })
  }
  const { body } = await call(seller, 'GET', `/deliveries/${deliveryId}`)
  assert.equal(body.attemptCount, 202)
  assert.deepEqual(
    body.attempts.map((row: { responseBody: string }) => row.responseBody),
    Array.from({ length: 200 }, (_, index) => `answer ${index + 3}`),
  )
})

test('404 delivery_not_found to read and to resend an unknown delivery, to resend one of the other mode', async () => {
  const seller = await open()
  for (const id of [newId('dlv'), 'nothing']) {
    assertError(await call(seller, 'GET', `/deliveries/${id}`), 404, 'delivery_not_found')
    assertError(await call(seller, 'POST', `/deliveries/${id}/resend`), 404, 'delivery_not_found')
  }
  const id = await seedDelivery(api.database.db, await event(seller))
  assert.equal((await call(seller, 'GET', `/deliveries/${id}`, undefined, 'live')).status, 200)
  const resend = await call(seller, 'POST', `/deliveries/${id}/resend`, undefined, 'live')
  assertError(resend, 404, 'delivery_not_found')
})

test('resend 200 makes a delivery due at once with 72 hours before it, whatever became of it', async () => {
  const seller = await open()
  for (const status of ['DELIVERED', 'DEAD', 'PENDING'] as const) {
    const createdAt = new Date(Date.now() - 100 * 3_600_000)
    const eventId = await event(seller, { createdAt, sequence: 10 + status.length })
    const deliveryId = await seedDelivery(api.database.db, eventId, status)
    const answer = await call(seller, 'POST', `/deliveries/${deliveryId}/resend`)
    assert.equal(answer.status, 200)
    assert.equal(answer.body.eventId, eventId)
    assert.deepEqual([answer.body.status, answer.body.deliveredAt], ['PENDING', null])
    assert.equal(answer.body.attempts.length, status === 'PENDING' ? 0 : 1, 'its history stays')
    const [row] = await api.database.db`
      select next_attempt_at <= service_now() and queued_until <= service_now() as is_due,
        extract(epoch from deadline_at - service_now())::integer as left_s, attempt_count
      from deliveries where delivery_id = ${deliveryId}`
    assert.equal(row?.['isDue'], true)
    assert.ok(Math.abs(row?.['leftS'] - 72 * 3_600) < 60)
    assert.equal(row?.['attemptCount'], status === 'PENDING' ? 0 : 1)
  }
})

test('resend 400 invalid_request without a webhook', async () => {
  const seller = await seedStore(api.database.db)
  const id = await seedDelivery(api.database.db, await event(seller))
  assertError(await call(seller, 'POST', `/deliveries/${id}/resend`), 400, 'invalid_request')
})

test('replay 200 twice at once makes one delivery of an event that never had one', async () => {
  const seller = await open()
  const createdAt = new Date(Date.UTC(2026, 0, 1))
  for (const sequence of [1, 2, 3]) await event(seller, { createdAt, sequence })
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
  const replay = () => call(seller, 'POST', '/replay', range)
  const answers = await Promise.all([replay(), replay(), replay()])
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200, 200],
  )
  const made = await api.database.db<{ eventId: string }[]>`
    select d.event_id from deliveries d
    join event_numbers n using (event_id, delivery_id)
    where d.store_id = ${seller.store.storeId}`
  const [count] = await api.database.db`
    select count(*)::integer as n from deliveries where store_id = ${seller.store.storeId}`
  assert.deepEqual([made.length, count?.['n']], [3, 3])
})

test('replay 200 delivers the events of the range again, in order, also those never delivered', async () => {
  const seller = await open()
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 12, minute))
  const early = await event(seller, { createdAt: at(0), sequence: 1 })
  const first = await event(seller, { createdAt: at(1), sequence: 2 })
  const never = await event(seller, { createdAt: at(2), sequence: 3, type: 'payment.expired' })
  const last = await event(seller, { createdAt: at(3), sequence: 4 })
  await event(seller, { createdAt: at(4), sequence: 5 })
  await event(seller, { createdAt: at(2), sequence: 1, mode: 'live' })
  await event(seller, {
    createdAt: at(2),
    paymentId: newId('pay'),
    type: 'payment.detected',
    sequence: 6,
  })
  for (const eventId of [early, first, last]) await seedDelivery(api.database.db, eventId)
  const answer = await call(seller, 'POST', '/replay', {
    from: at(1).toISOString(),
    to: '2026-01-01T13:04:00+01:00',
    types: ['payment.confirmed', 'payment.expired'],
  })
  assert.deepEqual([answer.status, answer.body], [200, { replayedCount: 3 }])
  const due = await api.database.db<{ eventId: string; status: string }[]>`
    select event_id, status from deliveries
    where store_id = ${seller.store.storeId} and next_attempt_at <= service_now()
    order by next_attempt_at`
  assert.deepEqual(
    due.map(({ eventId }) => eventId),
    [first, never, last],
  )
  const [count] = await api.database.db`
    select count(*)::integer as n from deliveries where store_id = ${seller.store.storeId}`
  assert.equal(count?.['n'], 4)
  const again = await call(seller, 'POST', '/replay', { from: at(1), to: at(4) })
  assert.equal(again.body.replayedCount, 4)
})

test('replay 400 invalid_request for malformed or turned times, unknown types, and without a webhook', async () => {
  const seller = await open()
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
  for (const [body, param] of [
    [{ ...range, from: 'yesterday' }, 'from'],
    [{ ...range, from: '2026-02-30T00:00:00Z' }, 'from'],
    [{ ...range, from: '2026-01-01T00:00:00' }, 'from'],
    [{ ...range, to: '2026-01-01' }, 'to'],
    [{ from: range.to, to: range.from }, 'to'],
    [{ from: range.from, to: range.from }, 'to'],
    [{ from: range.from }, 'to'],
    [{ ...range, types: ['payment.paid'] }, 'types.0'],
    [{ ...range, types: [] }, 'types'],
  ] as const) {
    assertError(await call(seller, 'POST', '/replay', body), 400, 'invalid_request', param)
  }
  const without = await seedStore(api.database.db)
  assertError(await call(without, 'POST', '/replay', range), 400, 'invalid_request')
})

test('replay 400 invalid_request for more than 5,000 events, and 200 for as many, within the deadline', {
  timeout: 30_000,
}, async () => {
  const seller = await open()
  const { storeId } = seller.store
  const make = async (from: number, to: number) => {
    const made = await api.database.db<{ eventId: string }[]>`
      insert into events (event_id, order_key, store_id, account_id, mode, type, body, created_at)
      select ${storeId} || n, lpad(n::text, 10, '0'), ${storeId}, ${seller.account.accountId}, 'test',
        'payment.confirmed', '{}', timestamptz '2026-01-01' + make_interval(secs => n)
      from generate_series(${from}::integer, ${to}::integer) n
      returning event_id`
    await numberEvents(
      api.database.db,
      made.map(({ eventId }) => eventId),
      from,
    )
  }
  await make(1, 5_000)
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
  for (let round = 0; round < 2; round += 1) {
    const answer = await call(seller, 'POST', '/replay', range)
    assert.deepEqual(answer.body, { replayedCount: 5_000 })
  }
  await make(5_001, 5_001)
  assertError(await call(seller, 'POST', '/replay', range), 400, 'invalid_request', 'to')
})
