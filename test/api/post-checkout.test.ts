import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, type SeedOptions, seedPrice, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi({
    networks: {
      base: { live: { rpc: ['http://127.0.0.1:9'] }, test: { rpc: ['http://127.0.0.1:9'] } },
      bnb: { live: { rpc: ['http://127.0.0.1:9'] } },
    },
  })
  seller = await seedStore(api.database.db, { branding: { displayName: 'Tea & Sons' } })
})
after(() => api.close())

const ORIGIN = { Origin: 'https://shop.example' }

/** A checkout of a seller's price, with some fields otherwise; undefined leaves one out. */
function checkout(
  changes: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  { of = seller, mode = 'test' as Mode } = {},
) {
  const body = {
    publishableKey: of.keys[mode].publishable,
    priceId: of.price.priceId,
    network: 'base',
    token: 'usdc',
    ...changes,
  }
  return api.call('POST', '/v1/checkout', { body, headers })
}

/** A seller whose price is a live one. */
function seedLive(options: SeedOptions = {}) {
  return seedStore(api.database.db, { price: { mode: 'live' }, ...options })
}

function live(of: SeededStore, changes: Record<string, unknown> = {}, headers = ORIGIN) {
  return checkout(changes, headers, { of, mode: 'live' })
}

async function insertLink(of: SeededStore, options: { active?: boolean; metadata?: object } = {}) {
  const { db } = api.database
  const paymentLinkId = newId('plink')
  await db`
    insert into payment_links (payment_link_id, store_id, mode, price_id, metadata, active)
    values (${paymentLinkId}, ${of.store.storeId}, 'test', ${of.price.priceId},
      ${options.metadata ? db.json(options.metadata as never) : null}, ${options.active ?? true})`
  return paymentLinkId
}

async function insertSession(
  of: SeededStore,
  options: { status?: string; amountCents?: number; minutes?: number; buyerEmail?: string } = {},
) {
  const sessionId = newId('cs')
  const { amountCents } = options
  await api.database.db`
    insert into checkout_sessions (session_id, store_id, mode, price_id, amount_cents, status, buyer_email, expires_at)
    values (${sessionId}, ${of.store.storeId}, 'test', ${amountCents ? null : of.price.priceId},
      ${amountCents ?? null}, ${options.status ?? 'OPEN'}, ${options.buyerEmail ?? null},
      service_now() + make_interval(mins => ${options.minutes ?? 60}))`
  return sessionId
}

async function rowOf(paymentId: string) {
  const [row] = await api.database.db`select * from payments where payment_id = ${paymentId}`
  assert.ok(row)
  return row
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
  const read = await api.call('GET', `/v1/payments/${paymentId}`)
  assert.deepEqual({ ...read.body, serverTime }, answer.body)
})

test('201 each call claims a slot of its own: a checkout is not idempotent', async () => {
  const [one, other] = await Promise.all([checkout(), checkout()])
  assert.notEqual(one.body.paymentId, other.body.paymentId)
  assert.notEqual(one.body.amountBaseUnits, other.body.amountBaseUnits)
  const events = await api.database.db`select event_id from events`
  assert.equal(events.length, 0, 'a new payment is no event')
})

test('201 ttlMinutes says when the payment lapses', async () => {
  for (const ttlMinutes of [1, 1_440]) {
    const { body } = await checkout({ ttlMinutes })
    assert.equal(Date.parse(body.expiresAt) - Date.parse(body.createdAt), ttlMinutes * 60_000)
  }
})

test('400 invalid_request for ttlMinutes outside 1 to 1,440', async () => {
  for (const ttlMinutes of [0, -1, 1_441, 1.5, '60', null]) {
    assertError(await checkout({ ttlMinutes }), 400, 'invalid_request', 'ttlMinutes')
  }
})

test('201 keeps metadata, origin and buyer of the checkout with the payment', async () => {
  const metadata = { order: '17', snake_key: 'ü' }
  const headers = { Origin: 'https://Shop.Example:8443' }
  const { body } = await checkout({ metadata, buyerEmail: 'Ann@Example.org' }, headers)
  const row = await rowOf(body.paymentId)
  assert.deepEqual(row['metadata'], metadata)
  assert.equal(row['originHost'], 'shop.example')
  assert.equal(row['buyerEmail'], 'ann@example.org')
  assert.equal(row['clock'], 'CHAIN')
})

test('400 invalid_request for metadata over its limits or of other types', async () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, 'v']))
  const large = { k: 'é'.repeat(1_021) }
  for (const metadata of [many, large, [], 'x', null, 5]) {
    assertError(await checkout({ metadata }), 400, 'invalid_request', 'metadata')
  }
  for (const value of [5, null, {}, ['x'], true]) {
    assertError(await checkout({ metadata: { k: value } }), 400, 'invalid_request', 'metadata.k')
  }
})

test('201 metadata of exactly 20 keys or exactly 2,048 bytes passes', async () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'v']))
  assert.equal((await checkout({ metadata: many })).status, 201)
  const metadata = { k: 'é'.repeat(1_020) }
  assert.equal(new TextEncoder().encode(JSON.stringify(metadata)).length, 2_048)
  assert.equal((await checkout({ metadata })).status, 201)
})

test('201 metadata keys may be words that mean something to a programming language', async () => {
  const metadata = { constructor: 'Ferrari', prototype: 'F40', toString: 'x', '': 'empty' }
  const { status, body } = await checkout({ metadata })
  assert.equal(status, 201)
  assert.deepEqual((await rowOf(body.paymentId))['metadata'], metadata)
})

test('201 a buyer’s mail address of 254 characters passes, as everywhere else', async () => {
  const domain = `${'d'.repeat(62)}.${'e'.repeat(62)}.${'f'.repeat(55)}.example`
  const buyerEmail = `${'a'.repeat(253 - domain.length)}@${domain}`
  assert.equal(buyerEmail.length, 254)
  assert.equal((await checkout({ buyerEmail })).status, 201)
  const longer = await checkout({ buyerEmail: `a${buyerEmail}` })
  assertError(longer, 400, 'invalid_request', 'buyerEmail')
})

test('400 invalid_request unless exactly one of the four says what is paid for', async () => {
  assertError(await checkout({ priceId: undefined }), 400, 'invalid_request', 'priceId')
  assertError(await checkout({ sessionId: 'cs_1' }), 400, 'invalid_request', 'sessionId')
  assertError(await checkout({ amount: 500 }), 400, 'invalid_request', 'amount')
})

test('400 invalid_request for a missing or unknown network, token, currency, mail address', async () => {
  assertError(await checkout({ network: undefined }), 400, 'invalid_request', 'network')
  assertError(await checkout({ network: 5 }), 400, 'invalid_request', 'network')
  for (const token of [undefined, 'USDC', 'dai', null]) {
    assertError(await checkout({ token }), 400, 'invalid_request', 'token')
  }
  assertError(await checkout({ currency: 'usd' }), 400, 'invalid_request', 'currency')
  const open = { priceId: undefined, amount: 500 }
  assertError(await checkout({ ...open, currency: 'eur' }), 400, 'invalid_request', 'currency')
  for (const buyerEmail of ['x', 'a@x\r\nBcc: b@x', 'a@x.y,b@x.y', '']) {
    assertError(await checkout({ buyerEmail }), 400, 'invalid_request', 'buyerEmail')
  }
})

test('400 invalid_request before 401: the body’s shape is looked at first', async () => {
  assertError(
    await checkout({ publishableKey: 'nobody', ttlMinutes: 0 }),
    400,
    'invalid_request',
    'ttlMinutes',
  )
})

test('401 invalid_api_key when the key is unknown, malformed, secret, revoked or empty', async () => {
  const revoked = await seedStore(api.database.db)
  await api.database.db`
    update keys set revoked_at = service_now() where store_id = ${revoked.store.storeId}`
  for (const publishableKey of [
    'pk_test_0000000000000000000000000000000000000000000',
    'nonsense',
    '',
    seller.keys.test.secret,
    revoked.keys.test.publishable,
    seller.keys.test.publishable.toUpperCase(),
  ]) {
    assertError(await checkout({ publishableKey }), 401, 'invalid_api_key')
  }
})

test('401 invalid_api_key comes before a missing price, network or wallet', async () => {
  const changes = { publishableKey: 'pk_test_x', priceId: 'nope', network: 'nowhere' }
  assertError(await checkout(changes), 401, 'invalid_api_key')
})

test('400 origin_required when a live key comes without a valid Origin', async () => {
  const of = await seedLive()
  for (const origin of [
    'null',
    'https://',
    'shop.example',
    'https://a@shop.example',
    'https://x y',
  ]) {
    assertError(await live(of, {}, { Origin: origin }), 400, 'origin_required')
  }
  assertError(await checkout({}, {}, { of, mode: 'live' }), 400, 'origin_required')
})

test('201 a test key works from any origin and from none', async () => {
  for (const origin of ['http://localhost:5173', 'null', 'https://elsewhere.example']) {
    assert.equal((await checkout({}, { Origin: origin })).status, 201)
  }
})

test('403 origin_not_allowed when the origin’s host or a parent of it is rejected', async () => {
  const of = await seedLive()
  await api.database.db`
    insert into origins (store_id, host, status) values
      (${of.store.storeId}, 'evil.example', 'REJECTED'), (${of.store.storeId}, 'ok.example', 'APPROVED')`
  for (const origin of [
    'https://evil.example',
    'https://EVIL.example:8443',
    'http://shop.evil.example',
    'https://evil.example.',
  ]) {
    assertError(await live(of, {}, { Origin: origin }), 403, 'origin_not_allowed')
  }
  for (const origin of ['https://ok.example', 'https://notevil.example', 'https://new.example']) {
    assert.equal((await live(of, {}, { Origin: origin })).status, 201)
  }
})

test('201 a rejected origin still works with a test key', async () => {
  const of = await seedStore(api.database.db)
  await api.database.db`
    insert into origins (store_id, host, status) values (${of.store.storeId}, 'evil.example', 'REJECTED')`
  const answer = await checkout({}, { Origin: 'https://evil.example' }, { of, mode: 'test' })
  assert.equal(answer.status, 201)
})

test('403 account_disabled when a live key’s account is suspended or banned', async () => {
  for (const status of ['SUSPENDED', 'BANNED'] as const) {
    assertError(await live(await seedLive({ status })), 403, 'account_disabled')
  }
  const of = await seedStore(api.database.db, { status: 'SUSPENDED' })
  assert.equal((await checkout({}, {}, { of, mode: 'test' })).status, 201)
})

test('403 email_unverified when a live key’s account has no verified address', async () => {
  assertError(await live(await seedLive({ emailVerified: false })), 403, 'email_unverified')
  const of = await seedStore(api.database.db, { emailVerified: false })
  assert.equal((await checkout({}, {}, { of, mode: 'test' })).status, 201)
})

test('404 price_not_found for an unknown price, another store’s, and the other mode’s alike', async () => {
  const other = await seedStore(api.database.db)
  const ofLive = await seedPrice(api.database.db, seller.store.storeId, { mode: 'live' })
  const messages = new Set<string>()
  for (const priceId of [newId('price'), other.price.priceId, ofLive.priceId, 'x', '']) {
    const answer = await checkout({ priceId })
    assertError(answer, 404, 'price_not_found', 'priceId')
    messages.add(answer.body.error.message)
  }
  assert.equal(messages.size, 1)
})

test('404 payment_link_not_found and session_not_found for ids of others', async () => {
  const other = await seedStore(api.database.db)
  const link = { priceId: undefined, paymentLinkId: await insertLink(other) }
  assertError(await checkout(link), 404, 'payment_link_not_found', 'paymentLinkId')
  const session = { priceId: undefined, sessionId: await insertSession(other) }
  assertError(await checkout(session), 404, 'session_not_found', 'sessionId')
})

test('409 price_inactive, link_inactive when archived', async () => {
  const { db } = api.database
  const price = await seedPrice(db, seller.store.storeId)
  await db`update prices set active = false where price_id = ${price.priceId}`
  assertError(await checkout({ priceId: price.priceId }), 409, 'price_inactive')
  const paymentLinkId = await insertLink(seller, { active: false })
  assertError(await checkout({ priceId: undefined, paymentLinkId }), 409, 'link_inactive')
})

test('409 session_closed when the session is closed, completed or past its time', async () => {
  for (const options of [{ status: 'CLOSED' }, { status: 'COMPLETED' }, { minutes: -1 }]) {
    const sessionId = await insertSession(seller, options)
    assertError(await checkout({ priceId: undefined, sessionId }), 409, 'session_closed')
  }
})

test('201 a session’s amount, price and buyer win; the session knows its payment', async () => {
  const sessionId = await insertSession(seller, { amountCents: 777, buyerEmail: 'b@x.test' })
  const { body } = await checkout({ priceId: undefined, sessionId, buyerEmail: 'c@x.test' })
  assert.equal(body.amount, '7.77')
  assert.equal((await rowOf(body.paymentId))['buyerEmail'], 'b@x.test')
  const [session] = await api.database.db`
    select payment_id, status from checkout_sessions where session_id = ${sessionId}`
  assert.equal(session?.['paymentId'], body.paymentId)
  assert.equal(session?.['status'], 'OPEN')
})

test('201 a link’s metadata wins key by key over the browser’s', async () => {
  const paymentLinkId = await insertLink(seller, { metadata: { plan: 'gold' } })
  const metadata = { plan: 'free', note: 'hi' }
  const { body } = await checkout({ priceId: undefined, paymentLinkId, metadata })
  const row = await rowOf(body.paymentId)
  assert.deepEqual(row['metadata'], { plan: 'gold', note: 'hi' })
  assert.equal(row['paymentLinkId'], paymentLinkId)
  assert.equal(row['priceId'], seller.price.priceId)
})

test('400 invalid_request when metadata passes its limits only with the link’s own', async () => {
  const paymentLinkId = await insertLink(seller, { metadata: { own: 'x'.repeat(1_500) } })
  const metadata = { k: 'y'.repeat(1_500) }
  const answer = await checkout({ priceId: undefined, paymentLinkId, metadata })
  assertError(answer, 400, 'invalid_request', 'metadata')
})

test('403 open_amount_disabled when the account is in strict mode', async () => {
  const of = await seedStore(api.database.db, { openAmountEnabled: false })
  const open = { priceId: undefined, amount: 500 }
  assertError(await checkout(open, {}, { of, mode: 'test' }), 403, 'open_amount_disabled')
  const tooMuch = { priceId: undefined, amount: -1 }
  assertError(await checkout(tooMuch, {}, { of, mode: 'test' }), 403, 'open_amount_disabled')
})

test('422 amount_out_of_range under 1 or over 100,000,000 cents; the ends pass', async () => {
  const open = (amount: number) => checkout({ priceId: undefined, amount, currency: 'usd' })
  for (const amount of [0, -5, 100_000_001, 9_007_199_254_740_991]) {
    assertError(await open(amount), 422, 'amount_out_of_range', 'amount')
  }
  assert.equal((await open(1)).body.amount, '0.01')
  assert.equal((await open(100_000_000)).body.amount, '1000000.00')
})

test('422 network_not_accepted: unknown, not the price’s, and in live mode one that is off', async () => {
  assertError(await checkout({ network: 'dogechain' }), 422, 'network_not_accepted', 'network')
  assertError(await checkout({ network: 'BASE' }), 422, 'network_not_accepted', 'network')
  assertError(await checkout({ network: '' }), 422, 'network_not_accepted', 'network')
  const price = await seedPrice(api.database.db, seller.store.storeId, { networks: ['solana'] })
  assertError(await checkout({ priceId: price.priceId }), 422, 'network_not_accepted', 'network')
  const of = await seedLive({ wallets: [{ network: 'polygon', mode: 'live', address: '0xP' }] })
  assertError(await live(of, { network: 'polygon' }), 422, 'network_not_accepted', 'network')
})

test('201 in test mode a network that is off is paid by our clock', async () => {
  const wallets = [{ network: 'polygon', address: `0x${'1'.repeat(40)}` }]
  const of = await seedStore(api.database.db, { wallets })
  const answer = await checkout({ network: 'polygon' }, {}, { of, mode: 'test' })
  assert.equal(answer.status, 201, answer.text)
  assert.equal((await rowOf(answer.body.paymentId))['clock'], 'OURS')
})

test('422 token_not_accepted when it does not exist there or the price does not take it', async () => {
  assertError(await checkout({ token: 'usdt' }), 422, 'token_not_accepted', 'token')
  const price = await seedPrice(api.database.db, seller.store.storeId, { tokens: ['usdt'] })
  assertError(await checkout({ priceId: price.priceId }), 422, 'token_not_accepted', 'token')
})

test('422 no_wallet when the seller has none there, or removed it', async () => {
  assertError(await checkout({ network: 'solana' }), 422, 'no_wallet', 'network')
  const of = await seedStore(api.database.db)
  await api.database.db`
    update wallets set removed_at = service_now() where store_id = ${of.store.storeId}`
  assertError(await checkout({}, {}, { of, mode: 'test' }), 422, 'no_wallet', 'network')
})

test('402 volume_cap_reached once the month’s receipts reach the plan’s ceiling, live only', async () => {
  const of = await seedLive()
  const { db } = api.database
  const receive = (micros: bigint, month: string) => db`
    insert into volume_entries (payment_id, account_id, month, amount_micros)
    values (${newId('pay')}, ${of.account.accountId},
      date_trunc('month', service_now() at time zone 'UTC' + ${month}::interval)::date, ${micros})`
  await receive(9_000_000_000n, '-1 month')
  await receive(1_999_999_999n, '0')
  assert.equal((await live(of)).status, 201)
  await receive(1n, '0')
  assertError(await live(of), 402, 'volume_cap_reached')
  const test = await seedPrice(db, of.store.storeId)
  const inTest = await checkout({ priceId: test.priceId }, {}, { of, mode: 'test' })
  assert.equal(inTest.status, 201)
  await db`update accounts set plan = 'SCALE' where account_id = ${of.account.accountId}`
  assert.equal((await live(of)).status, 201)
})

test('422 no_wallet comes before 402 volume_cap_reached', async () => {
  const of = await seedLive({ wallets: [] })
  await api.database.db`
    insert into volume_entries (payment_id, account_id, month, amount_micros)
    values (${newId('pay')}, ${of.account.accountId},
      date_trunc('month', service_now() at time zone 'UTC')::date, 3000000000)`
  assertError(await live(of), 422, 'no_wallet', 'network')
})

test('201 on Solana the payment has a reference key, in its link too', async () => {
  const address = '7Y8VDzehoewALqJfyxZYMgYCnMTCDhWuGfJKUvjYWATw'
  const of = await seedStore(api.database.db, { wallets: [{ network: 'solana', address }] })
  const answer = await checkout({ network: 'solana', token: 'usdt' }, {}, { of, mode: 'test' })
  assert.equal(answer.status, 201, answer.text)
  const { referenceKey } = await rowOf(answer.body.paymentId)
  assert.match(referenceKey, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
  assert.match(
    answer.body.paymentUri,
    new RegExp(`^solana:${address}\\?.*reference=${referenceKey}$`),
  )
})

test('201 a recurring price opens a subscription and says so in one event', async () => {
  const { db } = api.database
  const price = await seedPrice(db, seller.store.storeId, { interval: 'MONTH', intervalCount: 2 })
  const answer = await checkout(
    { priceId: price.priceId, buyerEmail: 'Ann@x.test', metadata: { a: 'b' } },
    ORIGIN,
  )
  assert.equal(answer.status, 201, answer.text)
  const { subscriptionId } = await rowOf(answer.body.paymentId)
  const [row] = await db`select * from subscriptions where subscription_id = ${subscriptionId}`
  assert.equal(row?.['status'], 'PENDING')
  assert.equal(row?.['intervalCount'], 2)
  assert.equal(row?.['originHost'], 'shop.example')
  const events = await db<{ eventId: string; body: string }[]>`
    select event_id, body from events where subscription_id = ${subscriptionId}`
  assert.deepEqual(
    events.map(({ eventId }) => eventId),
    [`${subscriptionId}:subscription.created`],
  )
  const { data } = JSON.parse(events[0]?.body ?? '')
  assert.match(data.renewUrl, /^https:\/\/pay\.example\/renew\/renew_[0-9a-z]{64}$/)
  delete data.renewUrl
  assert.deepEqual(data, {
    subscriptionId,
    storeId: seller.store.storeId,
    mode: 'test',
    priceId: price.priceId,
    status: 'PENDING',
    network: 'base',
    token: 'usdc',
    amount: '10.50',
    interval: 'MONTH',
    buyerEmail: 'ann@x.test',
    metadata: { a: 'b' },
  })
})

test('a recurring checkout that finds no wallet leaves no subscription', async () => {
  const { db } = api.database
  const of = await seedStore(db, { wallets: [], price: { interval: 'YEAR' } })
  assertError(await checkout({}, {}, { of, mode: 'test' }), 422, 'no_wallet', 'network')
  const rows = await db`select from subscriptions where store_id = ${of.store.storeId}`
  assert.equal(rows.length, 0)
})
