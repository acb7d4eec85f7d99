import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedPrice, seedStore } from '../support/seed.ts'
import { seedLogin } from '../support/seller.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

function open(body: object, key = seller.keys.test.secret) {
  return api.call('POST', '/v1/checkout/sessions', { key, body })
}
function read(sessionId: string, key = seller.keys.test.secret) {
  return api.call('GET', `/v1/checkout/sessions/${sessionId}`, { key })
}
function close(sessionId: string, key = seller.keys.test.secret) {
  return api.call('POST', `/v1/checkout/sessions/${sessionId}/close`, { key })
}
/** A buyer's checkout of a session, settled by simulate. */
async function pay(sessionId: string) {
  const { publishable: publishableKey } = seller.keys.test
  const body = { publishableKey, sessionId, network: 'base', token: 'usdc' }
  const checkout = await api.call('POST', '/v1/checkout', { body })
  assert.equal(checkout.status, 201, checkout.text)
  const { paymentId } = checkout.body
  await api.call('POST', `/v1/test/payments/${paymentId}/simulate`)
  return paymentId
}

test('POST 201 opens a session of an amount for a day', async () => {
  const full = {
    metadata: { order: '7' },
    successUrl: 'https://shop.test/thanks?s={CHECKOUT}',
    cancelUrl: 'http://localhost:8080/cart',
  }
  const answer = await open({ amountCents: 1234, buyerEmail: 'Ann@Example.com', ...full })
  assert.equal(answer.status, 201, answer.text)
  const { sessionId, createdAt, expiresAt, ...rest } = answer.body
  assert.match(sessionId, /^cs_/)
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 24 * 3_600_000)
  assert.deepEqual(rest, {
    storeId: seller.store.storeId,
    ...{ mode: 'test', status: 'OPEN', amount: '12.34', amountCents: 1234, currency: 'usd' },
    url: `https://pay.example/c/${sessionId}`,
    buyerEmail: 'ann@example.com',
    ...full,
  })
  assert.deepEqual((await read(sessionId)).body, answer.body)
})

test('POST 201 opens a session of a price for as long as it is told to', async () => {
  const { priceId } = seller.price
  const { body } = await open({ priceId, expiresInMinutes: 5 })
  assert.equal(body.priceId, priceId)
  assert.equal(body.amount, '10.50')
  assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), 5 * 60_000)
})

test('POST 400 names the field that is wrong', async () => {
  const { priceId } = seller.price
  const wrong: [object, string][] = [
    [{}, 'priceId'],
    [{ priceId, amountCents: 5 }, 'amountCents'],
    [{ amountCents: 0 }, 'amountCents'],
    [{ amountCents: 100_000_001 }, 'amountCents'],
    [{ amountCents: 5, buyerEmail: 'a@x.test,b@x.test' }, 'buyerEmail'],
    [{ amountCents: 5, buyerEmail: 'a@x.test\r\nBcc: b@x.test' }, 'buyerEmail'],
    [{ amountCents: 5, successUrl: 'javascript:alert(1)' }, 'successUrl'],
    [{ amountCents: 5, successUrl: '/relative' }, 'successUrl'],
    [{ amountCents: 5, cancelUrl: 'data:text/html,hi' }, 'cancelUrl'],
    [{ amountCents: 5, cancelUrl: 'https://a.test/a b' }, 'cancelUrl'],
    [{ amountCents: 5, expiresInMinutes: 0 }, 'expiresInMinutes'],
    [{ amountCents: 5, metadata: { a: 'é'.repeat(1_100) } }, 'metadata'],
    [
      { amountCents: 5, metadata: Object.fromEntries([...Array(21).keys()].map((n) => [n, ''])) },
      'metadata',
    ],
  ]
  for (const [body, param] of wrong) {
    assertError(await open(body), 400, 'invalid_request', param)
  }
})

test('POST 401 invalid_api_key without a secret key', async () => {
  const answer = await open({ amountCents: 5 }, seller.keys.test.publishable)
  assertError(answer, 401, 'invalid_api_key')
})

test('POST 404 price_not_found for a price of the other mode or nobody', async () => {
  const live = await seedPrice(api.database.db, seller.store.storeId, { mode: 'live' })
  for (const priceId of [newId('price'), live.priceId]) {
    assertError(await open({ priceId }), 404, 'price_not_found', 'priceId')
  }
})

test('POST 409 price_inactive when the price is archived', async () => {
  const { db } = api.database
  const { priceId } = await seedPrice(db, seller.store.storeId)
  await db`update prices set active = false where price_id = ${priceId}`
  assertError(await open({ priceId }), 409, 'price_inactive', 'priceId')
})

test('a login token says in which store, and reaches its own stores alone', async () => {
  const { db } = api.database
  const { accountId } = seller.account
  const token = await seedLogin(db, accountId)
  const second = await seedStore(db, { accountId })
  const stranger = await seedStore(db)
  assertError(await open({ amountCents: 5 }, token), 400, 'invalid_request', 'storeId')
  for (const storeId of [stranger.store.storeId, newId('store'), 'x']) {
    const answer = await open({ amountCents: 5, storeId }, token)
    assertError(answer, 404, 'store_not_found', 'storeId')
  }
  const made = await open({ amountCents: 5, storeId: second.store.storeId }, token)
  assert.equal(made.status, 201, made.text)
  assert.equal(made.body.storeId, second.store.storeId)
  assert.equal((await read(made.body.sessionId, token)).status, 200)
  assert.equal((await close(made.body.sessionId, token)).body.status, 'CLOSED')
  assertError(await read(made.body.sessionId), 404, 'session_not_found')
  const theirs = (await open({ amountCents: 5 }, stranger.keys.test.secret)).body
  assertError(await read(theirs.sessionId, token), 404, 'session_not_found')
  const named = await open({ amountCents: 5, storeId: stranger.store.storeId })
  assertError(named, 404, 'store_not_found', 'storeId')
})

test('GET 404 session_not_found for unknown, malformed and live ids alike', async () => {
  const live = await open({ amountCents: 5 }, seller.keys.live.secret)
  for (const id of [newId('cs'), 'nonsense', 'cs_%00', live.body.sessionId]) {
    assertError(await read(id), 404, 'session_not_found')
    assertError(await close(id), 404, 'session_not_found')
  }
})

test('GET shows EXPIRED once its time is past, and checkouts of it are refused', async () => {
  const { sessionId } = (await open({ amountCents: 5 })).body
  await api.database.db`
    update checkout_sessions set expires_at = service_now() where session_id = ${sessionId}`
  assert.equal((await read(sessionId)).body.status, 'EXPIRED')
  assert.equal((await close(sessionId)).body.status, 'EXPIRED')
  const body = { publishableKey: seller.keys.test.publishable, sessionId }
  assertError(await api.call('POST', '/v1/checkout/info', { body }), 409, 'session_closed')
})

test('POST close 200 closes, twice alike, and 409 session_closed for the buyer after', async () => {
  const { sessionId } = (await open({ amountCents: 5 })).body
  const closed = await close(sessionId)
  assert.equal(closed.status, 200)
  assert.equal(closed.body.status, 'CLOSED')
  assert.deepEqual((await close(sessionId)).body, closed.body)
  const body = { publishableKey: seller.keys.test.publishable, sessionId }
  assertError(await api.call('POST', '/v1/checkout/info', { body }), 409, 'session_closed')
})

test('a paid session is COMPLETED, names its payment and stays so', async () => {
  const { sessionId } = (await open({ amountCents: 500 })).body
  const paymentId = await pay(sessionId)
  const { body } = await read(sessionId)
  assert.equal(body.status, 'COMPLETED')
  assert.equal(body.paymentId, paymentId)
  assert.deepEqual((await close(sessionId)).body, body)
})
