import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { seedStore } from '../support/seed.ts'

let api: TestApi
/** Another process on the same database. */
let replica: TestApi

before(async () => {
  api = await startTestApi()
  replica = await startTestApi({ database: api.database })
})
after(async () => {
  await replica.stop()
  await api.close()
})

type Key = { keyId: string; kind: string; mode: string; key: string }

test('POST 201 mints a key of the caller’s mode that works at once', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const path = `/v1/stores/${store.storeId}/keys`
  for (const mode of ['test', 'live'] as const) {
    for (const kind of ['SECRET', 'PUBLISHABLE']) {
      const made = await api.call('POST', path, { key: keys[mode].secret, body: { kind } })
      assert.equal(made.status, 201)
      assert.match(made.body.keyId, /^key_/)
      assert.deepEqual([made.body.kind, made.body.mode], [kind, mode])
      const prefix = kind === 'SECRET' ? 'sk' : 'pk'
      assert.match(made.body.key, new RegExp(`^${prefix}_${mode}_[0-9a-f]{64}$`))
      const status = (await replica.call('GET', path, { key: made.body.key })).status
      assert.equal(status, kind === 'SECRET' ? 200 : 401)
    }
  }
})

test('GET 200 shows publishable keys in full, secret ones masked, to a live key of both modes', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const path = `/v1/stores/${store.storeId}/keys`
  const listed = (await api.call('GET', path, { key: keys.live.secret })).body.data as Key[]
  assert.deepEqual(
    listed.map(({ key }) => key).sort(),
    [
      keys.live.publishable,
      keys.test.publishable,
      `sk_live_…${keys.live.secret.slice(-4)}`,
      `sk_test_…${keys.test.secret.slice(-4)}`,
    ].sort(),
  )
  const own = (await api.call('GET', path, { key: keys.test.secret })).body.data as Key[]
  assert.deepEqual([...new Set(own.map(({ mode }) => mode))], ['test'])
  const filtered = await api.call('GET', `${path}?mode=test`, { key: keys.live.secret })
  assert.deepEqual(filtered.body.data, own)
})

test('GET 200 pages through keys, none twice and none left out, while new ones are minted', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const path = `/v1/stores/${store.storeId}/keys`
  const key = keys.live.secret
  const wanted = (await api.call('GET', path, { key })).body.data.map((one: Key) => one.keyId)
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await api.call('GET', `${path}?limit=1${cursor}`, { key })
    seen.push(...body.data.map((one: Key) => one.keyId))
    await api.call('POST', path, { key, body: { kind: 'SECRET' } })
    cursor = body.hasMore ? `&cursor=${body.nextCursor}` : ''
  } while (cursor !== '')
  assert.deepEqual(seen, wanted)
})

test('DELETE 204 ends a key with the next request, on every replica', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const path = `/v1/stores/${store.storeId}/keys`
  const owner = keys.live.secret
  const { body } = await api.call('POST', path, { key: owner, body: { kind: 'SECRET' } })
  assert.equal((await replica.call('GET', path, { key: body.key })).status, 200)
  const revoked = await api.call('DELETE', `${path}/${body.keyId}`, { key: owner })
  assert.deepEqual([revoked.status, revoked.text], [204, ''])
  for (const process of [api, replica]) {
    assertError(await process.call('GET', path, { key: body.key }), 401, 'invalid_api_key')
  }
  const listed = (await api.call('GET', path, { key: owner })).body.data as Key[]
  assert.ok(!listed.some(({ keyId }) => keyId === body.keyId))
  const again = await api.call('DELETE', `${path}/${body.keyId}`, { key: owner })
  assertError(again, 404, 'key_not_found')
})

test('DELETE 204 of a publishable key refuses its checkouts', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const path = `/v1/stores/${store.storeId}/keys`
  const key = keys.test.secret
  const { body } = await api.call('POST', path, { key, body: { kind: 'PUBLISHABLE' } })
  const info = () =>
    api.call('POST', '/v1/checkout/info', { body: { publishableKey: body.key, amount: 100 } })
  assert.equal((await info()).status, 200)
  await api.call('DELETE', `${path}/${body.keyId}`, { key })
  assertError(await info(), 401, 'invalid_api_key')
})

test('DELETE 404 key_not_found for an unknown key', async () => {
  const { store, keys } = await seedStore(api.database.db)
  for (const keyId of [newId('key'), 'nothing', store.storeId]) {
    const path = `/v1/stores/${store.storeId}/keys/${keyId}`
    assertError(await api.call('DELETE', path, { key: keys.live.secret }), 404, 'key_not_found')
  }
})

test('POST 400 invalid_request for another kind; a body that names the other mode 403 mode_mismatch', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const path = `/v1/stores/${store.storeId}/keys`
  const post = (body: unknown) => api.call('POST', path, { key: keys.test.secret, body })
  assertError(await post({ kind: 'secret' }), 400, 'invalid_request', 'kind')
  assertError(await post({}), 400, 'invalid_request', 'kind')
  assertError(await post({ kind: 'SECRET', mode: 'live' }), 403, 'mode_mismatch')
  const asked = await api.call('GET', `${path}?mode=live`, { key: keys.test.secret })
  assertError(asked, 403, 'mode_mismatch')
})
