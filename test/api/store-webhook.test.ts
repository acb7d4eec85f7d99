import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { after, before, test } from 'node:test'
import { openWebhookSecret } from '#shared/webhook-secret.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'

/** A public address, so that no test depends on a resolver. */
const URL_A = 'https://93.184.216.34/hook'
const URL_B = 'https://93.184.216.34:8443/other?x=1'
let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

type Method = 'GET' | 'PUT' | 'DELETE' | 'POST'
const call = (
  { store, keys }: SeededStore,
  method: Method,
  action = '',
  body?: unknown,
  mode: 'test' | 'live' = 'live',
) =>
  api.call(method, `/v1/stores/${store.storeId}/webhook${action}`, {
    key: keys[mode].secret,
    ...(body === undefined ? {} : { body }),
  })
/** What the dispatcher would sign with. */
async function activeSecrets(storeId: string): Promise<string[]> {
  const rows = await api.database.db<{ ciphertext: Uint8Array }[]>`
    select ciphertext from webhook_secrets
    where store_id = ${storeId} and (expires_at is null or expires_at > service_now())
    order by webhook_secret_id desc`
  return rows.map(({ ciphertext }) => openWebhookSecret(api.deps.keyring, storeId, ciphertext))
}

test('PUT 200 shows the secret the first time, and later keeps it unseen', async () => {
  const seller = await seedStore(api.database.db)
  const { storeId } = seller.store
  const first = await call(seller, 'PUT', '', { url: URL_A })
  assert.equal(first.status, 200)
  const { secret } = first.body
  assert.match(secret, /^whsec_[0-9a-f]{64}$/)
  assert.equal(first.body.url, URL_A)
  assert.deepEqual(await activeSecrets(storeId), [secret])
  const second = await call(seller, 'PUT', '', { url: URL_B })
  assert.equal(second.body.url, URL_B)
  assert.ok(!('secret' in second.body))
  const read = await call(seller, 'GET')
  assert.deepEqual(read.body, second.body)
  assert.deepEqual(
    read.body.secrets.map((one: { secret: string }) => one.secret),
    [`whsec_…${secret.slice(-4)}`],
  )
  assert.ok(!read.text.includes(secret))
  const rows = await api.database.db.unsafe('select t::text as text from webhook_secrets t')
  assert.ok(
    rows.every(
      ({ text }) => !text.includes(secret) && !text.includes(Buffer.from(secret).toString('hex')),
    ),
  )
})

test('PUT 200 to ten at once on a new store shows one secret to one of them', async () => {
  const seller = await seedStore(api.database.db)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => call(seller, 'PUT', '', { url: URL_A })),
  )
  const shown = answers.flatMap(({ body }) => ('secret' in body ? [body.secret] : []))
  assert.equal(shown.length, 1)
  assert.deepEqual(await activeSecrets(seller.store.storeId), shown)
})

test('PUT 400 invalid_request for a URL that webhooks must not reach', async () => {
  const seller = await seedStore(api.database.db)
  for (const url of [
    'http://93.184.216.34/',
    'ftp://shop.example/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'not a url',
    '',
    'https://user:pass@shop.example/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/',
    'https://93.184.216.34:22/',
    `https://${hostname()}.localhost/`,
  ]) {
    assertError(await call(seller, 'PUT', '', { url }), 400, 'invalid_request', 'url')
  }
  assert.equal((await call(seller, 'GET')).body.url, null)
})

test('PUT 200 takes http and private addresses where the operator allows them', async () => {
  const lax = await startTestApi({ config: { webhookAllowPrivate: true } })
  try {
    const { store, keys } = await seedStore(lax.database.db)
    const path = `/v1/stores/${store.storeId}/webhook`
    const body = { url: 'http://127.0.0.1:4000/hook' }
    const answer = await lax.call('PUT', path, { key: keys.live.secret, body })
    assert.equal(answer.body.url, body.url)
  } finally {
    await lax.close()
  }
})

test('DELETE 204 removes URL and secret; the next PUT shows a new one', async () => {
  const seller = await seedStore(api.database.db)
  const { secret } = (await call(seller, 'PUT', '', { url: URL_A })).body
  const answer = await call(seller, 'DELETE')
  assert.deepEqual([answer.status, answer.text], [204, ''])
  const { storeId } = seller.store
  assert.deepEqual((await call(seller, 'GET')).body, { storeId, url: null, secrets: [] })
  assert.equal((await call(seller, 'DELETE')).status, 204)
  const next = (await call(seller, 'PUT', '', { url: URL_A })).body.secret
  assert.match(next, /^whsec_/)
  assert.notEqual(next, secret)
})

test('rotate 200 shows a new secret, and the old one signs beside it for the overlap', async () => {
  const seller = await seedStore(api.database.db)
  const { storeId } = seller.store
  const first = (await call(seller, 'PUT', '', { url: URL_A })).body.secret
  const rotated = await call(seller, 'POST', '/rotate', { overlapHours: 2 })
  assert.equal(rotated.status, 200)
  const second = rotated.body.secret
  assert.deepEqual(await activeSecrets(storeId), [second, first])
  assert.deepEqual(
    rotated.body.secrets.map((one: { expiresAt: string | null }) => one.expiresAt === null),
    [true, false],
  )
  await travel(api.database, '3 hours')
  assert.deepEqual(await activeSecrets(storeId), [second])
  assert.equal((await call(seller, 'GET')).body.secrets.length, 1)
  await travel(api.database, '0')
})

test('rotate 200 ends the overlap before it: at most two secrets sign', async () => {
  const seller = await seedStore(api.database.db)
  const { storeId } = seller.store
  await call(seller, 'PUT', '', { url: URL_A })
  const second = (await call(seller, 'POST', '/rotate')).body.secret
  const third = (await call(seller, 'POST', '/rotate', {})).body.secret
  assert.deepEqual(await activeSecrets(storeId), [third, second])
  const fourth = (await call(seller, 'POST', '/rotate', { overlapHours: 0 })).body.secret
  assert.deepEqual(await activeSecrets(storeId), [fourth])
})

test('rotate 400 invalid_request for an overlap out of range, and without a webhook', async () => {
  const seller = await seedStore(api.database.db)
  assertError(await call(seller, 'POST', '/rotate'), 400, 'invalid_request')
  await call(seller, 'PUT', '', { url: URL_A })
  for (const overlapHours of [-1, 169, 1.5, '24']) {
    const answer = await call(seller, 'POST', '/rotate', { overlapHours })
    assertError(answer, 400, 'invalid_request', 'overlapHours')
  }
})

test('test 200 emits webhook.test in the caller’s mode, a new event each time', async () => {
  const seller = await seedStore(api.database.db)
  await call(seller, 'PUT', '', { url: URL_A })
  const ids = new Set<string>()
  for (const mode of ['test', 'live'] as const) {
    const { status, body } = await call(seller, 'POST', '/test', undefined, mode)
    assert.equal(status, 200)
    assert.match(body.id, /^evt_[0-9a-z]{38}:webhook\.test$/)
    assert.equal(body.type, 'webhook.test')
    assert.equal(body.apiVersion, '2026-07-02')
    assert.equal(body.data.mode, mode)
    assert.equal(body.data.storeId, seller.store.storeId)
    ids.add(body.id)
    const [row] = await api.database.db`
      select mode, body from events where event_id = ${body.id}`
    assert.equal(row?.['mode'], mode)
    assert.deepEqual(JSON.parse(row?.['body']), body)
  }
  assert.equal(ids.size, 2)
})

test('test 400 invalid_request without a webhook', async () => {
  assertError(await call(await seedStore(api.database.db), 'POST', '/test'), 400, 'invalid_request')
})

test('PUT, DELETE and rotate 403 mode_mismatch for a test key of a store with a live wallet', async () => {
  const live = await seedStore(api.database.db)
  await call(live, 'PUT', '', { url: URL_A })
  assertError(await call(live, 'PUT', '', { url: URL_B }, 'test'), 403, 'mode_mismatch')
  assertError(await call(live, 'DELETE', '', undefined, 'test'), 403, 'mode_mismatch')
  assertError(await call(live, 'POST', '/rotate', {}, 'test'), 403, 'mode_mismatch')
  assert.equal((await call(live, 'GET', '', undefined, 'test')).body.url, URL_A)
  const wallets = [{ network: 'base', address: randomEvmAddress() }]
  const fresh = await seedStore(api.database.db, { wallets })
  assert.equal((await call(fresh, 'PUT', '', { url: URL_A }, 'test')).status, 200)
  assert.equal((await call(fresh, 'POST', '/rotate', {}, 'test')).status, 200)
  assert.equal((await call(fresh, 'DELETE', '', undefined, 'test')).status, 204)
})
