import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedPrice, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, { price: { interval: 'MONTH' } })
})
after(() => api.close())

function ask(method: string, path: string, mode: 'test' | 'live' = 'test') {
  const key = seller.keys[mode].secret
  return api.call(method, `/v1/stores/${seller.store.storeId}/subscriptions${path}`, { key })
}

/** A buyer's checkout against the recurring price; answers the subscription it opened. */
async function subscribe(): Promise<string> {
  const body = {
    publishableKey: seller.keys.test.publishable,
    priceId: seller.price.priceId,
    network: 'base',
    token: 'usdc',
    buyerEmail: 'ann@example.com',
    metadata: { plan: 'gold' },
  }
  const { status, body: payment, text } = await api.call('POST', '/v1/checkout', { body })
  assert.equal(status, 201, text)
  const [row] = await api.database.db<{ subscriptionId: string }[]>`
    select subscription_id from payments where payment_id = ${payment.paymentId}`
  assert.ok(row?.subscriptionId)
  return row.subscriptionId
}

test('GET 200 answers a subscription with the fields of its events', async () => {
  const subscriptionId = await subscribe()
  const { status, body } = await ask('GET', `/${subscriptionId}`)
  assert.equal(status, 200)
  const { createdAt, renewUrl, ...rest } = body
  assert.ok(createdAt)
  assert.match(renewUrl, /^https:\/\/pay\.example\/renew\/renew_/)
  assert.deepEqual(rest, {
    subscriptionId,
    storeId: seller.store.storeId,
    priceId: seller.price.priceId,
    ...{ mode: 'test', status: 'PENDING', network: 'base', token: 'usdc' },
    ...{ amount: '10.50', amountCents: 1050, interval: 'MONTH', intervalCount: 1 },
    ...{ buyerEmail: 'ann@example.com', metadata: { plan: 'gold' } },
  })
})

test('GET lists newest first and by status', async () => {
  seller = await seedStore(api.database.db, { price: { interval: 'MONTH' } })
  const first = await subscribe()
  const second = await subscribe()
  await ask('POST', `/${first}/cancel`)
  const ids = async (query: string) =>
    (await ask('GET', query)).body.data.map((row: { subscriptionId: string }) => row.subscriptionId)
  assert.deepEqual(await ids(''), [second, first])
  assert.deepEqual(await ids('?status=CANCELED'), [first])
  assert.deepEqual(await ids('?status=PENDING'), [second])
  assert.deepEqual(await ids('?status=ACTIVE'), [])
  assertError(await ask('GET', '?status=canceled'), 400, 'invalid_request', 'status')
})

test('POST cancel 200 cancels and tells subscription.canceled once, however often it is called', async () => {
  const subscriptionId = await subscribe()
  const answers = await Promise.all([1, 2, 3].map(() => ask('POST', `/${subscriptionId}/cancel`)))
  for (const { status, body } of answers) {
    assert.equal(status, 200)
    assert.equal(body.status, 'CANCELED')
    assert.ok(body.endedAt)
  }
  const events = await api.database.db<{ eventId: string; body: string; subscriptionId: string }[]>`
    select event_id, body, subscription_id from events
    where subscription_id = ${subscriptionId} and type = 'subscription.canceled'`
  assert.equal(events.length, 1)
  assert.equal(events[0]?.eventId, `${subscriptionId}:subscription.canceled`)
  const { data } = JSON.parse(events[0]?.body ?? '')
  assert.deepEqual(data, {
    ...{ subscriptionId, storeId: seller.store.storeId, mode: 'test', status: 'CANCELED' },
    ...{ priceId: seller.price.priceId, network: 'base', token: 'usdc', amount: '10.50' },
    ...{ interval: 'MONTH', buyerEmail: 'ann@example.com', metadata: { plan: 'gold' } },
    renewUrl: answers[0]?.body.renewUrl,
  })
})

test('404 subscription_not_found for unknown, malformed and foreign ids alike', async () => {
  const subscriptionId = await subscribe()
  const stranger = await seedStore(api.database.db)
  for (const id of [newId('sub'), 'nonsense', 'sub_%00']) {
    assertError(await ask('GET', `/${id}`), 404, 'subscription_not_found')
    assertError(await ask('POST', `/${id}/cancel`), 404, 'subscription_not_found')
  }
  const live = await ask('POST', `/${subscriptionId}/cancel`, 'live')
  assertError(live, 404, 'subscription_not_found')
  const path = `/v1/stores/${stranger.store.storeId}/subscriptions/${subscriptionId}`
  const key = stranger.keys.test.secret
  assertError(await api.call('GET', path, { key }), 404, 'subscription_not_found')
  assertError(await api.call('POST', `${path}/cancel`, { key }), 404, 'subscription_not_found')
  assert.equal((await ask('GET', `/${subscriptionId}`)).body.status, 'PENDING')
})

test('a price that is not recurring opens no subscription', async () => {
  const { priceId } = await seedPrice(api.database.db, seller.store.storeId)
  const before = (await ask('GET', '')).body.data.length
  const publishableKey = seller.keys.test.publishable
  const body = { publishableKey, priceId, network: 'base', token: 'usdc' }
  assert.equal((await api.call('POST', '/v1/checkout', { body })).status, 201)
  assert.equal((await ask('GET', '')).body.data.length, before)
})
