import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { deriveAddresses } from '#shared/networks/addresses.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, type SeedOptions, seedPrice, seedStore } from '../support/seed.ts'
import { until } from '../support/until.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

function checkout(of: SeededStore, changes: Record<string, unknown> = {}) {
  return api.call('POST', '/v1/checkout', {
    body: {
      publishableKey: of.keys.test.publishable,
      priceId: of.price.priceId,
      ...{ network: 'base', token: 'usdc' },
      ...changes,
    },
  })
}

function newXpub(): string {
  const seed = crypto.getRandomValues(new Uint8Array(32))
  return HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0").publicExtendedKey
}

function seedXpub(xpub: string, options: SeedOptions = {}) {
  return seedStore(api.database.db, { wallets: [{ network: 'base', xpub }], ...options })
}

test('1,000 checkouts of one price at one address at once get 1,000 slots', {
  timeout: 60_000,
}, async () => {
  const seller = await seedStore(api.database.db)
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => checkout(seller)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  const amounts = answers.map(({ body }) => BigInt(body.amountBaseUnits))
  assert.equal(new Set(amounts).size, 1_000)
  for (const amount of amounts) {
    const tail = amount - 10_500_000n
    assert.ok(tail >= 1n && tail <= 9_999n && tail % 10n !== 0n, `tail ${tail}`)
  }
  const slots = await api.database.db`select from slots where store_id = ${seller.store.storeId}`
  assert.equal(slots.length, 1_000)
})

test('two stores with one address never hold the same slot', { timeout: 60_000 }, async () => {
  const one = await seedStore(api.database.db)
  const address = one.wallets[0]?.address ?? ''
  const other = await seedStore(api.database.db, { wallets: [{ network: 'base', address }] })
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => checkout(index % 2 === 0 ? one : other)),
  )
  assert.equal(new Set(answers.map(({ body }) => body.amountBaseUnits)).size, 200)
})

test('a payment remembers how far its chain had been read when its address was told, whichever way it was claimed', async () => {
  const { db } = api.database
  await db`
    insert into deployments (deployment, confirmations, block_number) values ('polygon:test', 32, 4711)`
  const address = `0x${'3'.repeat(40)}`
  const seller = await seedStore(db, { wallets: [{ network: 'polygon', address }] })
  const yearly = await seedPrice(db, seller.store.storeId, { interval: 'YEAR' })
  const owned = await seedStore(db, { wallets: [{ network: 'polygon', xpub: newXpub() }] })
  const answers = [
    await checkout(seller, { network: 'polygon' }),
    await checkout(seller, { network: 'polygon', priceId: yearly.priceId }),
    await checkout(owned, { network: 'polygon' }),
  ]
  for (const { body, text } of answers) {
    const [row] = await db`
      select position_block from payments where payment_id = ${body.paymentId ?? ''}`
    assert.equal(row?.['positionBlock'], 4711, text)
  }
})

for (const [network, decimals] of [
  ['base', 6],
  ['bnb', 18],
] as const) {
  test(`amounts up to USD 1,000,000 are exact with ${decimals} decimals`, async () => {
    const address = `0x${'2'.repeat(38)}${decimals.toString().padStart(2, '0')}`
    const seller = await seedStore(api.database.db, { wallets: [{ network, address }] })
    const unit = 10n ** BigInt(decimals - 6)
    for (const amountCents of [1, 99, 100, 123_456_78, 99_999_999, 100_000_000]) {
      const price = await seedPrice(api.database.db, seller.store.storeId, { amountCents })
      const { body } = await checkout(seller, { network, priceId: price.priceId })
      const due = BigInt(amountCents) * 10n ** BigInt(decimals - 2)
      const tail = BigInt(body.amountBaseUnits) - due
      assert.equal(tail % unit, 0n)
      assert.ok(tail / unit >= 1n && tail / unit <= 9_999n && (tail / unit) % 10n !== 0n)
      assert.equal(body.decimals, decimals)
      assert.equal(body.amount, (amountCents / 100).toFixed(2))
      const read = await api.call('GET', `/v1/payments/${body.paymentId}`)
      assert.equal(read.body.amountBaseUnits, body.amountBaseUnits)
    }
  })
}

test('an xpub gives every payment an address of its own, due exactly, lowest child first', async () => {
  const xpub = newXpub()
  const seller = await seedXpub(xpub)
  const expected = deriveAddresses(xpub, 0, 3)
  for (const address of expected) {
    const answer = await checkout(seller)
    assert.equal(answer.status, 201, answer.text)
    assert.deepEqual([answer.body.payTo, answer.body.amountBaseUnits], [address, '10500000'])
  }
})

test('300 checkouts of one xpub at once get 300 addresses', { timeout: 60_000 }, async () => {
  const xpub = newXpub()
  const seller = await seedXpub(xpub)
  const answers = await Promise.all(Array.from({ length: 300 }, () => checkout(seller)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  assert.equal(new Set(answers.map(({ body }) => body.payTo)).size, 300)
  const derived = new Set(deriveAddresses(xpub, 0, 600))
  for (const { body } of answers) assert.ok(derived.has(body.payTo))
})

test('an xpub’s address stays with its last payment until the chain is read past the quarantine', async () => {
  const { db } = api.database
  const xpub = newXpub()
  const seller = await seedXpub(xpub)
  const [first, second] = deriveAddresses(xpub, 0, 2)
  const one = (await checkout(seller)).body
  assert.equal(one.payTo, first)
  await api.call('POST', `/v1/payments/${one.paymentId}/cancel`)
  // The quarantine is over by the clock, but nobody has let the slot go: the chain has not been read that far.
  await db`
    update xpub_addresses set free_at = service_now() - interval '1 second'
    where payment_id = ${one.paymentId}`
  await db`
    update slots set release_at = service_now() - interval '1 second'
    where payment_id = ${one.paymentId}`
  const next = await checkout(seller)
  assert.equal(next.status, 201, next.text)
  assert.equal(next.body.payTo, second)
  await db`delete from slots where payment_id = ${one.paymentId}`
  assert.equal((await checkout(seller)).body.payTo, first, 'let go, it is handed out again')
})

test('an xpub’s index counts over stores, networks and modes', { timeout: 60_000 }, async () => {
  const xpub = newXpub()
  const one = await seedXpub(xpub)
  const other = await seedXpub(xpub, { wallets: [{ network: 'polygon', xpub }] })
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      index % 2 === 0 ? checkout(one) : checkout(other, { network: 'polygon' }),
    ),
  )
  assert.equal(new Set(answers.map(({ body }) => body.payTo)).size, 60)
})

test('two processes that derive at once lose and repeat no index', {
  timeout: 60_000,
}, async () => {
  const second = await startTestApi({ database: api.database })
  const xpub = newXpub()
  const seller = await seedXpub(xpub)
  const body = {
    publishableKey: seller.keys.test.publishable,
    priceId: seller.price.priceId,
    ...{ network: 'base', token: 'usdc' },
  }
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      (index % 2 === 0 ? api : second).call('POST', '/v1/checkout', { body }),
    ),
  )
  assert.equal(new Set(answers.map((answer) => answer.body.payTo)).size, 100)
  const rows = await api.database.db<{ addressIndex: number; address: string }[]>`
    select address_index, address from xpub_addresses where xpub = ${xpub} order by address_index`
  const expected = deriveAddresses(xpub, 0, rows.length)
  assert.deepEqual(
    rows.map(({ address }) => address),
    expected,
  )
  await second.stop()
})

test('the pool is filled up again while nobody waits', { timeout: 60_000 }, async () => {
  const xpub = newXpub()
  const seller = await seedXpub(xpub)
  await checkout(seller)
  const free = async () => {
    const rows = await api.database.db`
      select from xpub_addresses where xpub = ${xpub} and free_at < 'infinity'`
    return rows.length
  }
  await until(async () => (await free()) >= 100, { what: '100 free addresses', timeoutMs: 20_000 })
  assert.ok((await free()) <= 140)
})
