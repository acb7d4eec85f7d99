import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { after, before, test } from 'node:test'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

const LIMIT = 5
let api: TestApi
let seller: SeededStore

before(async () => {
  const trustedProxies = new BlockList()
  trustedProxies.addSubnet('127.0.0.0', 8, 'ipv4')
  api = await startTestApi({ config: { rateLimitCheckout: LIMIT, trustedProxies } })
  seller = await seedStore(api.database.db)
})
after(() => api.close())

function checkout(ip: string, changes: Record<string, unknown> = {}) {
  const body = {
    publishableKey: seller.keys.test.publishable,
    priceId: seller.price.priceId,
    network: 'base',
    token: 'usdc',
    ...changes,
  }
  return api.call('POST', '/v1/checkout', { body, headers: { 'X-Forwarded-For': ip } })
}

async function countOf(ip: string): Promise<number | undefined> {
  const [row] = await api.database.db<{ requestCount: number }[]>`
    select request_count from rate_windows where rate_key = ${`checkout:${ip}`}`
  return row?.requestCount
}

test('429 rate_limited past the limit of well-formed requests per minute and address', async () => {
  for (let count = 1; count <= LIMIT; count += 1) {
    const answer = await checkout('198.51.100.1')
    assert.equal(answer.status, 201)
    assert.equal(answer.headers.get('ratelimit-limit'), String(LIMIT))
    assert.equal(answer.headers.get('ratelimit-remaining'), String(LIMIT - count))
  }
  const answer = await checkout('198.51.100.1')
  assertError(answer, 429, 'rate_limited')
  const resetSeconds = Number(answer.headers.get('ratelimit-reset'))
  assert.ok(resetSeconds >= 50 && resetSeconds <= 60, String(resetSeconds))
  assert.equal(answer.headers.get('retry-after'), String(resetSeconds))
  assert.equal(answer.headers.get('ratelimit-remaining'), '0')
  assert.equal((await checkout('198.51.100.2')).status, 201, 'others are not touched')
})

test('a flood past the limit costs the database nothing', async () => {
  const ip = '198.51.100.3'
  for (let count = 0; count <= LIMIT; count += 1) await checkout(ip)
  const before = await countOf(ip)
  for (let count = 0; count < 20; count += 1) {
    assertError(await checkout(ip), 429, 'rate_limited')
  }
  assert.equal(await countOf(ip), before)
})

test('malformed requests do not count, refused well-formed ones do', async () => {
  const ip = '198.51.100.4'
  for (let count = 0; count < LIMIT + 2; count += 1) {
    assertError(await checkout(ip, { token: 'dai' }), 400, 'invalid_request', 'token')
  }
  assert.equal(await countOf(ip), undefined)
  for (let count = 0; count < LIMIT; count += 1) {
    assertError(await checkout(ip, { publishableKey: 'pk_test_x' }), 401, 'invalid_api_key')
  }
  assertError(await checkout(ip, { publishableKey: 'pk_test_x' }), 429, 'rate_limited')
})

test('addresses of one IPv6 /64 are one caller', async () => {
  for (let count = 0; count < LIMIT; count += 1) {
    assert.equal((await checkout(`2001:db8:0:7::${count + 1}`)).status, 201)
  }
  assertError(await checkout('2001:db8:0:7:ffff::1'), 429, 'rate_limited')
  assert.equal((await checkout('2001:db8:0:8::1')).status, 201)
})

test('what a caller writes left of the proxy’s hop does not change who it is', async () => {
  for (let count = 0; count < LIMIT; count += 1) {
    assert.equal((await checkout(`10.1.1.${count}, 198.51.100.5`)).status, 201)
  }
  assertError(await checkout('10.9.9.9, 198.51.100.5'), 429, 'rate_limited')
})

test('a new minute begins a new count', async () => {
  const ip = '198.51.100.6'
  for (let count = 0; count < LIMIT; count += 1) assert.equal((await checkout(ip)).status, 201)
  await travel(api.database, '61 seconds')
  try {
    const answer = await checkout(ip)
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.headers.get('ratelimit-remaining'), String(LIMIT - 1))
  } finally {
    await travel(api.database, '0')
  }
})
