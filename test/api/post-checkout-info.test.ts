import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { randomEvmAddress, type SeededStore, seedPrice, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  const wallets = (['test', 'live'] as const).flatMap((mode) =>
    ['base', 'bnb', 'ethereum'].map((network) => ({ network, mode, address: randomEvmAddress() })),
  )
  seller = await seedStore(api.database.db, {
    wallets,
    branding: { displayName: 'Tea & Sons', color: '#aabbcc' },
  })
})
after(() => api.close())

function info(changes: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const body = {
    publishableKey: seller.keys.test.publishable,
    priceId: seller.price.priceId,
    ...changes,
  }
  return api.call('POST', '/v1/checkout/info', { body, headers })
}

test('200 answers amount, seller and what to pay with', async () => {
  const answer = await info()
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(answer.body, {
    mode: 'test',
    amount: '10.50',
    amountCents: 1_050,
    currency: 'usd',
    sellerName: 'Seller',
    branding: { displayName: 'Tea & Sons', color: '#aabbcc' },
    options: [
      { network: 'ethereum', token: 'usdc', decimals: 6 },
      { network: 'ethereum', token: 'usdt', decimals: 6 },
      { network: 'base', token: 'usdc', decimals: 6 },
      { network: 'bnb', token: 'usdc', decimals: 18 },
      { network: 'bnb', token: 'usdt', decimals: 18 },
    ],
  })
})

test('200 options are what the price accepts and the seller has a wallet for', async () => {
  const price = await seedPrice(api.database.db, seller.store.storeId, {
    networks: ['bnb', 'solana'],
    tokens: ['usdt'],
  })
  const { body } = await info({ priceId: price.priceId })
  assert.deepEqual(body.options, [{ network: 'bnb', token: 'usdt', decimals: 18 }])
})

test('200 in live mode options are of networks that run', async () => {
  const price = await seedPrice(api.database.db, seller.store.storeId, { mode: 'live' })
  const { body } = await info(
    { publishableKey: seller.keys.live.publishable, priceId: price.priceId },
    { Origin: 'https://shop.example' },
  )
  assert.equal(body.mode, 'live')
  assert.deepEqual(body.options, [{ network: 'base', token: 'usdc', decimals: 6 }])
})

test('200 without wallets there is nothing to choose from', async () => {
  const bare = await seedStore(api.database.db, { wallets: [], sellerName: 'Ann' })
  const { body } = await info({
    publishableKey: bare.keys.test.publishable,
    priceId: bare.price.priceId,
  })
  assert.deepEqual([body.options, body.branding, body.sellerName], [[], {}, 'Ann'])
})

test('200 sellerName is the account’s, whatever the branding says; without one it is the branding’s', async () => {
  const { db } = api.database
  const branding = { displayName: 'Beans' }
  const named = await seedStore(db, { sellerName: 'Ann', branding })
  const name = async () => {
    const { publishable: publishableKey } = named.keys.test
    const { body } = await info({ publishableKey, priceId: named.price.priceId })
    assert.deepEqual(body.branding, branding)
    return body.sellerName
  }
  assert.equal(await name(), 'Ann')
  await db`update accounts set seller_name = null where account_id = ${named.account.accountId}`
  assert.equal(await name(), 'Beans')
})

test('200 an open amount is shown as it was asked', async () => {
  const { body } = await info({ priceId: undefined, amount: 1 })
  assert.deepEqual([body.amount, body.amountCents], ['0.01', 1])
})

test('200 every option can be checked out with', async () => {
  const { body } = await info()
  for (const { network, token, decimals } of body.options) {
    const answer = await api.call('POST', '/v1/checkout', {
      body: {
        publishableKey: seller.keys.test.publishable,
        priceId: seller.price.priceId,
        network,
        token,
      },
    })
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.body.decimals, decimals)
  }
})

test('400 invalid_request unless exactly one of the four says what is paid for', async () => {
  assertError(await info({ priceId: undefined }), 400, 'invalid_request', 'priceId')
  assertError(await info({ amount: 5 }), 400, 'invalid_request', 'amount')
  assertError(await info({ network: 'base' }), 400, 'invalid_request', 'network')
})

test('401 invalid_api_key when the key is missing from our books', async () => {
  assertError(await info({ publishableKey: 'pk_test_x' }), 401, 'invalid_api_key')
  assertError(await info({ publishableKey: seller.keys.test.secret }), 401, 'invalid_api_key')
})

test('400 origin_required, 403 origin_not_allowed, 403 account_disabled, 403 email_unverified', async () => {
  const { db } = api.database
  const of = await seedStore(db, { price: { mode: 'live' } })
  const live = (headers: Record<string, string>) =>
    info({ publishableKey: of.keys.live.publishable, priceId: of.price.priceId }, headers)
  const origin = { Origin: 'https://shop.example' }
  assertError(await live({}), 400, 'origin_required')
  await db`update accounts set email_verified_at = null where account_id = ${of.account.accountId}`
  assertError(await live(origin), 403, 'email_unverified')
  await db`update accounts set status = 'BANNED' where account_id = ${of.account.accountId}`
  assertError(await live(origin), 403, 'account_disabled')
  await db`insert into origins (store_id, host, status) values (${of.store.storeId}, 'shop.example', 'REJECTED')`
  assertError(await live(origin), 403, 'origin_not_allowed')
})

test('404 price_not_found, payment_link_not_found, session_not_found', async () => {
  assertError(await info({ priceId: newId('price') }), 404, 'price_not_found', 'priceId')
  const link = { priceId: undefined, paymentLinkId: newId('plink') }
  assertError(await info(link), 404, 'payment_link_not_found', 'paymentLinkId')
  const session = { priceId: undefined, sessionId: newId('cs') }
  assertError(await info(session), 404, 'session_not_found', 'sessionId')
})

test('403 open_amount_disabled and 422 amount_out_of_range, in this order', async () => {
  const strict = await seedStore(api.database.db, { openAmountEnabled: false })
  const open = { publishableKey: strict.keys.test.publishable, priceId: undefined, amount: 0 }
  assertError(await info(open), 403, 'open_amount_disabled')
  assertError(await info({ priceId: undefined, amount: 0 }), 422, 'amount_out_of_range', 'amount')
})
