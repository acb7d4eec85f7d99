import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { seedTransfer } from '../support/chain-rows.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { numberEvents } from '../support/seller.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

const callsOf = (of: SeededStore) => ({
  ask: (path: string, mode: 'test' | 'live' = 'test', headers = {}) =>
    api.call('GET', `/v1/stores/${of.store.storeId}/payments${path}`, {
      key: of.keys[mode].secret,
      headers,
    }),
  async checkout(changes: object = {}, mode: 'test' | 'live' = 'test') {
    const answer = await api.call('POST', '/v1/checkout', {
      body: {
        publishableKey: of.keys[mode].publishable,
        ...{ amount: 1050, network: 'base', token: 'usdc' },
        ...changes,
      },
      headers: { Origin: 'https://Shop.Example:8443' },
    })
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  },
})
const simulate = (paymentId: string, outcome: string) =>
  api.call('POST', `/v1/test/payments/${paymentId}/simulate`, { body: { outcome } })
const idsOf = (body: { data: { paymentId: string }[] }) => body.data.map((row) => row.paymentId)

test('GET 200 answers the payment object with what its seller may know', async () => {
  const { ask, checkout } = callsOf(seller)
  const made = await checkout({ metadata: { order: '=1+1' } })
  const { status, body } = await ask(`/${made.paymentId}`)
  assert.equal(status, 200)
  const { serverTime, ...rest } = body
  const { serverTime: _then, ...payment } = made
  assert.ok(serverTime)
  assert.deepEqual(rest, {
    ...payment,
    storeId: seller.store.storeId,
    expectedAmount: `10.${made.amountBaseUnits.slice(2)}`,
    ...{ receivedAmount: '0.000000', receivedAmountBaseUnits: '0' },
    ...{ metadata: { order: '=1+1' }, originHost: 'shop.example', transfers: [] },
  })
  await simulate(made.paymentId, 'OVERPAID')
  const paid = (await ask(`/${made.paymentId}`)).body
  assert.equal(paid.status, 'OVERPAID')
  assert.equal(paid.receivedAmountBaseUnits, `${BigInt(made.amountBaseUnits) * 2n}`)
  assert.equal(paid.blockNumber, 0)
  assert.ok(paid.settledAt && paid.txHash)
})

test('GET 404 payment_not_found for unknown, malformed and foreign ids alike', async () => {
  const { ask } = callsOf(seller)
  const theirs = await callsOf(await seedStore(api.database.db)).checkout()
  const live = await callsOf(seller).checkout({}, 'live')
  for (const id of [newId('pay'), 'x', 'pay_%00', theirs.paymentId, live.paymentId]) {
    assertError(await ask(`/${id}`), 404, 'payment_not_found')
    assertError(await ask(`/${id}/trace`), 404, 'payment_not_found')
  }
  assert.equal((await ask(`/${live.paymentId}`, 'live')).status, 200)
})

test('GET lists by mode, status, network, token and time, to both ends', async () => {
  const own = await seedStore(api.database.db, {
    wallets: [
      { network: 'base', mode: 'test', address: '0x1111111111111111111111111111111111111111' },
      { network: 'polygon', mode: 'test', address: '0x1111111111111111111111111111111111111111' },
      { network: 'base', mode: 'live', address: '0x1111111111111111111111111111111111111111' },
    ],
  })
  const { ask, checkout } = callsOf(own)
  const base = await checkout()
  const polygon = await checkout({ network: 'polygon', token: 'usdt' })
  const live = await checkout({}, 'live')
  await simulate(base.paymentId, 'CONFIRMED')
  const [a, b, c] = [base, polygon, live].map(({ paymentId }) => paymentId)
  const listed = async (query: string, mode: 'test' | 'live' = 'test') => {
    const answer = await ask(query, mode)
    assert.equal(answer.status, 200, answer.text)
    return idsOf(answer.body)
  }
  assert.deepEqual(await listed('', 'live'), [c, b, a])
  assert.deepEqual(await listed(''), [b, a])
  assert.deepEqual(await listed('?mode=test', 'live'), [b, a])
  assert.deepEqual(await listed('?mode=live', 'live'), [c])
  assert.deepEqual(await listed('?status=CONFIRMED', 'live'), [a])
  assert.deepEqual(await listed('?network=polygon'), [b])
  assert.deepEqual(await listed('?token=usdc', 'live'), [c, a])
  assert.deepEqual(await listed('?network=nowhere'), [])
  assert.deepEqual(await listed(`?createdFrom=${base.createdAt}&createdTo=${base.createdAt}`), [a])
  assert.deepEqual(await listed(`?createdFrom=${live.createdAt}`, 'live'), [c])
  assert.deepEqual(await listed(`?createdTo=${live.createdAt}`, 'live'), [c, b, a])
  assert.deepEqual(await listed('?createdTo=2020-01-01T00:00:00Z', 'live'), [])
  // What some languages have for the first and the last time there is.
  const ever = '?createdFrom=0001-01-01T00:00:00Z&createdTo=9999-12-31T23:59:59.9999999Z'
  assert.deepEqual(await listed(ever, 'live'), [c, b, a])
  assertError(await ask('?mode=live'), 403, 'mode_mismatch')
  for (const [query, param] of [
    ['status=confirmed', 'status'],
    ['token=dai', 'token'],
    ['createdFrom=yesterday', 'createdFrom'],
    ['createdTo=2026-02-30T00:00:00Z', 'createdTo'],
    ['createdTo=0000-01-01T00:00:00Z', 'createdTo'],
    ['createdFrom=0001-01-01T00:00:00%2B12:00', 'createdFrom'],
    ['createdFrom=9999-12-31T23:59:59-12:00', 'createdFrom'],
    ['limit=101', 'limit'],
    ['colour=red', 'colour'],
  ]) {
    assertError(await ask(`?${query}`), 400, 'invalid_request', param)
  }
})

/** Payments as years of business leave them, one a second; every 20,000th is CONFIRMED. */
async function bulkPayments(own: SeededStore, count: number, mode: 'test' | 'live' = 'test') {
  const { db } = api.database
  const ids = Array.from({ length: count }, (_, index) => {
    return newId('pay', Date.parse('2026-01-01T00:00:00Z') + index * 1000)
  })
  await db`
    insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals, address,
      is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units, status, created_at,
      expires_at, settled_at)
    select id, ${own.store.storeId}, ${own.account.accountId}, ${mode}, 'base', 'usdc', ${`base:${mode}`}, '0x0', 6, '0x0',
      false, 'CHAIN', 12, 100, 1000000, 1000001,
      case when n % 20000 = 1 then 'CONFIRMED' else 'EXPIRED' end,
      timestamptz '2026-01-01T00:00:00Z' + make_interval(secs => n - 1),
      timestamptz '2026-01-01T01:00:00Z' + make_interval(secs => n - 1),
      timestamptz '2026-01-01T01:00:00Z' + make_interval(secs => n - 1)
    from unnest(${ids}::text[]) with ordinality as t (id, n)`
  return ids
}

test('a rare status is found page by page, none skipped and none repeated', {
  timeout: 60_000,
}, async () => {
  const own = await seedStore(api.database.db)
  const { ask } = callsOf(own)
  const ids = await bulkPayments(own, 45_000)
  const live = await bulkLive(own)
  const wanted = [...live, ids[40_000], ids[20_000], ids[0]]
  const walked: string[] = []
  let cursor = ''
  let pages = 0
  for (;;) {
    const { body } = await ask(`?status=CONFIRMED&limit=2${cursor}`, 'live')
    walked.push(...idsOf(body))
    pages += 1
    assert.ok(pages < 10, 'the walk ends')
    if (!body.hasMore) break
    cursor = `&cursor=${body.nextCursor}`
  }
  assert.deepEqual(walked, wanted)
  const times = '?createdFrom=2026-01-01T11:06:40Z&createdTo=2026-01-01T11:06:41Z'
  const { body } = await ask(times)
  assert.ok(body.hasMore || body.data.length === 2)
})

/** One live payment, newer than all others. */
async function bulkLive(own: SeededStore): Promise<string[]> {
  const { paymentId } = await callsOf(own).checkout({}, 'live')
  await api.database.db`
    update payments set status = 'CONFIRMED', settled_at = service_now()
    where payment_id = ${paymentId}`
  return [paymentId]
}

test('a test payment is found at once behind many live ones, and a time is a place among them', {
  timeout: 60_000,
}, async () => {
  const own = await seedStore(api.database.db)
  const { ask, checkout } = callsOf(own)
  const { paymentId } = await checkout()
  const ids = await bulkPayments(own, 30_000, 'live')
  assert.deepEqual(idsOf((await ask('')).body), [paymentId])
  const times = '?createdFrom=2026-01-01T00:00:00Z&createdTo=2026-01-01T00:00:01.999Z&mode=live'
  const { body } = await ask(times, 'live')
  assert.deepEqual(idsOf(body), [ids[1], ids[0]])
  assert.equal(body.hasMore, false)
})

test('Accept: text/csv streams every payment as a line, formulas defused', {
  timeout: 60_000,
}, async () => {
  const own = await seedStore(api.database.db)
  const { ask, checkout } = callsOf(own)
  await bulkPayments(own, 1_201, 'live')
  const made = await checkout({ metadata: { note: 'a "b", c' } })
  const { db } = api.database
  await db`update payments set origin_host = '=cmd()' where payment_id = ${made.paymentId}`
  const answer = await ask('', 'live', { Accept: 'text/csv' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.match(answer.headers.get('vary') ?? '', /Accept/)
  assert.match(answer.headers.get('content-disposition') ?? '', /payments\.csv/)
  const lines = answer.text.split('\r\n')
  assert.equal(lines.length, 1 + 1_202 + 1)
  assert.match(lines[0] ?? '', /^paymentId,status,mode,createdAt/)
  assert.ok(lines[1]?.startsWith(`${made.paymentId},PENDING,test,${made.createdAt}`))
  assert.ok(lines[1]?.includes(",'=cmd(),"))
  assert.ok(lines[1]?.endsWith('"{""note"":""a \\""b\\"", c""}"'))
  const filtered = await ask('?status=CONFIRMED', 'live', { Accept: 'text/csv;q=0.9, */*' })
  assert.equal(filtered.text.split('\r\n').length, 3)
  const json = await ask('', 'live', { Accept: 'application/json, text/csv;q=0' })
  assert.equal(json.body.data.length, 20)
})

test('GET trace 200 tells slot, transfers with their rule, moves and deliveries', async () => {
  const { db } = api.database
  const { ask, checkout } = callsOf(seller)
  const { paymentId, amountBaseUnits, payTo } = await checkout()
  const other = await seedStore(db)
  const theirs = await callsOf(other).checkout()
  const late = await seedTransfer(db, [seller], {
    ...{ reason: 'AMBIGUOUS', rule: 'nearest', blockNumber: 90 },
    candidates: [theirs.paymentId, paymentId],
  })
  const taken = await seedTransfer(db, [seller], { amountBaseUnits: BigInt(amountBaseUnits) })
  await api.call(
    'POST',
    `/v1/stores/${seller.store.storeId}/transfers/${taken.transferId}/attach`,
    {
      key: seller.keys.test.secret,
      body: { paymentId },
    },
  )
  await simulate(paymentId, 'CONFIRMED')
  const [event] = await db<{ eventId: string }[]>`
    select event_id from events where payment_id = ${paymentId} and type = 'payment.confirmed'`
  assert.ok(event)
  const deliveryId = newId('dlv')
  await db`
    insert into deliveries (delivery_id, event_id, store_id, mode, event_type, payment_id, url, next_attempt_at,
      deadline_at, attempt_count, last_attempt_at, last_duration_ms, last_response_status, last_response_body)
    values (${deliveryId}, ${event.eventId}, ${seller.store.storeId}, 'test', 'payment.confirmed', ${paymentId},
      'https://shop.test/hook', service_now(), service_now(), 1, service_now(), 5, 500, '')`
  await numberEvents(db, [event.eventId], 1)
  await db`
    update event_numbers set delivery_id = ${deliveryId} where event_id = ${event.eventId}`

  const { status, body, text } = await ask(`/${paymentId}/trace`)
  assert.equal(status, 200, text)
  assert.equal(body.status, 'CONFIRMED')
  assert.equal(body.slot.address, payTo)
  assert.equal(body.slot.amountBaseUnits, amountBaseUnits)
  assert.deepEqual(
    [body.slot.isHeld, body.slot.isExclusive, body.slot.clock],
    [true, false, 'CHAIN'],
  )
  assert.deepEqual(
    body.transfers.map((row: { transferId: string; state: string; rule: string }) => [
      row.transferId,
      row.state,
      row.rule,
    ]),
    [
      [late.transferId, 'UNMATCHED', 'nearest'],
      [taken.transferId, 'UNMATCHED', 'released'],
    ],
  )
  assert.match(body.transfers[0].explanation, /AMBIGUOUS/)
  assert.ok(!text.includes(theirs.paymentId), 'another store’s payment is a capability')
  assert.deepEqual(
    body.moves.map((move: { from: string; to: string; trigger: string }) => [
      move.to,
      move.trigger,
    ]),
    [
      ['DETECTED', 'transferSeen'],
      ['CONFIRMED', 'simulatedConfirmed'],
    ],
  )
  assert.match(body.moves[0].explanation, /10 %/)
  assert.equal(body.deliveries.length, 1)
  const { deliveryId: shown, eventType, lastResponseStatus } = body.deliveries[0]
  assert.deepEqual([shown, eventType, lastResponseStatus], [deliveryId, 'payment.confirmed', 500])
})
