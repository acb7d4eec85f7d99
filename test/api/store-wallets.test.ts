import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { createLog } from '#shared/log.ts'
import { deriveAddress } from '#shared/networks/addresses.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'

/** An EIP-55 example, from the proposal itself. */
const ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const SOLANA_ADDRESS = 'vines1vzrYbzLMRdu58ou5XTby4qAqVRLmqo36NKPTg'
const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const logged: string[] = []
let api: TestApi

before(async () => {
  const log = createLog({
    level: 'debug',
    format: 'json',
    name: 'api',
    write: (line) => logged.push(line),
  })
  api = await startTestApi({ log })
})
after(() => api.close())

const hdKey = (seed: number) =>
  HDKey.fromMasterSeed(new Uint8Array(32).fill(seed)).derive("m/44'/60'/0'/0")
/** The one text of a key, whatever path led to it. */
const canonical = ({ publicKey, chainCode }: HDKey) => {
  assert.ok(publicKey && chainCode)
  return new HDKey({ publicKey, chainCode }).publicExtendedKey
}
const open = () => seedStore(api.database.db, { wallets: [] })
const add = ({ store, keys }: SeededStore, body: unknown, mode: 'test' | 'live' = 'test') =>
  api.call('POST', `/v1/stores/${store.storeId}/wallets`, { key: keys[mode].secret, body })
const list = ({ store, keys }: SeededStore, query = '', mode: 'test' | 'live' = 'live') =>
  api.call('GET', `/v1/stores/${store.storeId}/wallets${query}`, { key: keys[mode].secret })

test('POST 201 takes an EVM address in any case and answers its EIP-55 form', async () => {
  for (const address of [ADDRESS, ADDRESS.toLowerCase(), `0x${ADDRESS.slice(2).toUpperCase()}`]) {
    const { status, body } = await add(await open(), { network: 'base', address })
    assert.equal(status, 201)
    assert.match(body.walletId, /^wal_/)
    const { walletId, createdAt, ...rest } = body
    assert.ok(createdAt)
    assert.deepEqual(rest, { mode: 'test', network: 'base', address: ADDRESS })
  }
})

test('POST 201 takes a Solana address', async () => {
  const answer = await add(await open(), { network: 'solana', address: SOLANA_ADDRESS })
  assert.equal(answer.body.address, SOLANA_ADDRESS)
})

test('POST 201 takes an xpub and derives its first hundred addresses', async () => {
  const seller = await open()
  const xpub = canonical(hdKey(1))
  const { status, body } = await add(seller, {
    network: 'base',
    xpub: hdKey(1).publicExtendedKey,
  })
  assert.equal(status, 201)
  assert.equal(body.xpub, xpub)
  assert.ok(!('address' in body))
  const rows = await api.database.db<{ addressIndex: number; address: string }[]>`
    select address_index, address from xpub_addresses where xpub = ${xpub} order by address_index`
  assert.equal(rows.length, 100)
  assert.deepEqual(rows[99], { addressIndex: 99, address: deriveAddress(xpub, 99) })
  assert.equal((await add(await open(), { network: 'ethereum', xpub })).status, 201)
  const [count] = await api.database
    .db`select count(*)::integer as n from xpub_addresses where xpub = ${xpub}`
  assert.equal(count?.['n'], 100)
})

test('409 wallet_exists for the same store, mode, network and address, and for nothing less', async () => {
  const seller = await open()
  const wallet = { network: 'base', address: ADDRESS }
  assert.equal((await add(seller, wallet)).status, 201)
  const again = await add(seller, { ...wallet, address: ADDRESS.toLowerCase() })
  assertError(again, 409, 'wallet_exists')
  assert.equal((await add(seller, wallet, 'live')).status, 201)
  assert.equal((await add(seller, { ...wallet, network: 'ethereum' })).status, 201)
  assert.equal((await add(await open(), wallet)).status, 201)
  const xpub = { network: 'base', xpub: hdKey(2).publicExtendedKey }
  assert.equal((await add(seller, xpub)).status, 201)
  assertError(await add(seller, xpub), 409, 'wallet_exists')
  // Another text of the same key would hand out the same addresses.
  const rewritten = await add(seller, { ...xpub, xpub: canonical(hdKey(2)) })
  assertError(rewritten, 409, 'wallet_exists')
})

test('409 wallet_exists to all but one of ten at once', async () => {
  const seller = await open()
  const wallet = { network: 'base', address: randomEvmAddress() }
  const answers = await Promise.all(Array.from({ length: 10 }, () => add(seller, wallet)))
  assert.equal(answers.filter(({ status }) => status === 201).length, 1)
  assert.equal(answers.filter(({ status }) => status === 409).length, 9)
})

test('400 invalid_request for a private key, which is neither stored, logged nor repeated', async () => {
  const seller = await open()
  const key = hdKey(3)
  const hex = Buffer.from(key.privateKey ?? []).toString('hex')
  const solana =
    '4NMwxzmYj2uvHuq8xoqhY8RXg63KSVJM1DXkpbmkUY7YQWuoyQgFnnzn6yo3CMnqZasnNPNuAT2TLwQsCaKkUddp'
  for (const [field, text] of [
    ['xpub', key.privateExtendedKey],
    ['address', key.privateExtendedKey],
    ['address', hex],
    ['address', `0x${hex}`],
    ['xpub', hex],
    ['address', solana],
  ] as const) {
    const network = text === solana ? 'solana' : 'base'
    const answer = await add(seller, { network, [field]: text })
    assertError(answer, 400, 'invalid_request', field)
    assert.match(answer.body.error.message, /private key/)
    assert.ok(!answer.text.includes(text))
    assert.ok(!logged.join('\n').includes(text.slice(0, 40)))
  }
  const rows = await api.database.db`select 1 from wallets where store_id = ${seller.store.storeId}`
  assert.equal(rows.length, 0)
})

test('400 invalid_request for an address that receives nothing for its seller', async () => {
  const seller = await open()
  for (const [network, address, words] of [
    ['base', `0x${'0'.repeat(40)}`, /Nobody/],
    ['base', '0x000000000000000000000000000000000000dEaD', /Nobody/],
    ['base', USDC_ON_BASE, /token/],
    ['ethereum', USDC_ON_BASE.toLowerCase(), /token/],
    ['solana', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', /token/],
    ['solana', '11111111111111111111111111111111', /Nobody/],
    ['base', ADDRESS.replace('5aA', '5AA'), /checksum/],
    ['base', '0x1234', /40 hexadecimal/],
    ['base', SOLANA_ADDRESS, /40 hexadecimal/],
    ['solana', ADDRESS, /Solana/],
    ['base', hdKey(4).publicExtendedKey, /as xpub/],
    ['base', '', /40 hexadecimal/],
  ] as const) {
    const answer = await add(seller, { network, address })
    assertError(answer, 400, 'invalid_request', 'address')
    assert.match(answer.body.error.message, words, `${network} ${address}`)
  }
})

test('400 invalid_request for a damaged xpub, one on Solana, an unknown network, both fields or none', async () => {
  const seller = await open()
  const xpub = hdKey(5).publicExtendedKey
  for (const [body, param] of [
    [{ network: 'base', xpub: `${xpub.slice(0, -1)}x` }, 'xpub'],
    [{ network: 'base', xpub: ADDRESS }, 'xpub'],
    [{ network: 'solana', xpub }, 'xpub'],
    [{ network: 'dogecoin', address: ADDRESS }, 'network'],
    [{ network: 'base', address: ADDRESS, xpub }, 'address'],
    [{ network: 'base' }, 'address'],
    [{ address: ADDRESS }, 'network'],
    [{ network: 'base', address: ADDRESS, label: 'x' }, 'label'],
  ] as const) {
    assertError(await add(seller, body), 400, 'invalid_request', param)
  }
})

test('GET 200 shows a live key both modes and a test key its own', async () => {
  const seller = await open()
  await add(seller, { network: 'base', address: ADDRESS })
  await add(seller, { network: 'base', address: ADDRESS }, 'live')
  const modes = (answer: { body: { data: { mode: string }[] } }) =>
    answer.body.data.map(({ mode }) => mode)
  assert.deepEqual(modes(await list(seller)), ['live', 'test'])
  assert.deepEqual(modes(await list(seller, '?mode=test')), ['test'])
  assert.deepEqual(modes(await list(seller, '', 'test')), ['test'])
  assertError(await list(seller, '?mode=live', 'test'), 403, 'mode_mismatch')
})

test('DELETE 204 takes no new checkouts; the same wallet can be added again', async () => {
  const seller = await seedStore(api.database.db, { wallets: [] })
  const { body } = await add(seller, { network: 'base', address: ADDRESS })
  const path = `/v1/stores/${seller.store.storeId}/wallets/${body.walletId}`
  const { secret, publishable } = seller.keys.test
  const checkout = () =>
    api.call('POST', '/v1/checkout', {
      body: { publishableKey: publishable, amount: 500, network: 'base', token: 'usdc' },
    })
  const before = await checkout()
  assert.equal(before.status, 201)
  assert.equal((await api.call('DELETE', path, { key: secret })).status, 204)
  assertError(await checkout(), 422, 'no_wallet', 'network')
  const open = await api.call('GET', `/v1/payments/${before.body.paymentId}`)
  assert.equal(open.body.status, 'PENDING')
  assertError(await api.call('DELETE', path, { key: secret }), 404, 'wallet_not_found')
  assert.deepEqual((await list(seller)).body.data, [])
  assert.equal((await add(seller, { network: 'base', address: ADDRESS })).status, 201)
})

test('DELETE 404 wallet_not_found for an unknown wallet and one of the other mode', async () => {
  const seller = await open()
  const { body } = await add(seller, { network: 'base', address: ADDRESS })
  for (const walletId of [body.walletId, 'nothing', 'wal_0123456789']) {
    const path = `/v1/stores/${seller.store.storeId}/wallets/${walletId}`
    const answer = await api.call('DELETE', path, { key: seller.keys.live.secret })
    assertError(answer, 404, 'wallet_not_found')
  }
  assert.equal((await list(seller)).body.data.length, 1)
})
