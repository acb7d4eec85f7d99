import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'

const COUNT_MAX = 100
/** Callers at once, of whom only some may be served. */
const CALLERS = 6
let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const open = () => seedStore(api.database.db, { wallets: [] })
const post = ({ store, keys }: SeededStore, what: string, body: unknown, mode = 'test' as const) =>
  api.call('POST', `/v1/stores/${store.storeId}/${what}`, { key: keys[mode].secret, body })
const wallet = () => ({ network: 'base', address: randomEvmAddress() })

/** Counts answers by status. */
async function statuses(answers: Promise<{ status: number }>[]) {
  const all = (await Promise.all(answers)).map(({ status }) => status)
  return {
    made: all.filter((one) => one === 201).length,
    refused: all.filter((one) => one === 400).length,
  }
}

test('400 invalid_request for the wallet beyond the hundredth of a mode, however many ask at once', async () => {
  const { db } = api.database
  const seller = await open()
  const { storeId } = seller.store
  const rows = Array.from({ length: COUNT_MAX - 2 }, () => ({
    ...{ walletId: newId('wal'), storeId, mode: 'test', ...wallet() },
  }))
  for (const row of rows) {
    await db`
      insert into wallets (wallet_id, store_id, mode, network, address)
      values (${row.walletId}, ${storeId}, ${row.mode}, ${row.network}, ${row.address})`
  }
  const answers = Array.from({ length: CALLERS }, () => post(seller, 'wallets', wallet()))
  assert.deepEqual(await statuses(answers), { made: 2, refused: CALLERS - 2 })
  const refused = await post(seller, 'wallets', wallet())
  assertError(refused, 400, 'invalid_request')
  assert.match(refused.body.error.message, /at most 100 wallets.*Remove one/)
  const path = `/v1/stores/${storeId}/wallets/${rows[0]?.walletId}`
  assert.equal((await api.call('DELETE', path, { key: seller.keys.test.secret })).status, 204)
  assert.equal((await post(seller, 'wallets', wallet())).status, 201)
})

test('400 invalid_request for the key beyond the hundredth that works, however many ask at once', async () => {
  const { db } = api.database
  const seller = await open()
  const { storeId } = seller.store
  // The store has two of each mode already; revoked ones do not count.
  for (let made = 0; made < COUNT_MAX; made += 1) {
    const revokedAt = made < 4 ? new Date() : null
    await db`
      insert into keys (key_id, store_id, mode, kind, key_hash, masked_key, revoked_at)
      values (${newId('key')}, ${storeId}, 'test', 'SECRET', ${new TextEncoder().encode(newId('key'))}, '…', ${revokedAt})`
  }
  const answers = Array.from({ length: CALLERS }, () => post(seller, 'keys', { kind: 'SECRET' }))
  assert.deepEqual(await statuses(answers), { made: 2, refused: CALLERS - 2 })
  const refused = await post(seller, 'keys', { kind: 'SECRET' })
  assertError(refused, 400, 'invalid_request')
  assert.match(refused.body.error.message, /at most 100 keys.*Revoke one/)
})

test('400 invalid_request for the store beyond the hundredth, however many ask at once', async () => {
  const seller = await open()
  const { accountId } = seller.account
  await withTransaction(api.database.db, async (tx) => {
    for (let made = 1; made < COUNT_MAX - 1; made += 1) {
      await tx`
        insert into stores (store_id, account_id, name) values (${newId('store')}, ${accountId}, 'one of many')`
    }
  })
  const ask = () =>
    api.call('POST', '/v1/stores', { key: seller.keys.live.secret, body: { name: 'more' } })
  assert.deepEqual(await statuses(Array.from({ length: CALLERS }, ask)), {
    ...{ made: 1, refused: CALLERS - 1 },
  })
  assertError(await ask(), 400, 'invalid_request')
})
