import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelPayment } from '#shared/payments/service.ts'
import { commitAudit, commitReread } from '../../indexer/audit.ts'
import { commitBlock, Fenced, findHits, findMatchable } from '../../indexer/commit.ts'
import { readCursor } from '../../indexer/cursor.ts'
import { releaseLease, renewLease, takeLease } from '../../indexer/lease.ts'
import {
  ADDRESS,
  audit,
  child,
  claim,
  extend,
  NAME,
  seen,
  statusOf,
  story,
  tellStory,
} from '../support/commit-story.ts'
import { TEST_DOOR } from '../support/door.ts'
import { seedStore } from '../support/seed.ts'

tellStory()

test('a transfer is stored, matched and detected in the transaction of its block', async () => {
  const { paymentId, due } = await claim(1_000)
  const observations = await extend((block) => [seen(block, due)])
  assert.equal(await statusOf(paymentId), 'DETECTED')
  assert.equal((await readCursor(story.database.db, NAME))?.blockNumber, story.tip.number)
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a block committed again by a zombie changes nothing', async () => {
  const { paymentId, due } = await claim(1_100)
  const before = story.tip
  const observations = await extend((block) => [seen(block, due)])
  const zombie = { epoch: story.epoch - 1, previousHash: before.hash }
  const hits = await findHits(story.deps, observations)
  await assert.rejects(commitBlock(story.deps, zombie, story.tip, hits), Fenced)
  await assert.rejects(
    commitBlock(story.deps, { epoch: story.epoch, previousHash: before.hash }, story.tip, hits),
    Fenced,
  )
  const next = child(story.tip)
  const overtaken = { epoch: story.epoch - 1, previousHash: story.tip.hash }
  for (const found of [[], await findHits(story.deps, [seen(next, due)])]) {
    await assert.rejects(commitBlock(story.deps, overtaken, next, found), Fenced)
  }
  const rows = await story.database.db`select 1 from transfers where payment_id = ${paymentId}`
  assert.equal(rows.length, 1)
  await audit(observations)
})

test('a transfer that a node tells of twice is stored and counted once', async () => {
  const { paymentId, due } = await claim(1_110)
  const observations = await extend((block) => {
    const half = seen(block, due / 2n)
    return [half, { ...half }]
  })
  const rows = await story.database.db`
    select received_base_units as received, (select count(*) from transfers t where t.payment_id = p.payment_id) as count
    from payments p where payment_id = ${paymentId}`
  assert.deepEqual({ ...rows[0] }, { received: due / 2n, count: 1 })
  await audit(observations)
})

test('a transfer that only the second reading finds is credited', async () => {
  const { paymentId, due } = await claim(1_200)
  await extend()
  const missed = [seen(story.tip, due)]
  assert.deepEqual(await audit(missed), { foundCount: 1, heldCount: 0 })
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a transfer that the second reading does not find is held, and its payment undecided', async () => {
  const { paymentId, due } = await claim(1_300)
  const observations = await extend((block) => [seen(block, due)])
  assert.deepEqual(await audit([]), { foundCount: 0, heldCount: 1 })
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await story.database.db`update deployments set audited_number = ${story.tip.number - 1}`
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a transfer mined before a cancel but seen after it is LATE in the inbox', async () => {
  const { paymentId, due } = await claim(1_500)
  await cancelPayment(story.database.db, paymentId, TEST_DOOR)
  const observations = await extend((block) => [seen(block, due)])
  assert.equal(await statusOf(paymentId), 'CANCELED')
  const rows = await story.database.db`
    select t.reason, t.candidates, i.state from transfers t join inbox i using (transfer_id)
    where t.amount_base_units = ${due}`
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ reason: 'LATE', candidates: [paymentId], state: 'UNMATCHED' }],
  )
  await audit(observations)
})

test('paid twice before depth: what was on its way when the payment settled is LATE', async () => {
  const { paymentId, due } = await claim(1_600)
  const first = await extend((block) => [seen(block, due)])
  const firstBlock = story.tip
  await extend()
  await extend()
  const second = await extend((block) => [seen(block, due)])
  await audit(first, firstBlock)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  const [row] = await story.database.db`
    select state, reason from transfers where tx_hash = ${second[0]?.txHash ?? ''}`
  assert.deepEqual({ ...row }, { state: 'UNMATCHED', reason: 'LATE' })
  await audit(second)
})

test('zero value, an unknown token and an unknown address are nothing', async () => {
  const observations = await extend((block) => [
    seen(block, 0n),
    seen(block, 5n, { contract: '0x00000000000000000000000000000000000000BB' }),
    seen(block, 5n, { to: '0x00000000000000000000000000000000000000CC' }),
  ])
  const rows = await story.database.db`select 1 from transfers where block_hash = ${story.tip.hash}`
  assert.equal(rows.length, 0)
  await audit(observations)
})

test('blocks read together decide as blocks read one by one: who was paid before competes for nothing', async () => {
  const [paid, short] = [await claim(20_000_000_000), await claim(20_000_000_000)]
  const [soon, rival] = [await claim(900_000_000_000), await claim(900_000_000_000)]
  const first = story.tip.number + 1
  const at = (offset: number) => ({
    number: first + offset,
    hash: `0xtogether${offset}`,
    parentHash: '',
    timeMs: Date.now(),
  })
  const last = at(9)
  const observations = [
    seen(at(0), paid.due),
    seen(at(4), short.due / 2n),
    seen(at(5), soon.due),
    seen(at(6), rival.due / 2n),
  ]
  const fence = { epoch: story.epoch, previousHash: story.tip.hash }
  await commitBlock(story.deps, fence, last, await findMatchable(story.deps, observations))
  story.tip = last
  await audit(observations)
  assert.equal(await statusOf(paid.paymentId), 'CONFIRMED')
  assert.equal(await statusOf(short.paymentId), 'UNDERPAID', 'the other was paid three blocks deep')
  assert.equal(await statusOf(soon.paymentId), 'CONFIRMED')
  assert.equal(await statusOf(rival.paymentId), 'PENDING', 'the other was not deep yet: ambiguous')
})

test('an amount that nobody awaits lies in the inbox of each store that has the address', async () => {
  const other = await seedStore(story.database.db, {
    wallets: [{ network: 'base', address: ADDRESS }],
  })
  const observations = await extend((block) => [seen(block, 123_456_789_012n)])
  const rows = await story.database.db<{ storeId: string }[]>`
    select i.store_id from inbox i join transfers t using (transfer_id)
    where t.amount_base_units = 123456789012 and i.state = 'UNMATCHED'`
  assert.deepEqual(
    rows.map((row) => row.storeId).sort(),
    [story.seller.store.storeId, other.store.storeId].sort(),
  )
  const mails = await story.database.db`
    select from requests
    where kind = 'mail' and body ->> 'template' = 'unmatched-transfer'
      and body ->> 'storeId' = any (${rows.map((row) => row.storeId)})`
  assert.ok(mails.length >= 2, 'a mail is asked for, for each')
  await audit(observations)
})

test('what is held counts when a later reading finds it, and is taken back when its block was replaced', async () => {
  const { db } = story.database
  const found = await claim(1_900)
  const left = await claim(40_000)
  const observations = await extend((block) => [
    seen(block, found.due),
    seen(block, left.due, { blockHash: '0xleft' }),
  ])
  const block = story.tip
  assert.deepEqual(await audit([]), { foundCount: 0, heldCount: 2 })
  await extend()
  await audit([])
  const range = { from: block.number, last: block, position: story.tip.number, epoch: story.epoch }
  const reading = observations.slice(0, 1)
  const { foundCount, heldCount } = await commitReread(story.deps, range, reading)
  assert.deepEqual({ foundCount, heldCount }, { foundCount: 0, heldCount: 0 })
  assert.equal(await statusOf(found.paymentId), 'CONFIRMED')
  assert.equal(await statusOf(left.paymentId), 'PENDING')
  const row = await readCursor(db, NAME)
  assert.equal(row?.auditedNumber, story.tip.number, 'the mark stays where it was')
  await assert.rejects(
    commitReread(story.deps, { ...range, epoch: story.epoch - 1 }, reading),
    Fenced,
  )
})

test('what is held is taken back when it was shown not to be in its block, and only then', async () => {
  const { db } = story.database
  const { paymentId, due } = await claim(2_100)
  await extend((block) => [seen(block, due)])
  const block = story.tip
  await audit([])
  await extend()
  await audit([])
  const range = { from: block.number, last: block, position: story.tip.number, epoch: story.epoch }
  const first = await commitReread(story.deps, range, [])
  assert.equal(first.heldCount, 1)
  assert.equal(await statusOf(paymentId), 'DETECTED', 'a reading that does not find it is no proof')
  const second = await commitReread(story.deps, range, [], first.goneIds)
  assert.equal(second.heldCount, 0)
  assert.equal(await statusOf(paymentId), 'PENDING')
  const [row] = await db`select state, is_held from transfers where block_number = ${block.number}`
  assert.deepEqual({ ...row }, { state: 'RETRACTED', isHeld: false })
})

test('a part that had been at depth is taken back like any other, and the part that is left decides', async () => {
  const { paymentId, due } = await claim(700_000_000)
  const first = await extend((block) => [seen(block, due / 2n)])
  const block = story.tip
  const rest = await extend((next) => [seen(next, due / 4n)])
  await audit(first, block)
  const range = { from: block.number, last: block, position: story.tip.number, epoch: story.epoch }
  const { goneIds } = await commitReread(story.deps, range, [])
  await audit(rest)
  assert.equal(await statusOf(paymentId), 'DETECTED', 'a part is in doubt')
  await commitReread(story.deps, range, [], goneIds)
  assert.equal(await statusOf(paymentId), 'UNDERPAID')
  const { db } = story.database
  const [row] = await db`select received_base_units from payments where payment_id = ${paymentId}`
  assert.equal(row?.['receivedBaseUnits'], due / 4n)
})

test('a trial second reading that differs stores nothing, and says where and about whom', async () => {
  const { due } = await claim(2_300)
  const missed = [seen(story.tip, due)]
  const range = { from: story.tip.number, last: story.tip, position: story.tip.number }
  const trial = { ...range, epoch: story.epoch, isTrial: true }
  const result = await commitAudit(story.deps, trial, missed)
  assert.deepEqual(result.differences, [
    { blockNumber: story.tip.number, recipients: [missed[0]?.to] },
  ])
  const stored = await story.database.db`
    select 1 from transfers where tx_hash = ${missed[0]?.txHash ?? ''}`
  assert.equal(stored.length, 0)
})

test('an amount awaited on another network, whatever its decimals there, or in another token is told so', async () => {
  const { db } = story.database
  const { storeId } = story.seller.store
  await db`
    insert into wallets (wallet_id, store_id, mode, network, address)
    values ('wal_bnb', ${storeId}, 'test', 'bnb', ${ADDRESS})`
  const bnb = { network: 'bnb', deployment: 'bnb:test', contract: '0xb', decimals: 18 }
  const far = await claim(31_000_000, bnb)
  const usdt = await claim(32_000_000, { token: 'usdt', contract: '0xd' })
  assert.equal(far.due % 10n ** 12n, 0n)
  const [wrongNetwork, wrongToken, neither] = await extend((block) => [
    seen(block, far.due / 10n ** 12n),
    seen(block, usdt.due),
    seen(block, usdt.due * 1_000n),
  ])
  const told = await db`
    select tx_hash, reason, candidates from transfers
    where block_number = ${story.tip.number} order by log_index`
  assert.deepEqual(
    told.map((row) => ({ ...row })),
    [
      { txHash: wrongNetwork?.txHash, reason: 'WRONG_NETWORK', candidates: [far.paymentId] },
      { txHash: wrongToken?.txHash, reason: 'WRONG_TOKEN', candidates: [usdt.paymentId] },
      { txHash: neither?.txHash, reason: 'NO_SLOT', candidates: [] },
    ],
  )
})

test('exactly the amount of a slot that was reused within its quarantine is nobody’s: AMBIGUOUS', async () => {
  const { db } = story.database
  const [first, second] = [await claim(33_000_000), await claim(33_000_000)]
  await cancelPayment(db, first.paymentId, TEST_DOOR)
  // As a claim does when no amount is free: the slot whose holder ended longest ago changes hands.
  await db`delete from slots where payment_id = ${second.paymentId}`
  await db`
    update slots set payment_id = ${second.paymentId}, is_open = true, ended_at = null, release_at = null,
      previous_payment_id = payment_id, previous_ended_at = ended_at
    where payment_id = ${first.paymentId}`
  await db`update payments set amount_base_units = ${first.due} where payment_id = ${second.paymentId}`
  await extend((block) => [seen(block, first.due)])
  const [told] = await db`
    select reason, candidates from transfers where block_number = ${story.tip.number}`
  const candidates = [second.paymentId, first.paymentId]
  assert.deepEqual({ ...told }, { reason: 'AMBIGUOUS', candidates })
  assert.equal(await statusOf(second.paymentId), 'PENDING')
})

test('a lease is nobody else’s while its leader renews it, and the next one’s when it has not', async () => {
  const { db } = story.database
  assert.equal(await takeLease(db, NAME, 'another'), undefined)
  await db`update deployments set lease_until = service_now() - interval '1 second'`
  const epoch = await takeLease(db, NAME, 'another')
  assert.equal(epoch, story.epoch + 1)
  assert.equal(await renewLease(db, NAME, story.epoch), false, 'the old leader has lost it')
  assert.equal(await renewLease(db, NAME, epoch ?? 0), true)
  await releaseLease(db, NAME, epoch ?? 0)
})
