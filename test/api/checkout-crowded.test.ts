import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

const OPEN_PAYMENTS_PER_IP = 3
let api: TestApi

before(async () => {
  api = await startTestApi({ config: { openPaymentsPerIp: OPEN_PAYMENTS_PER_IP } })
})
after(() => api.close())

function checkout(of: SeededStore) {
  return api.call('POST', '/v1/checkout', {
    body: {
      publishableKey: of.keys.test.publishable,
      priceId: of.price.priceId,
      ...{ network: 'base', token: 'usdc' },
    },
  })
}

/** A seller at whose address slots of the price are held: `open` by open payments, `ended` in quarantine. */
async function seedCrowded({ open, ended = 0 }: { open: number; ended?: number }) {
  const seller = await seedStore(api.database.db)
  await api.database.db`
    insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
      is_exclusive, is_open, client_ip, expires_at, ended_at, release_at)
    select ${seller.wallets[0]?.address ?? ''}, 10500000 + tail, 'usdc', 'base:test',
      'pay_' || ${seller.store.storeId} || '_' || n, ${seller.store.storeId}, 10500000, false, n <= ${open},
      '203.0.113.9', service_now() + interval '1 hour',
      case when n > ${open} then service_now() - make_interval(mins => n::integer) end,
      case when n > ${open} then service_now() + interval '1 hour' end
    from (
      select tail, row_number() over (order by tail) as n
      from generate_series(1, 9999) tail where tail % 10 <> 0
    ) tails
    where n <= ${open + ended}`
  return seller
}

test('422 slots_exhausted when every slot of the amount is held by an open payment', async () => {
  const seller = await seedCrowded({ open: 9_000 })
  assertError(await checkout(seller), 422, 'slots_exhausted')
  const { text } = await api.call('GET', '/metrics')
  assert.match(text, /api_errors_total\{code="slots_exhausted"\} 1\n/)
})

test('201 the last free slot is found', async () => {
  const seller = await seedCrowded({ open: 8_999 })
  const answer = await checkout(seller)
  assert.equal(answer.status, 201, answer.text)
  assert.equal(answer.body.amountBaseUnits, String(10_500_000 + 9_999))
})

test('201 when none is free the one that ended longest ago is reused, and remembers its holder', async () => {
  const seller = await seedCrowded({ open: 8_000, ended: 1_000 })
  const answer = await checkout(seller)
  assert.equal(answer.status, 201, answer.text)
  const [slot] = await api.database.db`
    select amount_base_units, previous_payment_id, previous_ended_at, is_open
    from slots where payment_id = ${answer.body.paymentId}`
  assert.equal(slot?.['previousPaymentId'], `pay_${seller.store.storeId}_9000`)
  assert.equal(String(slot?.['amountBaseUnits']), answer.body.amountBaseUnits)
  assert.ok(slot?.['previousEndedAt'] instanceof Date && slot['isOpen'])
})

test('429 rate_limited when one client holds too many payments of a crowded address', async () => {
  const seller = await seedCrowded({ open: 4_600 })
  for (let count = 0; count < OPEN_PAYMENTS_PER_IP; count += 1) {
    assert.equal((await checkout(seller)).status, 201)
  }
  const answer = await checkout(seller)
  assertError(answer, 429, 'rate_limited')
  assert.ok(Number(answer.headers.get('retry-after')) >= 1)
  assert.equal(answer.headers.get('ratelimit-limit'), String(OPEN_PAYMENTS_PER_IP))
  assert.equal(answer.headers.get('ratelimit-remaining'), '0')
  const elsewhere = await seedCrowded({ open: 100 })
  for (let count = 0; count <= OPEN_PAYMENTS_PER_IP; count += 1) {
    assert.equal((await checkout(elsewhere)).status, 201)
  }
})
