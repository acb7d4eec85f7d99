import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import {
  assertPageHeaders,
  createLink,
  createSession,
  paymentIdOf,
  submit,
} from '../support/pages.ts'
import { type SeededStore, seedPrice, seedStore } from '../support/seed.ts'
import { fromAnotherIp, trustLoopback } from '../support/seller.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

const LIMIT = 5
const USDC_ON_BASE = { option: 'base:usdc' }

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi({
    config: { rateLimitCheckout: LIMIT, trustedProxies: trustLoopback() },
  })
  seller = await seedStore(api.database.db)
})
after(() => api.close())

function buy(path: string, fields: Record<string, string> = USDC_ON_BASE) {
  return submit(api.url, path, fields, fromAnotherIp())
}

async function assertRefused(path: string, status: number, say: RegExp): Promise<void> {
  const answer = await buy(path)
  assert.equal(answer.status, status, answer.text)
  assert.match(answer.text, say)
  assertPageHeaders(answer)
}

function readPayment(paymentId: string, store = seller, mode: 'test' | 'live' = 'test') {
  const { storeId } = store.store
  return api.call('GET', `/v1/stores/${storeId}/payments/${paymentId}`, {
    key: store.keys[mode].secret,
  })
}

test('303 to the payment that the choice made, of the link’s price and without an origin', async () => {
  const link = await createLink(api, seller, { metadata: { order: 'A-1' } })
  const shown = await api.call('GET', `/l/${link}`)
  assert.equal(shown.status, 200)
  assert.match(shown.text, /USDC on Base/)
  const { body } = await readPayment(paymentIdOf(await buy(`/l/${link}`)))
  assert.equal(body.amount, '10.50')
  assert.equal(body.paymentLinkId, link)
  assert.deepEqual(body.metadata, { order: 'A-1' })
  assert.equal('originHost' in body, false)
})

test('303 also for a seller who revoked every publishable key: links are no keys', async () => {
  const other = await seedStore(api.database.db)
  const link = await createLink(api, other)
  await api.database.db`
    update keys set revoked_at = service_now()
    where store_id = ${other.store.storeId} and kind = 'PUBLISHABLE'`
  assert.equal((await api.call('GET', `/l/${link}`)).status, 200)
  paymentIdOf(await buy(`/l/${link}`))
})

test('303 a live link too, and no origin is put up for the seller’s review', async () => {
  const other = await seedStore(api.database.db)
  const { db } = api.database
  const price = await seedPrice(db, other.store.storeId, { mode: 'live' })
  const link = await createLink(api, other, { priceId: price.priceId, mode: 'live' })
  const paymentId = paymentIdOf(await buy(`/l/${link}`))
  assert.equal((await readPayment(paymentId, other, 'live')).body.mode, 'live')
  const origins = await db`select from origins where store_id = ${other.store.storeId}`
  assert.equal(origins.length, 0)
})

test('400 a choice that is no option is asked for again', async () => {
  const link = await createLink(api, seller)
  for (const option of ['', 'base:usdt', 'ethereum:usdc', 'nope', 'base:usdc:x']) {
    const answer = await buy(`/l/${link}`, { option })
    assert.equal(answer.status, 400, option)
    assert.match(answer.text, /Choose what to pay with/)
  }
})

test('400 a recurring price asks for one mail address, and subscribes it', async () => {
  const price = await seedPrice(api.database.db, seller.store.storeId, { interval: 'MONTH' })
  const link = await createLink(api, seller, { priceId: price.priceId })
  const shown = await api.call('GET', `/l/${link}`)
  assert.match(shown.text, /every month/)
  assert.match(shown.text, /<input type="email"/)
  for (const email of ['', 'x', 'a@b.example,c@d.example', 'a@b.example\r\nBcc: c@d.example']) {
    const answer = await buy(`/l/${link}`, { ...USDC_ON_BASE, email })
    assert.equal(answer.status, 400, email)
    assert.match(answer.text, /value="base:usdc" required checked/)
  }
  const answer = await buy(`/l/${link}`, { ...USDC_ON_BASE, email: ' Ann@Mail.example ' })
  const { subscriptionId } = (await readPayment(paymentIdOf(answer))).body
  const path = `/v1/stores/${seller.store.storeId}/subscriptions/${subscriptionId}`
  const { body } = await api.call('GET', path, { key: seller.keys.test.secret })
  assert.equal(body.buyerEmail, 'ann@mail.example')
})

test('a session that knows the buyer’s address does not ask for it, nor show it', async () => {
  const price = await seedPrice(api.database.db, seller.store.storeId, { interval: 'YEAR' })
  const session = await createSession(api, seller, {
    priceId: price.priceId,
    buyerEmail: 'ann@mail.example',
  })
  const shown = await api.call('GET', `/c/${session}`)
  assert.doesNotMatch(shown.text, /type="email"|ann@mail/)
  paymentIdOf(await buy(`/c/${session}`))
})

test('a session leads back to its payment, and once it is paid to nothing else', async () => {
  const session = await createSession(api, seller, {
    amountCents: 900,
    successUrl: 'https://shop.example/thanks',
    cancelUrl: 'https://shop.example/cart',
  })
  const first = paymentIdOf(await buy(`/c/${session}`))
  const again = await api.call('GET', `/c/${session}`)
  assert.match(again.text, new RegExp(`href="/pay/${first}"`))
  assert.match((await api.call('GET', `/pay/${first}`)).text, new RegExp(`href="/c/${session}"`))
  const canceled = await submit(api.url, `/pay/${first}/cancel`, {})
  assert.equal(canceled.headers.get('location'), `/pay/${first}`)
  assert.match((await api.call('GET', `/pay/${first}`)).text, /shop\.example\/cart/)

  const second = paymentIdOf(await buy(`/c/${session}`))
  await submit(api.url, `/pay/${second}/simulate`, {})
  const paid = await api.call('GET', `/pay/${second}`)
  assert.match(paid.text, /data-state="CONFIRMED"/)
  assert.match(paid.text, /shop\.example\/thanks/)
  assert.doesNotMatch(paid.text, /<script|http-equiv="refresh"/)
  assert.equal(paymentIdOf(await buy(`/c/${session}`)), second)
})

test('409 a closed session, an archived link, an archived price: in the seller’s look', async () => {
  const session = await createSession(api, seller, { amountCents: 900 })
  const key = seller.keys.test.secret
  await api.call('POST', `/v1/checkout/sessions/${session}/close`, { key })
  await assertRefused(`/c/${session}`, 409, /This checkout is over/)
  const link = await createLink(api, seller)
  const store = `/v1/stores/${seller.store.storeId}`
  await api.call('PATCH', `${store}/payment-links/${link}`, { key, body: { active: false } })
  await assertRefused(`/l/${link}`, 409, /no longer sold/)
  const price = await seedPrice(api.database.db, seller.store.storeId)
  const other = await createLink(api, seller, { priceId: price.priceId })
  await api.call('PATCH', `${store}/prices/${price.priceId}`, { key, body: { active: false } })
  await assertRefused(`/l/${other}`, 409, /no longer sold/)
})

test('402 and 403: ceiling, suspension and verification hold here as on POST /checkout', async () => {
  const { db } = api.database
  const liveLink = async (options: Parameters<typeof seedStore>[1]) => {
    const store = await seedStore(db, options)
    const price = await seedPrice(db, store.store.storeId, { mode: 'live' })
    const link = await createLink(api, store, { priceId: price.priceId, mode: 'live' })
    return { store, path: `/l/${link}` }
  }
  const full = await liveLink({})
  await db`
    insert into volume_entries (payment_id, account_id, month, amount_micros)
    values (${`pay_full_${full.store.store.storeId}`}, ${full.store.account.accountId},
      date_trunc('month', service_now() at time zone 'UTC')::date, 2000000000)`
  assert.equal((await api.call('GET', full.path)).status, 200)
  await assertRefused(full.path, 402, /cannot take payments now/)
  const suspended = await liveLink({})
  await db`
    update accounts set status = 'SUSPENDED'
    where account_id = ${suspended.store.account.accountId}`
  await assertRefused(suspended.path, 403, /cannot take payments now/)
  const unverified = await liveLink({ emailVerified: false })
  await assertRefused(unverified.path, 403, /cannot take payments now/)
})

test('429 counts with POST /checkout of the same address, and says when to come back', async () => {
  const link = await createLink(api, seller)
  const mine = fromAnotherIp()
  for (let count = 0; count < LIMIT; count += 1) {
    paymentIdOf(await submit(api.url, `/l/${link}`, USDC_ON_BASE, mine))
  }
  const answer = await submit(api.url, `/l/${link}`, USDC_ON_BASE, mine)
  assert.equal(answer.status, 429)
  assert.ok(Number(answer.headers.get('retry-after')) >= 1)
  assertPageHeaders(answer)
  const checkout = await api.call('POST', '/v1/checkout', {
    headers: { Origin: 'https://shop.example', ...mine },
    body: {
      publishableKey: seller.keys.test.publishable,
      priceId: seller.price.priceId,
      network: 'base',
      token: 'usdc',
    },
  })
  assert.equal(checkout.status, 429)
})

test('without any wallet the page says so and offers no button', async () => {
  const bare = await seedStore(api.database.db, { wallets: [] })
  const shown = await api.call('GET', `/l/${await createLink(api, bare)}`)
  assert.equal(shown.status, 200)
  assert.match(shown.text, /cannot take this payment/)
  assert.doesNotMatch(shown.text, /<button/)
})
