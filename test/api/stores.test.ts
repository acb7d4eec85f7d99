import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { randomEvmAddress, seedStore } from '../support/seed.ts'
import { seedLogin } from '../support/seller.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const TEST_WALLET = [{ network: 'base', address: randomEvmAddress() }]

test('GET list 200 shows a key its own store, and a login every store of the account, newest first', async () => {
  const first = await seedStore(api.database.db)
  const { accountId } = first.account
  const stores = [first]
  for (let count = 0; count < 4; count += 1) {
    stores.push(await seedStore(api.database.db, { accountId }))
  }
  const key = first.keys.test.secret
  const own = await api.call('GET', '/v1/stores', { key })
  assert.deepEqual(
    own.body.data.map((store: { storeId: string }) => store.storeId),
    [first.store.storeId],
  )
  const login = await seedLogin(api.database.db, accountId)
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 5; page += 1) {
    const { body } = await api.call('GET', `/v1/stores?limit=2${cursor}`, { key: login })
    seen.push(...body.data.map((store: { storeId: string }) => store.storeId))
    if (!body.hasMore) break
    cursor = `&cursor=${body.nextCursor}`
  }
  assert.deepEqual(seen.sort(), stores.map(({ store }) => store.storeId).sort())
})

test('POST 201 opens a store of the same account with four working keys, for a live key and a login', async () => {
  const { account, keys } = await seedStore(api.database.db)
  const login = await seedLogin(api.database.db, account.accountId)
  for (const key of [keys.live.secret, login]) {
    const { status, body } = await api.call('POST', '/v1/stores', { key, body: { name: 'Second' } })
    assert.equal(status, 201)
    assert.deepEqual(Object.keys(body), ['store', 'keys'])
    assert.equal(body.store.name, 'Second')
    assert.deepEqual(body.store.reminderDays, [7, 3, 1])
    assert.equal(body.keys.length, 4)
    for (const one of body.keys.filter((made: { kind: string }) => made.kind === 'SECRET')) {
      const own = await api.call('GET', `/v1/stores/${body.store.storeId}`, { key: one.key })
      assert.equal(own.status, 200)
      const other = await api.call('GET', '/v1/account', { key: one.key })
      assert.equal(other.body.accountId, account.accountId)
    }
  }
})

test('POST 403 mode_mismatch for a test key', async () => {
  const { keys } = await seedStore(api.database.db)
  const answer = await api.call('POST', '/v1/stores', {
    key: keys.test.secret,
    body: { name: 'Second' },
  })
  assertError(answer, 403, 'mode_mismatch')
})

test('POST 400 invalid_request without a name, and for one that is blank or too long', async () => {
  const { keys } = await seedStore(api.database.db)
  for (const body of [{}, { name: '' }, { name: '  ' }, { name: 'x'.repeat(101) }, { name: 7 }]) {
    const answer = await api.call('POST', '/v1/stores', { key: keys.live.secret, body })
    assertError(answer, 400, 'invalid_request', 'name')
  }
})

test('GET 200 with the settings and their defaults', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const { body } = await api.call('GET', `/v1/stores/${store.storeId}`, { key: keys.test.secret })
  const { createdAt, ...rest } = body
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000)
  assert.deepEqual(rest, {
    storeId: store.storeId,
    name: 'Shop',
    branding: {},
    reminderDays: [7, 3, 1],
    graceDays: 7,
    topUpUntilExpiry: false,
    guessOnSharedAddress: true,
  })
})

test('PATCH 200 changes what is sent and leaves the rest; branding is replaced as a whole', async () => {
  const { store, keys } = await seedStore(api.database.db, { wallets: TEST_WALLET })
  const patch = (body: unknown) =>
    api.call('PATCH', `/v1/stores/${store.storeId}`, { key: keys.test.secret, body })
  const branding = {
    displayName: 'Ann’s',
    logoUrl: 'https://shop.example/logo.png',
    color: '#1a2B3c',
  }
  const all = {
    name: 'New name',
    branding,
    reminderDays: [1, 14, 3],
    graceDays: 0,
    topUpUntilExpiry: true,
    guessOnSharedAddress: false,
  }
  const changed = await patch(all)
  assert.equal(changed.status, 200)
  const { storeId, createdAt, ...rest } = changed.body
  assert.deepEqual(rest, { ...all, reminderDays: [14, 3, 1] })
  const one = await patch({ branding: { color: '#000000' } })
  assert.deepEqual(one.body, { ...changed.body, branding: { color: '#000000' } })
  assert.deepEqual((await patch({ branding: {}, reminderDays: [] })).body.branding, {})
  const read = await api.call('GET', `/v1/stores/${storeId}`, { key: keys.live.secret })
  assert.deepEqual(
    [read.body.reminderDays, read.body.branding, read.body.createdAt],
    [[], {}, createdAt],
  )
})

test('PATCH 400 invalid_request names the field', async () => {
  const { store, keys } = await seedStore(api.database.db)
  for (const [body, param] of [
    [{ branding: { color: 'red' } }, 'branding.color'],
    [{ branding: { color: '#fff' } }, 'branding.color'],
    [{ branding: { color: '#123456;x' } }, 'branding.color'],
    [{ branding: { logoUrl: 'http://shop.example/logo.png' } }, 'branding.logoUrl'],
    [{ branding: { logoUrl: 'javascript:alert(1)' } }, 'branding.logoUrl'],
    [{ branding: { logoUrl: 'https://user:pass@shop.example/' } }, 'branding.logoUrl'],
    [{ branding: { logoUrl: '/logo.png' } }, 'branding.logoUrl'],
    [{ branding: { displayName: 'a\u202eb' } }, 'branding.displayName'],
    [{ branding: { font: 'serif' } }, 'branding.font'],
    [{ branding: null }, 'branding'],
    [{ reminderDays: [0] }, 'reminderDays.0'],
    [{ reminderDays: [3, 3] }, 'reminderDays'],
    [{ reminderDays: [1.5] }, 'reminderDays.0'],
    [{ graceDays: -1 }, 'graceDays'],
    [{ graceDays: '7' }, 'graceDays'],
    [{ topUpUntilExpiry: 1 }, 'topUpUntilExpiry'],
    [{ webhookUrl: 'https://x.example' }, 'webhookUrl'],
  ] as const) {
    const key = keys.live.secret
    const answer = await api.call('PATCH', `/v1/stores/${store.storeId}`, { key, body })
    assertError(answer, 400, 'invalid_request', param)
  }
})

test('PATCH 403 mode_mismatch for a test key of a store with a live wallet', async () => {
  const { store, keys } = await seedStore(api.database.db)
  const body = { name: 'New' }
  const path = `/v1/stores/${store.storeId}`
  assertError(await api.call('PATCH', path, { key: keys.test.secret, body }), 403, 'mode_mismatch')
  assert.equal((await api.call('PATCH', path, { key: keys.live.secret, body })).status, 200)
})

test('404 store_not_found for an unknown store', async () => {
  const { keys } = await seedStore(api.database.db)
  for (const storeId of [newId('store'), 'nothing', 'store_%00']) {
    const answer = await api.call('GET', `/v1/stores/${storeId}`, { key: keys.live.secret })
    assertError(answer, 404, 'store_not_found')
  }
})
