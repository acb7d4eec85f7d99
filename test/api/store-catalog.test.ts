import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedPrice, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

/** A call below the seller's store, with the test key unless told otherwise. */
function ask(method: string, path: string, body?: unknown, mode: 'test' | 'live' = 'test') {
  const options = body === undefined ? {} : { body }
  return api.call(method, `/v1/stores/${seller.store.storeId}/${path}`, {
    key: seller.keys[mode].secret,
    ...options,
  })
}

async function makeProduct(body: object = {}, mode: 'test' | 'live' = 'test') {
  const answer = await ask('POST', 'products', { name: 'Tea', ...body }, mode)
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

async function makePrice(body: object = {}) {
  const { productId } = await makeProduct()
  return ask('POST', 'prices', { productId, amountCents: 1999, ...body })
}

test('POST products 201 answers the product, absent what was not set', async () => {
  const { productId, createdAt, ...rest } = await makeProduct()
  assert.match(productId, /^prod_/)
  assert.ok(Date.parse(createdAt) > 0)
  assert.deepEqual(rest, { mode: 'test', name: 'Tea', active: true })
  const full = { description: 'Green', imageUrl: 'https://a.test/i.png', metadata: { sku: '1' } }
  const { productId: _id, createdAt: _at, ...all } = await makeProduct(full, 'live')
  assert.deepEqual(all, { mode: 'live', name: 'Tea', ...full, active: true })
})

test('POST products 400 names the field that is wrong', async () => {
  const wrong: [object, string][] = [
    [{ name: undefined }, 'name'],
    [{ name: '   ' }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ imageUrl: 'javascript:alert(1)' }, 'imageUrl'],
    [{ imageUrl: 'https://user:pass@a.test/' }, 'imageUrl'],
    [{ imageUrl: 'ht\ntps://a.test/' }, 'imageUrl'],
    [{ metadata: { a: 1 } }, 'metadata.a'],
    [{ metadata: { a: 'x'.repeat(2_048) } }, 'metadata'],
    [{ colour: 'red' }, 'colour'],
  ]
  for (const [change, param] of wrong) {
    const answer = await ask('POST', 'products', { name: 'Tea', ...change })
    assertError(answer, 400, 'invalid_request', param)
  }
})

test('PATCH products 200 changes what it names, and null empties', async () => {
  const { productId } = await makeProduct({ description: 'Green', metadata: { a: 'b' } })
  const path = `products/${productId}`
  const archived = await ask('PATCH', path, { active: false, description: null })
  assert.equal(archived.status, 200, archived.text)
  assert.equal(archived.body.active, false)
  assert.ok(!('description' in archived.body))
  assert.deepEqual(archived.body.metadata, { a: 'b' })
  assert.deepEqual((await ask('PATCH', path, {})).body, archived.body)
  const named = await ask('PATCH', path, { name: 'Coffee', metadata: null })
  assert.equal(named.body.name, 'Coffee')
  assert.deepEqual((await ask('GET', path)).body, named.body)
})

test('PATCH products 200 with active false: none of its prices is sold until it is back', async () => {
  const { productId } = await makeProduct()
  const price = { productId, amountCents: 500 }
  const before = (await ask('POST', 'prices', price)).body
  const archive = (active: boolean) => ask('PATCH', `products/${productId}`, { active })
  assert.equal((await archive(false)).status, 200)
  const after = (await ask('POST', 'prices', price)).body
  const sellAll = async (priceId: string) => {
    const body = { publishableKey: seller.keys.test.publishable, priceId }
    return [
      await api.call('POST', '/v1/checkout/info', { body }),
      await api.call('POST', '/v1/checkout', { body: { ...body, network: 'base', token: 'usdc' } }),
      await ask('POST', 'payment-links', { priceId }),
      await api.call('POST', '/v1/checkout/sessions', {
        key: seller.keys.test.secret,
        body: { priceId },
      }),
    ]
  }
  const refuseAll = async (priceId: string) => {
    for (const { status, body } of await sellAll(priceId)) {
      assert.deepEqual([status, body.error?.code], [409, 'price_inactive'])
    }
  }
  for (const { priceId, active } of [before, after]) {
    assert.equal(active, true)
    await refuseAll(priceId)
  }
  await ask('PATCH', `prices/${after.priceId}`, { active: false })
  assert.equal((await archive(true)).status, 200)
  for (const { status, text } of await sellAll(before.priceId)) assert.ok(status < 300, text)
  await refuseAll(after.priceId)
})

test('GET products pages newest first without skipping or repeating while others are added', async () => {
  seller = await seedStore(api.database.db)
  const made: string[] = [seller.price.productId]
  for (let index = 0; index < 6; index += 1) {
    made.unshift((await makeProduct({ name: `P${index}` }, index % 2 ? 'live' : 'test')).productId)
  }
  const walked: string[] = []
  let cursor = ''
  for (;;) {
    const page = await ask('GET', `products?limit=2${cursor}`, undefined, 'live')
    assert.equal(page.status, 200, page.text)
    walked.push(...page.body.data.map((row: { productId: string }) => row.productId))
    await makeProduct({ name: 'later' })
    assert.equal(page.body.hasMore, page.body.nextCursor !== null)
    if (!page.body.hasMore) break
    cursor = `&cursor=${page.body.nextCursor}`
  }
  assert.deepEqual(
    walked,
    made.toSorted((a, b) => (a > b ? -1 : 1)),
  )
  const live = await ask('GET', 'products?mode=live', undefined, 'live')
  assert.deepEqual(
    live.body.data.map((row: { name: string }) => row.name),
    ['P5', 'P3', 'P1'],
  )
  assertError(await ask('GET', 'products?mode=live'), 403, 'mode_mismatch')
  assertError(await ask('GET', 'products?limit=0'), 400, 'invalid_request', 'limit')
  assertError(await ask('GET', 'products?cursor=nonsense'), 400, 'invalid_request', 'cursor')
})

test('404 product_not_found for unknown, malformed and live ids alike', async () => {
  const { productId } = await makeProduct({}, 'live')
  for (const id of [newId('prod'), 'nonsense', 'prod_%00', productId]) {
    assertError(await ask('GET', `products/${id}`), 404, 'product_not_found')
    assertError(await ask('PATCH', `products/${id}`, { active: false }), 404, 'product_not_found')
  }
})

test('a live key reads test objects and changes live ones alone', async () => {
  const { productId } = await makeProduct()
  assert.equal((await ask('GET', `products/${productId}`, undefined, 'live')).status, 200)
  const answer = await ask('PATCH', `products/${productId}`, { active: false }, 'live')
  assertError(answer, 404, 'product_not_found')
})

test('POST prices 201 answers the price in dollars and cents', async () => {
  const { status, body } = await makePrice()
  assert.equal(status, 201)
  const { priceId, productId, createdAt, ...rest } = body
  assert.match(priceId, /^price_/)
  assert.ok(productId && createdAt)
  assert.deepEqual(rest, {
    ...{ mode: 'test', amount: '19.99', amountCents: 1999, currency: 'usd', active: true },
  })
})

test('POST prices 201 takes an interval, networks and tokens', async () => {
  const terms = { interval: 'MONTH', intervalCount: 3, networks: ['base', 'bnb'], tokens: ['usdt'] }
  const { body } = await makePrice(terms)
  const { interval, intervalCount, networks, tokens } = body
  assert.deepEqual({ interval, intervalCount, networks, tokens }, terms)
  assert.equal((await makePrice({ interval: 'YEAR' })).body.intervalCount, 1)
})

test('POST prices 400 names the field that is wrong', async () => {
  const wrong: [object, string][] = [
    [{ amountCents: 0 }, 'amountCents'],
    [{ amountCents: '5' }, 'amountCents'],
    [{ amountCents: 1.5 }, 'amountCents'],
    [{ amountCents: 100_000_001 }, 'amountCents'],
    [{ interval: 'month' }, 'interval'],
    [{ intervalCount: 2 }, 'intervalCount'],
    [{ interval: 'YEAR', intervalCount: 4 }, 'intervalCount'],
    [{ networks: [] }, 'networks'],
    [{ networks: ['base', 'base'] }, 'networks'],
    [{ tokens: ['dai'] }, 'tokens.0'],
  ]
  for (const [change, param] of wrong) {
    assertError(await makePrice(change), 400, 'invalid_request', param)
  }
})

test('POST prices 404 product_not_found for a product of the other mode or nobody', async () => {
  const live = await makeProduct({}, 'live')
  for (const productId of [newId('prod'), live.productId, 'x']) {
    const answer = await ask('POST', 'prices', { productId, amountCents: 1 })
    assertError(answer, 404, 'product_not_found', 'productId')
  }
})

test('POST prices 422 network_not_accepted when there is no such network', async () => {
  const answer = await makePrice({ networks: ['base', 'dogecoin'] })
  assertError(answer, 422, 'network_not_accepted', 'networks.1')
})

test('POST prices 422 token_not_accepted when none of the networks has the token', async () => {
  const answer = await makePrice({ networks: ['base'], tokens: ['usdc', 'usdt'] })
  assertError(answer, 422, 'token_not_accepted', 'tokens.1')
})

test('PATCH prices 200 archives, and 400 for a change of the amount', async () => {
  const { priceId } = (await makePrice()).body
  const answer = await ask('PATCH', `prices/${priceId}`, { active: false })
  assert.equal(answer.body.active, false)
  const change = await ask('PATCH', `prices/${priceId}`, { amountCents: 1 })
  assertError(change, 400, 'invalid_request', 'amountCents')
  assert.deepEqual((await ask('GET', `prices/${priceId}`)).body, answer.body)
  assert.ok((await ask('GET', 'prices')).body.data.length > 0)
})

test('404 price_not_found when nobody has that price', async () => {
  assertError(await ask('GET', `prices/${newId('price')}`), 404, 'price_not_found')
  assertError(await ask('PATCH', 'prices/no', { active: true }), 404, 'price_not_found')
})

test('POST payment-links 201 has the url of the hosted page', async () => {
  const { priceId } = seller.price
  const answer = await ask('POST', 'payment-links', { priceId, metadata: { campaign: 'x' } })
  assert.equal(answer.status, 201, answer.text)
  const { paymentLinkId, createdAt, ...rest } = answer.body
  assert.ok(createdAt)
  assert.deepEqual(rest, {
    ...{ mode: 'test', priceId, metadata: { campaign: 'x' }, active: true },
    url: `https://pay.example/l/${paymentLinkId}`,
  })
  assert.deepEqual((await ask('GET', `payment-links/${paymentLinkId}`)).body, answer.body)
  const { data } = (await ask('GET', 'payment-links')).body
  assert.deepEqual(data[0], answer.body)
})

test('PATCH payment-links 200 archives a link, and checkouts of it are refused', async () => {
  const { priceId } = seller.price
  const made = (await ask('POST', 'payment-links', { priceId })).body
  const path = `payment-links/${made.paymentLinkId}`
  assert.equal((await ask('PATCH', path, { active: false })).body.active, false)
  const checkout = await api.call('POST', '/v1/checkout/info', {
    body: { publishableKey: seller.keys.test.publishable, paymentLinkId: made.paymentLinkId },
  })
  assertError(checkout, 409, 'link_inactive')
})

test('POST payment-links 404 price_not_found and 409 price_inactive', async () => {
  const { db } = api.database
  const live = await seedPrice(db, seller.store.storeId, { mode: 'live' })
  for (const priceId of [newId('price'), live.priceId]) {
    const answer = await ask('POST', 'payment-links', { priceId })
    assertError(answer, 404, 'price_not_found', 'priceId')
  }
  const { priceId } = (await makePrice()).body
  await ask('PATCH', `prices/${priceId}`, { active: false })
  assertError(await ask('POST', 'payment-links', { priceId }), 409, 'price_inactive', 'priceId')
})

test('404 payment_link_not_found when nobody has that link', async () => {
  const path = `payment-links/${newId('plink')}`
  assertError(await ask('GET', path), 404, 'payment_link_not_found')
  assertError(await ask('PATCH', path, { active: true }), 404, 'payment_link_not_found')
})
