import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, { branding: { displayName: 'Tea & Sons' } })
})
after(() => api.close())

/** A checkout of the seller's price in test mode, with some fields otherwise; undefined leaves one out. */
function checkout(changes: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const body = {
    publishableKey: seller.keys.test.publishable,
    priceId: seller.price.priceId,
    network: 'base',
    token: 'usdc',
    ...changes,
  }
  return api.call('POST', '/v1/checkout', { body, headers })
}

test('201 answers a pending payment of the price, due with a tail at the seller’s address', async () => {
  const answer = await checkout()
  assert.equal(answer.status, 201, answer.text)
  const { paymentId, amountBaseUnits, expiresAt, createdAt, serverTime, paymentUri, ...rest } =
    answer.body
  assert.match(paymentId, /^pay_[0-9a-z]{36,}$/)
  const tail = BigInt(amountBaseUnits) - 10_500_000n
  assert.ok(tail >= 1n && tail <= 9_999n && tail % 10n !== 0n, amountBaseUnits)
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 60 * 60_000)
  assert.equal(serverTime, createdAt)
  assert.ok(paymentUri.includes(amountBaseUnits))
  assert.deepEqual(rest, {
    status: 'PENDING',
    mode: 'test',
    network: 'base',
    token: 'usdc',
    payTo: seller.wallets[0]?.address,
    contract: api.config.deployments.get('base:test')?.tokens.usdc?.contract,
    amount: '10.50',
    decimals: 6,
    txHash: null,
    branding: { displayName: 'Tea & Sons' },
    confirmations: 0,
    confirmationsRequired: 12,
    checkoutUrl: `https://pay.example/pay/${paymentId}`,
  })
})

test('404 price_not_found when nobody has that price', async () => {
  assertError(await checkout({ priceId: newId('price') }), 404, 'price_not_found', 'priceId')
})
