import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newSecret } from '#shared/crypto.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeedOptions, seedStore } from '../support/seed.ts'

type Mode = 'test' | 'live'

describe('renewals', () => {
  let api: TestApi
  before(async () => {
    api = await startTestApi()
  })
  after(() => api.close())

  const ORIGIN = { Origin: 'https://shop.example' }

  /** A subscription with its renew token; active, unless its payment is to stay open. */
  async function subscribe(options: SeedOptions & { mode?: Mode; isPaid?: boolean } = {}) {
    const { mode = 'test', isPaid = true, ...seed } = options
    const seller = await seedStore(api.database.db, {
      ...seed,
      price: { mode, interval: 'MONTH', ...seed.price },
    })
    const { body: payment, text } = await api.call('POST', '/v1/checkout', {
      headers: ORIGIN,
      body: {
        ...{ publishableKey: seller.keys[mode].publishable, priceId: seller.price.priceId },
        ...{ network: 'base', token: 'usdc' },
        ...{ buyerEmail: 'ann@example.com', metadata: { plan: 'gold' } },
      },
    })
    const [event] = await api.database.db<{ body: string; subscriptionId: string }[]>`
      select body, subscription_id from events
      where store_id = ${seller.store.storeId} and type = 'subscription.created'`
    assert.ok(event, text)
    if (isPaid && mode === 'test') {
      await api.call('POST', `/v1/test/payments/${payment.paymentId}/simulate`)
    }
    const token: string = JSON.parse(event.body).data.renewUrl.split('/').at(-1)
    return { token, seller, subscriptionId: event.subscriptionId, payment }
  }
  const checkout = (token: string, body: unknown = { network: 'base', token: 'usdc' }) =>
    api.call('POST', `/v1/renewals/${token}/checkout`, { body })

  test('GET 200 answers what is due and what it can be paid with, and nothing about the buyer', async () => {
    const { token } = await subscribe({ branding: { displayName: 'Beans' } })
    const { status, body, text } = await api.call('GET', `/v1/renewals/${token}`)
    assert.equal(status, 200)
    const { nextDueAt, ...rest } = body
    assert.ok(Date.parse(nextDueAt) > Date.now())
    assert.deepEqual(rest, {
      ...{ mode: 'test', status: 'ACTIVE', sellerName: 'Seller' },
      branding: { displayName: 'Beans' },
      ...{ productName: 'Thing', amount: '10.50', amountCents: 1050, currency: 'usd' },
      ...{ interval: 'MONTH', intervalCount: 1, network: 'base', token: 'usdc' },
      options: [{ network: 'base', token: 'usdc', decimals: 6 }],
    })
    assert.ok(!text.includes('ann@example.com'))
    // The hosted page shows one name: the branding's, when there is one.
    assert.match((await api.call('GET', `/renew/${token}`)).text, /<title>[^<]*Beans/)
  })

  test('the token is nowhere in the database', async () => {
    const { token, subscriptionId } = await subscribe({ isPaid: false })
    const [row] = await api.database.db<{ text: string }[]>`
      select row_to_json(s)::text as text from subscriptions s where subscription_id = ${subscriptionId}`
    assert.ok(row?.text.includes(subscriptionId) && !row.text.includes(token))
  })

  test('POST checkout 201 answers a payment of the subscription, with its metadata and no originHost', async () => {
    const { token, subscriptionId, seller } = await subscribe()
    const { status, body, headers } = await checkout(token)
    assert.equal(status, 201)
    assert.equal(body.status, 'PENDING')
    assert.equal(body.amount, '10.50')
    assert.ok(headers.get('ratelimit-remaining'))
    const path = `/v1/stores/${seller.store.storeId}/payments/${body.paymentId}`
    const { body: full } = await api.call('GET', path, { key: seller.keys.test.secret })
    assert.equal(full.subscriptionId, subscriptionId)
    assert.equal(full.priceId, seller.price.priceId)
    assert.deepEqual(full.metadata, { plan: 'gold' })
    assert.equal(full.originHost, undefined)
    const { body: renewal } = await api.call('GET', `/v1/renewals/${token}`)
    assert.equal(renewal.paymentId, body.paymentId)
  })

  test('POST cancel 200 cancels for the buyer, once, and a canceled one takes no payment', async () => {
    const { token, subscriptionId } = await subscribe()
    for (let count = 0; count < 2; count += 1) {
      const { status, body } = await api.call('POST', `/v1/renewals/${token}/cancel`)
      assert.equal(status, 200)
      assert.equal(body.status, 'CANCELED')
      assert.deepEqual(body.options, [])
    }
    const events = await api.database.db`
      select from events
      where event_id = ${`${subscriptionId}:subscription.canceled`}`
    assert.equal(events.length, 1)
    assertError(await checkout(token), 409, 'not_open')
  })

  test('404 renewal_not_found for unknown and malformed tokens alike', async () => {
    for (const token of [newSecret('renew'), 'nonsense', 'renew_1', `renew_${'A'.repeat(64)}`]) {
      assertError(await api.call('GET', `/v1/renewals/${token}`), 404, 'renewal_not_found')
      assertError(await checkout(token), 404, 'renewal_not_found')
      const cancel = await api.call('POST', `/v1/renewals/${token}/cancel`)
      assertError(cancel, 404, 'renewal_not_found')
    }
  })

  test('400 invalid_request for a body that is not exactly network and token', async () => {
    const { token } = await subscribe()
    assertError(await checkout(token, { network: 'base' }), 400, 'invalid_request', 'token')
    const more = { network: 'base', token: 'usdc', amount: 1 }
    assertError(await checkout(token, more), 400, 'invalid_request', 'amount')
  })

  test('422 for a network the price does not take or nobody runs, a token it has not, and no wallet', async () => {
    const { token, seller } = await subscribe()
    const unknown = await checkout(token, { network: 'nowhere', token: 'usdc' })
    assertError(unknown, 422, 'network_not_accepted', 'network')
    const noToken = await checkout(token, { network: 'base', token: 'usdt' })
    assertError(noToken, 422, 'token_not_accepted', 'token')
    const noWallet = await checkout(token, { network: 'polygon', token: 'usdc' })
    assertError(noWallet, 422, 'no_wallet', 'network')
    await api.database.db`
      update prices set networks = '{base}' where price_id = ${seller.price.priceId}`
    const notTaken = await checkout(token, { network: 'polygon', token: 'usdc' })
    assertError(notTaken, 422, 'network_not_accepted', 'network')
  })

  test('live: 403 account_disabled, 403 email_unverified and 402 volume_cap_reached apply', async () => {
    const { token, seller } = await subscribe({ mode: 'live' })
    const { accountId } = seller.account
    const { db } = api.database
    assert.equal((await checkout(token)).status, 201)
    await db`update accounts set status = 'SUSPENDED' where account_id = ${accountId}`
    assertError(await checkout(token), 403, 'account_disabled')
    await db`update accounts set status = 'ACTIVE', email_verified_at = null where account_id = ${accountId}`
    assertError(await checkout(token), 403, 'email_unverified')
    await db`update accounts set email_verified_at = service_now() where account_id = ${accountId}`
    await db`
      insert into volume_entries (payment_id, account_id, month, amount_micros)
      values ('pay_cap', ${accountId}, date_trunc('month', service_now() at time zone 'UTC')::date, 2000000000)`
    assertError(await checkout(token), 402, 'volume_cap_reached')
  })

  test('429 rate_limited: renewals and checkouts of one caller are counted together', async () => {
    const strict = await startTestApi({ config: { rateLimitCheckout: 3 }, database: api.database })
    const { token } = await subscribe()
    await api.database.db`delete from rate_windows`
    const path = `/v1/renewals/${token}/checkout`
    const body = { network: 'base', token: 'usdc' }
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await strict.call('POST', path, { body })).status, 201)
    }
    assertError(await strict.call('POST', path, { body }), 429, 'rate_limited')
    await strict.stop()
  })

  const form = (token: string, path = '', fields: Record<string, string> = {}) =>
    fetch(`${api.url}/renew/${token}${path}`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields),
    })

  test('the renew page shows what is due, pays by a button and cancels by another', async () => {
    const { token } = await subscribe({ branding: { displayName: '<b>Acme' } })
    const shown = await api.call('GET', `/renew/${token}`)
    assert.equal(shown.status, 200)
    assert.match(shown.headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    assert.equal(shown.headers.get('referrer-policy'), 'no-referrer')
    assert.match(shown.text, /\$10\.50/)
    assert.match(shown.text, /every month/)
    assert.match(shown.text, /The next payment is due on/)
    assert.ok(!shown.text.includes('<b>Acme') && shown.text.includes('&lt;b&gt;Acme'))
    const wrong = await form(token, '', { option: 'base:nothing' })
    assert.equal(wrong.status, 400)
    const paid = await form(token, '', { option: 'base:usdc' })
    assert.equal(paid.status, 303)
    assert.match(paid.headers.get('location') ?? '', /^\/pay\/pay_[0-9a-z]+$/)
    assert.match((await api.call('GET', `/renew/${token}`)).text, /\/pay\/pay_[0-9a-z]+/)
    const canceled = await form(token, '/cancel')
    assert.equal(canceled.headers.get('location'), `/renew/${token}`)
    const ended = await api.call('GET', `/renew/${token}`)
    assert.match(ended.text, /It was canceled/)
    assert.doesNotMatch(ended.text, /<form/)
  })

  test('a renew page that does not exist is a page that says so', async () => {
    const answer = await api.call('GET', `/renew/${newSecret('renew')}`)
    assert.equal(answer.status, 404)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
  })
})
