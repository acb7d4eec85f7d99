import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import { assertPageHeaders, submit } from '../support/pages.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, { branding: { displayName: 'Shop' } })
})
after(() => api.close())

async function createPayment() {
  const answer = await api.call('POST', '/v1/checkout', {
    headers: { Origin: 'https://shop.example' },
    body: {
      publishableKey: seller.keys.test.publishable,
      amount: 1_234,
      network: 'base',
      token: 'usdc',
    },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

async function readPage(paymentId: string): Promise<string> {
  const answer = await api.call('GET', `/pay/${paymentId}`)
  assert.equal(answer.status, 200)
  assertPageHeaders(answer)
  return answer.text
}

/** Every end has its words, shows no address to pay to, and waits for nothing. */
for (const [outcome, heading, say] of [
  ['CONFIRMED', 'Payment confirmed', /Shop has been told/],
  ['UNDERPAID', 'Too little was paid', /6\.17\d* USDC of 12\.34\d* USDC arrived/],
  ['OVERPAID', 'Paid, with more than was due', /24\.6\d* USDC arrived where 12\.34\d* USDC/],
  ['EXPIRED', 'This payment has expired', /Send nothing/],
  ['CANCELED', 'This payment was canceled', /Send nothing/],
] as const) {
  test(`${outcome} is told, without an address to pay to`, async () => {
    const { paymentId, payTo } = await createPayment()
    assert.ok((await readPage(paymentId)).includes(payTo))
    if (outcome === 'CANCELED') await submit(api.url, `/pay/${paymentId}/cancel`, {})
    else await api.call('POST', `/v1/test/payments/${paymentId}/simulate`, { body: { outcome } })
    const text = await readPage(paymentId)
    assert.match(text, new RegExp(`<h1>${heading}</h1>`))
    assert.match(text, say)
    assert.ok(!text.includes(payTo))
    assert.doesNotMatch(text, /<script|http-equiv="refresh"|<button/)
    assert.doesNotMatch(text, /<code>simulated:/)
  })
}

test('PENDING past its window asks for no money, and still waits for the chain', async () => {
  const { paymentId, payTo } = await createPayment()
  await api.database.db`
    update payments set expires_at = service_now() - interval '1 second'
    where payment_id = ${paymentId}`
  const text = await readPage(paymentId)
  assert.match(text, /data-state="WINDOW_OVER" data-live="true"/)
  assert.match(text, /send nothing any more/)
  assert.ok(!text.includes(payTo))
})

test('DETECTED links to the network’s explorer and shows its confirmations', async () => {
  const { paymentId } = await createPayment()
  await api.database.db`
    update payments set status = 'DETECTED', tx_hash = '0xabc', block_number = 7,
      detected_at = service_now(), received_base_units = amount_base_units
    where payment_id = ${paymentId}`
  const text = await readPage(paymentId)
  assert.match(
    text,
    /href="https:\/\/sepolia\.basescan\.org\/tx\/0xabc" target="_blank" rel="noopener noreferrer"/,
  )
  assert.match(text, /<progress max="12" value="1" aria-label="1 of 12 confirmations">/)
})

test('amounts are grouped for the eye, and exact for the copy', async () => {
  const { paymentId, payTo } = await createPayment()
  await api.database.db`
    update payments set amount_cents = 99999999, amount_base_units = 999999990000120
    where payment_id = ${paymentId}`
  const text = await readPage(paymentId)
  assert.ok(text.includes('$999,999.99'))
  assert.match(text, /id="amount"[^>]*>999999990\.00012</)
  assert.match(text, new RegExp(`id="address"[^>]*>${payTo}<`))
})

test('a live payment has no button that simulates, and no word of test mode', async () => {
  const { paymentId } = await createPayment()
  assert.match(await readPage(paymentId), /Test mode.*Simulate/s)
  await api.database.db`update payments set mode = 'live' where payment_id = ${paymentId}`
  const text = await readPage(paymentId)
  assert.doesNotMatch(text, /test|simulate/i)
  const answer = await submit(api.url, `/pay/${paymentId}/simulate`, {})
  assert.equal(answer.status, 400)
  assertPageHeaders(answer)
})
