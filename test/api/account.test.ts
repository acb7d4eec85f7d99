import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { randomEvmAddress, seedStore } from '../support/seed.ts'
import { seedLogin } from '../support/seller.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const read = (key: string) => api.call('GET', '/v1/account', { key })
const patch = (key: string, body: unknown) => api.call('PATCH', '/v1/account', { key, body })
/** A store without a live wallet: a test key may change what it shares with live mode. */
const TEST_WALLET = [{ network: 'base', address: randomEvmAddress() }]

test('GET 200 the same to every key and login of the account', async () => {
  const { account, keys } = await seedStore(api.database.db, { plan: 'STARTER' })
  const login = await seedLogin(api.database.db, account.accountId)
  for (const key of [keys.test.secret, keys.live.secret, login]) {
    const { status, body } = await read(key)
    assert.equal(status, 200)
    assert.equal(body.accountId, account.accountId)
    assert.equal(body.email, account.email)
    assert.equal(body.plan, 'STARTER')
    assert.equal(body.status, 'ACTIVE')
    assert.equal(body.emailVerified, true)
    assert.equal(body.openAmountEnabled, true)
    assert.equal(body.volume.capUsd, '20000.00')
    assert.equal(body.volume.receivedUsd, '0.00')
    assert.match(body.volume.month, /^\d{4}-\d{2}$/)
  }
})

test('GET 200 with the volume of this calendar month alone', async () => {
  const { account, keys } = await seedStore(api.database.db, { plan: 'SCALE' })
  for (const [month, micros] of [
    ['now', 12_500_000],
    ['now', 1],
    ['last', 999_000_000],
  ] as const) {
    await api.database.db`
      insert into volume_entries (payment_id, account_id, month, amount_micros)
      values (${newId('pay')}, ${account.accountId},
        (date_trunc('month', service_now() at time zone 'UTC')
          - case when ${month} = 'last' then interval '1 month' else interval '0' end)::date, ${micros})`
  }
  const { volume } = (await read(keys.live.secret)).body
  assert.deepEqual([volume.receivedUsd, volume.capUsd], ['12.500001', null])
  await travel(api.database, '32 days')
  assert.equal((await read(keys.live.secret)).body.volume.receivedUsd, '0.00')
  await travel(api.database, '0')
})

test('GET 200 of a suspended account, PATCH 403 account_disabled with its live key', async () => {
  const { keys } = await seedStore(api.database.db, { status: 'SUSPENDED' })
  assert.equal((await read(keys.live.secret)).body.status, 'SUSPENDED')
  const answer = await patch(keys.live.secret, { sellerName: 'New' })
  assertError(answer, 403, 'account_disabled')
})

test('PATCH 200 changes what is sent and leaves the rest', async () => {
  const { keys } = await seedStore(api.database.db, {
    wallets: TEST_WALLET,
    openAmountEnabled: true,
  })
  const renamed = await patch(keys.test.secret, { sellerName: 'Übershop' })
  assert.equal(renamed.status, 200)
  assert.deepEqual([renamed.body.sellerName, renamed.body.openAmountEnabled], ['Übershop', true])
  const strict = await patch(keys.live.secret, { openAmountEnabled: false })
  assert.deepEqual([strict.body.sellerName, strict.body.openAmountEnabled], ['Übershop', false])
  assert.equal((await patch(keys.live.secret, {})).status, 200)
})

test('PATCH 403 mode_mismatch for a test key once any store of the account has a live wallet', async () => {
  const live = await seedStore(api.database.db)
  const sister = await seedStore(api.database.db, {
    accountId: live.account.accountId,
    wallets: TEST_WALLET,
  })
  for (const { keys } of [live, sister]) {
    assertError(await patch(keys.test.secret, { sellerName: 'No' }), 403, 'mode_mismatch')
  }
  const login = await seedLogin(api.database.db, live.account.accountId)
  assert.equal((await patch(login, { sellerName: 'Yes' })).status, 200)
})

test('PATCH 400 invalid_request for wrong types and for what an operator alone may change', async () => {
  const { keys } = await seedStore(api.database.db)
  const { secret } = keys.live
  assertError(
    await patch(secret, { openAmountEnabled: 'yes' }),
    400,
    'invalid_request',
    'openAmountEnabled',
  )
  assertError(await patch(secret, { sellerName: ' ' }), 400, 'invalid_request', 'sellerName')
  assertError(await patch(secret, { plan: 'SCALE' }), 400, 'invalid_request', 'plan')
  assertError(await patch(secret, { status: 'ACTIVE' }), 400, 'invalid_request', 'status')
  assertError(await patch(secret, []), 400, 'invalid_request')
})

test('401 invalid_api_key without a key, with a publishable one, with nonsense', async () => {
  const { keys } = await seedStore(api.database.db)
  for (const key of [undefined, keys.live.publishable, 'sk_live_0000000000000000', 'nonsense']) {
    const answer = await api.call('GET', '/v1/account', key === undefined ? {} : { key })
    assertError(answer, 401, 'invalid_api_key')
  }
})
