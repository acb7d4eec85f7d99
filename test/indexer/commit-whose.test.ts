import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelPayment } from '#shared/payments/service.ts'
import { commitBlock, findMatchable } from '../../indexer/commit.ts'
import {
  ADDRESS,
  audit,
  child,
  claim,
  extend,
  seen,
  statusOf,
  story,
  tellStory,
} from '../support/commit-story.ts'
import { TEST_DOOR } from '../support/door.ts'
import { randomEvmAddress, seedStore } from '../support/seed.ts'

/** Whose money a transfer is, where only the database can tell: each of these was credited, or told, to somebody else once a condition was left out. */
tellStory()

/** What is stored of the newest block, by the transfers' order. */
const told = async () => {
  const rows = await story.database.db`
    select state, rule, reason, payment_id, candidates
    from transfers where block_number = ${story.tip.number} order by log_index`
  return rows.map((row) => ({ ...row }))
}

test('a reference key makes no money its payment’s that went elsewhere, or is of another contract', async () => {
  const elsewhere = randomEvmAddress()
  const other = await seedStore(story.database.db, {
    wallets: [{ network: 'base', address: elsewhere }],
  })
  const named = await claim(41_000_000, { reference_key: 'key1' })
  const old = await claim(57_000_000_000, { reference_key: 'key2', contract: '0xold' })
  const observations = await extend((block) => [
    seen(block, named.due, { to: elsewhere, references: ['key1'] }),
    seen(block, 3n, { references: ['key2'] }),
    seen(block, 30_000_000n * 1_000_000n, { references: ['key1'] }),
  ])
  const nobody = { state: 'UNMATCHED', rule: 'none', paymentId: null, candidates: [] }
  assert.deepEqual(await told(), [
    { ...nobody, reason: 'NO_SLOT' },
    { ...nobody, reason: 'DUST' },
    {
      state: 'MATCHED',
      rule: 'reference',
      reason: null,
      paymentId: named.paymentId,
      candidates: [],
    },
  ])
  assert.equal(await statusOf(old.paymentId), 'PENDING')
  const [listed] = await story.database.db`
    select count(*)::integer as count from inbox where store_id = ${other.store.storeId}`
  assert.equal(listed?.['count'], 1)
  await audit(observations)
})

test('money of a transaction that carries the keys of two payments is neither’s: AMBIGUOUS', async () => {
  const [one, two] = [
    await claim(42_000_000, { reference_key: 'key3' }),
    await claim(43_000_000, { reference_key: 'key4' }),
  ]
  await audit(await extend((block) => [seen(block, one.due, { references: ['key3', 'key4'] })]))
  const [row] = await told()
  assert.deepEqual([row?.['reason'], row?.['paymentId']], ['AMBIGUOUS', null])
  assert.deepEqual(
    [await statusOf(one.paymentId), await statusOf(two.paymentId)],
    ['PENDING', 'PENDING'],
  )
})

test('money of test chains is nothing at an address that receives live money alone, nor at one that differs by case', async () => {
  const { db } = story.database
  const address = randomEvmAddress()
  const child = randomEvmAddress()
  const xpub = 'xpub of a live wallet'
  await seedStore(db, {
    wallets: [
      { network: 'base', mode: 'live', address },
      { network: 'base', mode: 'live', xpub },
    ],
  })
  await db`insert into xpub_addresses (xpub, address_index, address) values (${xpub}, 0, ${child})`
  const observations = await extend((block) =>
    // On Solana two addresses may differ by case alone.
    [address, child, ADDRESS.toLowerCase()].map((to) => seen(block, 5_000_000n, { to })),
  )
  assert.deepEqual(await told(), [])
  await audit(observations)
})

test('test money at an address whose payment is live is told to nobody as that payment’s', async () => {
  const { db } = story.database
  const xpub = 'xpub of both modes'
  const address = randomEvmAddress()
  const { store, account } = await seedStore(db, {
    wallets: [
      { network: 'base', mode: 'live', xpub },
      { network: 'base', mode: 'test', xpub },
    ],
  })
  await db`insert into xpub_addresses (xpub, address_index, address) values (${xpub}, 0, ${address})`
  const live = await claim(44_000_000, {
    ...{ store_id: store.storeId, account_id: account.accountId },
    ...{ mode: 'live', deployment: 'base:live' },
  })
  await extend((block) => [seen(block, live.due, { to: address })])
  assert.deepEqual(await told(), [
    { state: 'UNMATCHED', rule: 'none', reason: 'NO_SLOT', paymentId: null, candidates: [] },
  ])
  assert.equal(await statusOf(live.paymentId), 'PENDING')
})

test('an amount awaited in live mode is no hint for test money', async () => {
  const { db } = story.database
  await db`
    insert into wallets (wallet_id, store_id, mode, network, address)
    values ('wal_live', ${story.seller.store.storeId}, 'live', 'base', ${ADDRESS})`
  const live = await claim(4_500_000_000, { mode: 'live', deployment: 'base:live' })
  await extend((block) => [seen(block, live.due)])
  assert.deepEqual(
    (await told()).map(({ reason, candidates }) => [reason, candidates]),
    [['NO_SLOT', []]],
  )
})

test('a wallet that was removed still receives what its open payments wait for', async () => {
  const { db } = story.database
  const { paymentId, due } = await claim(46_000_000)
  const remove = (isRemoved: boolean) => db`
    update wallets set removed_at = case when ${isRemoved} then service_now() end
    where address = ${ADDRESS} and store_id = ${story.seller.store.storeId}`
  await remove(true)
  await audit(await extend((block) => [seen(block, due)]))
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  await remove(false)
})

test('a payment that is canceled between the reading of its transfer and its commit is not paid: LATE', async () => {
  const { db } = story.database
  const { paymentId, due } = await claim(47_000_000)
  const block = child(story.tip)
  const hits = await findMatchable(story.deps, [seen(block, due)])
  assert.deepEqual(
    hits[0]?.candidates?.map(({ status }) => status),
    ['PENDING'],
  )
  await cancelPayment(db, paymentId, TEST_DOOR)
  const fence = { epoch: story.epoch, previousHash: story.tip.hash }
  await commitBlock(story.deps, fence, block, hits)
  story.tip = block
  const [row] = await told()
  assert.deepEqual([row?.['reason'], row?.['candidates']], ['LATE', [paymentId]])
  assert.equal(await statusOf(paymentId), 'CANCELED')
})

test('an xpub’s address that received anything, however late, is never handed out again; one that did not, is', async () => {
  const { db } = story.database
  const xpub = 'xpub of a buyer each'
  const { store, account } = await seedStore(db, { wallets: [{ network: 'base', xpub }] })
  const [first, second] = [randomEvmAddress(), randomEvmAddress()]
  await db`
    insert into xpub_addresses (xpub, address_index, address) values (${xpub}, 0, ${first}), (${xpub}, 1, ${second})`
  const columns = { store_id: store.storeId, account_id: account.accountId }
  /** The quarantine is over, and the chain read past it. */
  const letGo = async (paymentId: string) => {
    await db`delete from slots where payment_id = ${paymentId}`
    await db`update xpub_addresses set free_at = service_now() where payment_id = ${paymentId}`
  }
  const claimAddress = async () => {
    const { paymentId } = await claim(100, columns)
    const [row] = await db`select address from payments where payment_id = ${paymentId}`
    await cancelPayment(db, paymentId, TEST_DOOR)
    await letGo(paymentId)
    return row?.['address']
  }
  assert.deepEqual([await claimAddress(), await claimAddress()], [first, first])
  await audit(await extend((block) => [seen(block, 1n, { to: first })]))
  assert.deepEqual([await claimAddress(), await claimAddress()], [second, second])
})
