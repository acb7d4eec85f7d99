import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { after, before, test } from 'node:test'
import { type Answer, assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'
import { seedLogin } from '../support/seller.ts'

let api: TestApi
let seller: SeededStore
let count = 0

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, {
    wallets: [{ network: 'base', address: randomEvmAddress() }],
  })
})
after(() => api.close())

function nextKey(): string {
  count += 1
  return `order-${count}`
}

function post(
  path: string,
  idempotencyKey: string,
  body?: object,
  key = seller.keys.test.secret,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return api.call('POST', `/v1/stores/${seller.store.storeId}${path}`, {
    key,
    headers: { 'Idempotency-Key': idempotencyKey, ...headers },
    ...(body === undefined ? {} : { body }),
  })
}

const product = (name = 'Beans') => ({ name })
const isReplayed = (answer: Answer) => answer.headers.get('idempotent-replayed')

async function productCount(): Promise<number> {
  const [row] = await api.database.db<[{ count: number }]>`
    select count(*)::integer as count from products`
  return row.count
}

test('201 the same answer again with Idempotent-Replayed, and nothing made twice', async () => {
  const key = nextKey()
  const first = await post('/products', key, product())
  const before = await productCount()
  const again = await post('/products', key, product())
  assert.deepEqual([first.status, isReplayed(first)], [201, null])
  assert.deepEqual([again.status, isReplayed(again)], [201, 'true'])
  assert.equal(again.text, first.text)
  assert.equal(await productCount(), before)
})

test('409 idempotency_mismatch for another body or another path', async () => {
  const key = nextKey()
  await post('/products', key, product())
  assertError(await post('/products', key, product('Leaves')), 409, 'idempotency_mismatch')
  assertError(await post('/keys', key, { kind: 'SECRET' }), 409, 'idempotency_mismatch')
})

test('an error is given again too', async () => {
  const key = nextKey()
  const body = { productId: 'prod_unknown', amountCents: 100 }
  assertError(await post('/prices', key, body), 404, 'product_not_found', 'productId')
  const again = await post('/prices', key, body)
  assertError(again, 404, 'product_not_found', 'productId')
  assert.equal(isReplayed(again), 'true')
})

test('a request that was refused unread may be corrected under the same key', async () => {
  const key = nextKey()
  assertError(await post('/products', key, { name: 5 }), 400, 'invalid_request', 'name')
  assert.equal((await post('/products', key, product())).status, 201)
})

test('of twenty at once one is executed, and all get its answer', { timeout: 30_000 }, async () => {
  const key = nextKey()
  const before = await productCount()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post('/products', key, product())),
  )
  assert.equal(await productCount(), before + 1)
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal(answers.filter((answer) => isReplayed(answer) === null).length, 1)
})

test('keys are one’s own: another mode, another store and a login are not answered from them', async () => {
  const key = nextKey()
  const first = await post('/products', key, product())
  const live = await post('/products', key, product(), seller.keys.live.secret)
  const login = await seedLogin(api.database.db, seller.account.accountId)
  const byLogin = await post('/products', key, product(), login)
  const ids = [first, live, byLogin].map(({ body }) => body.productId)
  assert.equal(new Set(ids).size, 3)
  assert.equal((await post('/products', key, product(), login)).body.productId, ids[2])
})

test('a secret shown once is shown again, and is nowhere in the database in clear', async () => {
  const key = nextKey()
  const first = await post('/keys', key, { kind: 'SECRET' })
  const again = await post('/keys', key, { kind: 'SECRET' })
  assert.equal(again.body.key, first.body.key)
  const rows = await api.database.db<{ answer: Uint8Array }[]>`
    select answer from idempotent_requests where answer is not null`
  for (const { answer } of rows) assert.equal(Buffer.from(answer).includes(first.body.key), false)
})

test('400 invalid_request for a key that is none', async () => {
  for (const key of ['x'.repeat(256), 'a b', '']) {
    const answer = await post('/products', key, product())
    assertError(answer, 400, 'invalid_request', 'Idempotency-Key')
  }
})

test('a checkout is never idempotent', async () => {
  const { publishable } = seller.keys.test
  const body = { publishableKey: publishable, amount: 500, network: 'base', token: 'usdc' }
  const headers = { 'Idempotency-Key': nextKey(), Origin: 'https://shop.example' }
  const one = await api.call('POST', '/v1/checkout', { body, headers })
  const other = await api.call('POST', '/v1/checkout', { body, headers })
  assert.notEqual(one.body.paymentId, other.body.paymentId)
})

test('a request whose process died is executed by a later one', async () => {
  const key = nextKey()
  const first = await post('/products', key, product())
  await api.database.db`
    update idempotent_requests set answer = null, claimed_until = service_now() - interval '1 second'`
  const again = await post('/products', key, product())
  assert.equal(again.status, 201)
  assert.notEqual(again.body.productId, first.body.productId)
})

test('after 24 hours the key is new again, and old rows are gone', {
  timeout: 30_000,
}, async () => {
  const key = nextKey()
  const first = await post('/products', key, product())
  await travel(api.database, '25 hours')
  const again = await post('/products', key, product('Leaves'))
  assert.equal(again.status, 201)
  assert.notEqual(again.body.productId, first.body.productId)
  for (let index = 0; index < 3; index += 1) await post('/products', nextKey(), product())
  const [row] = await api.database.db<[{ count: number }]>`
    select count(*)::integer as count from idempotent_requests`
  assert.equal(row.count, 4)
})
