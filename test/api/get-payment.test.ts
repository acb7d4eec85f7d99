import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { until } from '../support/until.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, {
    wallets: [
      { network: 'base', address: '0x1' },
      { network: 'polygon', address: '0x2' },
    ],
  })
})
after(() => api.close())

async function checkout(network = 'base'): Promise<string> {
  const { body } = await api.call('POST', '/v1/checkout', {
    body: {
      publishableKey: seller.keys.test.publishable,
      priceId: seller.price.priceId,
      ...{ network, token: 'usdc' },
      buyerEmail: 'ann@x.test',
      metadata: { secret: 'plan' },
    },
    headers: { Origin: 'https://shop.example' },
  })
  return body.paymentId
}

const read = (paymentId: string) => api.call('GET', `/v1/payments/${paymentId}`)
const openRequests = () =>
  api.database.db<{ kind: string; subject: string }[]>`
    select kind, subject from requests where done_at is null`

test('200 shows nothing but display fields', async () => {
  const { status, body, headers, text } = await read(await checkout())
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body).sort(), [
    'amount',
    'amountBaseUnits',
    'branding',
    'checkoutUrl',
    'confirmations',
    'confirmationsRequired',
    'contract',
    'createdAt',
    'decimals',
    'expiresAt',
    'mode',
    'network',
    'payTo',
    'paymentId',
    'paymentUri',
    'serverTime',
    'status',
    'token',
    'txHash',
  ])
  assert.doesNotMatch(text, /shop\.example|ann@x|secret|acct_|store_|price_/)
  assert.equal(headers.get('cache-control'), 'no-store')
})

test('404 payment_not_found when nobody has that id', async () => {
  for (const id of [newId('pay'), 'anything-else', 'pay_%00', 'pay_%F0%9F', "pay_'--"]) {
    assertError(await read(id), 404, id === 'pay_%F0%9F' ? 'not_found' : 'payment_not_found')
  }
})

test('a read of an open payment asks the indexer once for a fresh check of its network', async () => {
  const paymentId = await checkout()
  for (let count = 0; count < 5; count += 1) await read(paymentId)
  await until(async () => (await openRequests()).length > 0, { what: 'a request' })
  for (let count = 0; count < 5; count += 1) await read(paymentId)
  assert.deepEqual(
    (await openRequests()).map(({ kind, subject }) => ({ kind, subject })),
    [{ kind: 'recheck', subject: 'base:test' }],
  )
  await api.database.db`update requests set done_at = service_now()`
  await read(paymentId)
  assert.equal((await openRequests()).length, 0, 'not again within 12 s')
})

test('a payment that no chain is followed for, or that is settled, asks for nothing', async () => {
  await read(await checkout('polygon'))
  const settled = await checkout()
  await api.call('POST', `/v1/payments/${settled}/cancel`)
  await read(settled)
  assert.equal((await openRequests()).filter(({ subject }) => subject === 'polygon:test').length, 0)
})
