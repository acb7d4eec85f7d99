import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

async function checkout(of = seller, mode: 'test' | 'live' = 'test'): Promise<string> {
  const answer = await api.call('POST', '/v1/checkout', {
    body: {
      publishableKey: of.keys[mode].publishable,
      priceId: of.price.priceId,
      network: 'base',
      token: 'usdc',
      metadata: { order: '17' },
    },
    headers: { Origin: 'https://shop.example' },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.paymentId
}

const cancel = (id: string) => api.call('POST', `/v1/payments/${id}/cancel`)
const simulate = (id: string, body?: unknown) =>
  api.call('POST', `/v1/test/payments/${id}/simulate`, body === undefined ? {} : { body })

async function eventsOf(paymentId: string) {
  const rows = await api.database.db<{ eventId: string; body: string }[]>`
    select event_id, body from events where payment_id = ${paymentId} order by order_key`
  return rows.map(({ eventId, body }) => ({ eventId, ...JSON.parse(body) }))
}

/** Of a token with 6 decimals, to the last of them. */
const decimalOf = (units: bigint) =>
  `${units / 1_000_000n}.${String(units % 1_000_000n).padStart(6, '0')}`

test('cancel: 200 a pending payment is CANCELED, once, with one event', async () => {
  const paymentId = await checkout()
  const [one, other] = await Promise.all([cancel(paymentId), cancel(paymentId)])
  for (const { status, body } of [one, other])
    assert.deepEqual([status, body.status], [200, 'CANCELED'])
  const events = await eventsOf(paymentId)
  assert.deepEqual(
    events.map(({ eventId }) => eventId),
    [`${paymentId}:payment.canceled`],
  )
  assert.deepEqual(events[0].data.metadata, { order: '17' })
  assert.equal(events[0].data.originHost, 'shop.example')
})

test('a payment that ends without credit received nothing: dust that lay on it is the inbox’s', async () => {
  for (const end of [cancel, (id: string) => simulate(id, { outcome: 'EXPIRED' })]) {
    const paymentId = await checkout()
    await api.database.db`
      update payments set received_base_units = 3 where payment_id = ${paymentId}`
    await end(paymentId)
    const path = `/v1/stores/${seller.store.storeId}/payments/${paymentId}`
    const { body } = await api.call('GET', path, { key: seller.keys.test.secret })
    assert.deepEqual([body.receivedAmount, body.txHash], ['0.000000', null], body.status)
  }
})

test('cancel: 200 a settled payment is answered unchanged', async () => {
  const paymentId = await checkout()
  await simulate(paymentId)
  const { status, body } = await cancel(paymentId)
  assert.deepEqual([status, body.status], [200, 'CONFIRMED'])
  assert.equal((await eventsOf(paymentId)).length, 1)
})

test('cancel: 404 payment_not_found when nobody has that id', async () => {
  for (const id of [newId('pay'), 'x', 'pay_', newId('price')]) {
    assertError(await cancel(id), 404, 'payment_not_found')
  }
})

test('simulate: 200 an open test payment is CONFIRMED, with its event', async () => {
  const paymentId = await checkout()
  const { status, body } = await simulate(paymentId)
  assert.equal(status, 200)
  assert.deepEqual([body.status, body.txHash], ['CONFIRMED', `simulated:${paymentId}`])
  const [event, ...more] = await eventsOf(paymentId)
  assert.equal(more.length, 0)
  assert.equal(event.type, 'payment.confirmed')
  assert.deepEqual([event.data.blockNumber, event.data.txHash], [0, `simulated:${paymentId}`])
})

for (const outcome of ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED']) {
  test(`simulate: 200 outcome ${outcome}`, async () => {
    const paymentId = await checkout()
    const { status, body } = await simulate(paymentId, { outcome })
    assert.deepEqual([status, body.status], [200, outcome])
    const [event] = await eventsOf(paymentId)
    assert.equal(event.type, `payment.${outcome.toLowerCase()}`)
    const due = BigInt(body.amountBaseUnits)
    const received = outcome === 'UNDERPAID' ? due / 2n : due * 2n
    const { confirmations, ...data } = event.data
    assert.deepEqual(data, {
      ...{ paymentId, accountId: seller.account.accountId, storeId: seller.store.storeId },
      ...{ mode: 'test', network: 'base', token: 'usdc', address: body.payTo },
      ...{ amount: '10.50', amountBaseUnits: String(due), decimals: 6, status: outcome },
      ...{ originHost: 'shop.example', metadata: { order: '17' } },
      ...(outcome === 'EXPIRED' ? {} : { txHash: `simulated:${paymentId}`, blockNumber: 0 }),
      ...(outcome === 'UNDERPAID' || outcome === 'OVERPAID'
        ? {
            ...{ expectedAmount: decimalOf(due), receivedAmount: decimalOf(received) },
            receivedAmountBaseUnits: String(received),
          }
        : {}),
    })
    assert.equal(confirmations === undefined, outcome === 'EXPIRED')
  })
}

test('simulate: 409 not_open when the payment is settled, whoever asks first', async () => {
  const paymentId = await checkout()
  const answers = await Promise.all([simulate(paymentId), simulate(paymentId), simulate(paymentId)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
  assertError(await simulate(paymentId, {}), 409, 'not_open')
  assert.equal((await eventsOf(paymentId)).length, 1)
})

test('simulate: 400 not_test_mode for a live payment', async () => {
  const of = await seedStore(api.database.db, { price: { mode: 'live' } })
  const paymentId = await checkout(of, 'live')
  assertError(await simulate(paymentId), 400, 'not_test_mode')
})

test('simulate: 404 payment_not_found when nobody has that id', async () => {
  assertError(await simulate(newId('pay')), 404, 'payment_not_found')
})

test('simulate: 400 invalid_request for a body that is not the one it takes', async () => {
  const paymentId = await checkout()
  for (const outcome of ['PENDING', 'confirmed', 5, null]) {
    assertError(await simulate(paymentId, { outcome }), 400, 'invalid_request', 'outcome')
  }
  assertError(await simulate(paymentId, { other: 1 }), 400, 'invalid_request', 'other')
  assertError(await simulate(paymentId, []), 400, 'invalid_request')
  const { body } = await api.call('GET', `/v1/payments/${paymentId}`)
  assert.equal(body.status, 'PENDING')
})
