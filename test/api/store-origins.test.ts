import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const put = ({ store, keys }: SeededStore, host: string, status: string, key = keys.live.secret) =>
  api.call('PUT', `/v1/stores/${store.storeId}/origins/${encodeURIComponent(host)}`, {
    key,
    body: { status },
  })
const list = ({ store, keys }: SeededStore, query = '') =>
  api.call('GET', `/v1/stores/${store.storeId}/origins${query}`, { key: keys.live.secret })
const info = ({ keys }: SeededStore, origin: string) =>
  api.call('POST', '/v1/checkout/info', {
    body: { publishableKey: keys.live.publishable, amount: 100 },
    headers: { Origin: origin },
  })

test('PUT 200 rejects a host and its sub-domains at the next checkout, until it is approved', async () => {
  const seller = await seedStore(api.database.db)
  assert.equal((await info(seller, 'https://www.evil.example')).status, 200)
  const { status, body } = await put(seller, 'Evil.Example.', 'REJECTED')
  assert.equal(status, 200)
  const { createdAt, ...rest } = body
  assert.ok(createdAt)
  assert.deepEqual(rest, { host: 'evil.example', status: 'REJECTED', firstConfirmedAt: null })
  for (const origin of ['https://evil.example', 'https://www.evil.example:8443']) {
    assertError(await info(seller, origin), 403, 'origin_not_allowed')
  }
  assert.equal((await info(seller, 'https://notevil.example')).status, 200)
  const approved = await put(seller, 'evil.example', 'APPROVED')
  assert.equal(approved.body.createdAt, createdAt)
  assert.equal((await info(seller, 'https://evil.example')).status, 200)
})

test('GET 200 pages through origins, newest first, by status too', async () => {
  const seller = await seedStore(api.database.db)
  const hosts = ['a.example', 'b.example', 'c.example', 'xn--bcher-kva.example']
  for (const host of hosts) {
    await put(seller, host === 'xn--bcher-kva.example' ? 'bücher.example' : host, 'REJECTED')
  }
  await put(seller, 'b.example', 'APPROVED')
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await list(seller, `?limit=1${cursor}`)
    seen.push(...body.data.map((origin: { host: string }) => origin.host))
    cursor = body.hasMore ? `&cursor=${body.nextCursor}` : ''
  } while (cursor !== '')
  assert.deepEqual(seen, hosts.reverse())
  const approved = await list(seller, '?status=APPROVED')
  assert.deepEqual(
    approved.body.data.map((origin: { host: string }) => origin.host),
    ['b.example'],
  )
})

test('PUT 404 origin_not_found for what is no host', async () => {
  const seller = await seedStore(api.database.db)
  for (const host of ['https://a.example', 'a.example:8080', 'a b', 'a/b', '%', 'a@b']) {
    assertError(await put(seller, host, 'REJECTED'), 404, 'origin_not_found')
  }
})

test('PUT 400 invalid_request for another status', async () => {
  const seller = await seedStore(api.database.db)
  assertError(await put(seller, 'a.example', 'BLOCKED'), 400, 'invalid_request', 'status')
})

test('PUT 403 mode_mismatch for a test key of a store with a live wallet, 200 without one', async () => {
  const live = await seedStore(api.database.db)
  const refused = await put(live, 'a.example', 'REJECTED', live.keys.test.secret)
  assertError(refused, 403, 'mode_mismatch')
  const wallets = [{ network: 'base', address: randomEvmAddress() }]
  const fresh = await seedStore(api.database.db, { wallets })
  assert.equal((await put(fresh, 'a.example', 'REJECTED', fresh.keys.test.secret)).status, 200)
})
