import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Type } from '@sinclair/typebox'
import { hashSecret, newSecret } from '#shared/crypto.ts'
import { newId } from '#shared/ids.ts'
import { type App, createApp } from '../../api/app.ts'
import { endpoint } from '../../api/endpoint.ts'
import { type Answer, assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

let api: TestApi
let app: App
let seller: SeededStore
let login: string

/** The smallest endpoints of both styles: they answer who is calling. */
const ENDPOINTS = (['GET', 'POST'] as const).flatMap((method) => [
  endpoint({
    ...{ method, path: '/v1/me', auth: 'seller', summary: 'Who calls' },
    ...(method === 'POST'
      ? {
          schemas: { body: Type.Object({}, { additionalProperties: false }) },
          isBodyOptional: true,
        }
      : {}),
    handle: (_, { caller }) => caller,
  }),
  endpoint({
    ...{ method, path: '/v1/stores/:storeId/me', auth: 'store', summary: 'Who calls' },
    handle: (_, { caller }) => caller,
  }),
])

before(async () => {
  api = await startTestApi()
  app = createApp(api.deps, ENDPOINTS)
  seller = await seedStore(api.database.db)
  login = await seedLogin(seller.account.accountId, '1 hour')
})
after(() => api.close())

async function seedLogin(accountId: string, lifetime: string): Promise<string> {
  const token = newSecret('sess')
  await api.database.db`
    insert into login_sessions (token_hash, account_id, expires_at)
    values (${hashSecret(token)}, ${accountId}, service_now() + ${lifetime}::interval)`
  return token
}

async function ask(
  path: string,
  key: string | undefined,
  {
    method = 'GET',
    headers = {},
    body,
  }: Partial<{ method: string; headers: object; body: object }> = {},
): Promise<Answer> {
  const response = await app.fetch(
    new Request(`http://localhost/v1${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
    '203.0.113.1',
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: JSON.parse(text), text }
}

test('a secret key is its store and mode: test sees test, live sees both', async () => {
  const own = { kind: 'KEY', accountId: seller.account.accountId, storeId: seller.store.storeId }
  const inTest = await ask('/me', seller.keys.test.secret)
  assert.deepEqual(inTest.body, { ...own, mode: 'test', modes: ['test'] })
  const inLive = await ask('/me', seller.keys.live.secret)
  assert.deepEqual(inLive.body, { ...own, mode: 'live', modes: ['live', 'test'] })
  const headers = { Authorization: `bearer ${seller.keys.test.secret}` }
  assert.deepEqual((await ask('/me', undefined, { headers })).body, inTest.body)
})

test('a login token is its account, in test mode unless X-Service-Mode says live', async () => {
  const own = { kind: 'LOGIN', accountId: seller.account.accountId }
  assert.deepEqual((await ask('/me', login)).body, { ...own, mode: 'test', modes: ['test'] })
  const live = await ask('/me', login, { headers: { 'X-Service-Mode': 'live' } })
  assert.deepEqual(live.body, { ...own, mode: 'live', modes: ['live', 'test'] })
  const second = await seedStore(api.database.db, { accountId: seller.account.accountId })
  for (const { storeId } of [seller.store, second.store]) {
    assert.equal((await ask(`/stores/${storeId}/me`, login)).body.storeId, storeId)
  }
})

test('401 invalid_api_key when missing, malformed, unknown, revoked, expired or of the wrong kind', async () => {
  const expired = await seedLogin(seller.account.accountId, '-1 second')
  const { secret } = seller.keys.test
  for (const key of [
    undefined,
    '',
    'sk_test_x',
    newSecret('sk_test'),
    newSecret('sk_live'),
    newSecret('sess'),
    expired,
    seller.keys.test.publishable,
    secret.replace('sk_test', 'sk_live'),
    `${secret}x`,
    ` ${secret}`,
  ]) {
    assertError(await ask('/me', key), 401, 'invalid_api_key')
    assertError(await ask(`/stores/${seller.store.storeId}/me`, key), 401, 'invalid_api_key')
  }
  const basic = { Authorization: `Basic ${btoa(`${secret}:`)}` }
  assertError(await ask('/me', undefined, { headers: basic }), 401, 'invalid_api_key')
})

test('revocation is immediate', async () => {
  const other = await seedStore(api.database.db)
  assert.equal((await ask('/me', other.keys.live.secret)).status, 200)
  await api.database.db`
    update keys set revoked_at = service_now() where store_id = ${other.store.storeId}`
  assertError(await ask('/me', other.keys.live.secret), 401, 'invalid_api_key')
})

test('404 store_not_found for another seller’s store and an unknown one: both look the same', async () => {
  const other = await seedStore(api.database.db)
  const messages = new Set<string>()
  for (const key of [seller.keys.test.secret, seller.keys.live.secret, login]) {
    for (const storeId of [other.store.storeId, newId('store'), 'x', "store_'"]) {
      const answer = await ask(`/stores/${storeId}/me`, key)
      assertError(answer, 404, 'store_not_found')
      messages.add(answer.body.error.message)
    }
  }
  assert.equal(messages.size, 1)
})

test('404 store_not_found for a key of another store of the same account', async () => {
  const second = await seedStore(api.database.db, { accountId: seller.account.accountId })
  const answer = await ask(`/stores/${second.store.storeId}/me`, seller.keys.live.secret)
  assertError(answer, 404, 'store_not_found')
})

test('403 mode_mismatch when a test key names live: query, header or body', async () => {
  const { secret } = seller.keys.test
  assertError(await ask('/me?mode=live', secret), 403, 'mode_mismatch')
  assertError(await ask('/me?x=1&mode=live&mode=test', secret), 403, 'mode_mismatch')
  assertError(await ask('/me?m%6fde=live', secret), 403, 'mode_mismatch')
  const headers = { 'X-Service-Mode': 'live' }
  assertError(await ask('/me', secret, { headers }), 403, 'mode_mismatch')
  assertError(
    await ask('/me', secret, { method: 'POST', body: { mode: 'live' } }),
    403,
    'mode_mismatch',
  )
  const own = await ask('/me', secret, { method: 'POST', body: { mode: 'test' } })
  assert.equal(own.status, 200)
})

test('403 mode_mismatch when a live key’s body or header names test, or the query of a change', async () => {
  const { secret } = seller.keys.live
  const change = await ask('/me?mode=test', secret, { method: 'POST', body: {} })
  assertError(change, 403, 'mode_mismatch')
  assert.equal((await ask('/me?mode=test', secret)).status, 200)
  assertError(
    await ask('/me', secret, { method: 'POST', body: { mode: 'test' } }),
    403,
    'mode_mismatch',
  )
  const headers = { 'X-Service-Mode': 'test' }
  assertError(await ask('/me', secret, { headers }), 403, 'mode_mismatch')
})

test('400 invalid_request for a mode that is none', async () => {
  const headers = { 'X-Service-Mode': 'both' }
  assertError(await ask('/me', login, { headers }), 400, 'invalid_request', 'X-Service-Mode')
  const body = { mode: 5 }
  const answer = await ask('/me', login, { method: 'POST', body })
  assertError(answer, 400, 'invalid_request', 'mode')
})

test('403 account_disabled for live writes of a suspended or banned account, reads excepted', async () => {
  for (const status of ['SUSPENDED', 'BANNED'] as const) {
    const of = await seedStore(api.database.db, { status })
    const path = `/stores/${of.store.storeId}/me`
    assertError(await ask(path, of.keys.live.secret, { method: 'POST' }), 403, 'account_disabled')
    assert.equal((await ask(path, of.keys.live.secret)).status, 200)
    assert.equal((await ask(path, of.keys.test.secret, { method: 'POST' })).status, 200)
  }
})
