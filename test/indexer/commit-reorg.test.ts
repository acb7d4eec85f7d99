import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelPayment } from '#shared/payments/service.ts'
import { commitBlock, commitReorg, findHits } from '../../indexer/commit.ts'
import { readCursor } from '../../indexer/cursor.ts'
import type { BlockRef } from '../../indexer/drivers/driver.ts'
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

test('a reorganisation returns a detected payment to pending, and the new branch credits it once', async () => {
  const { paymentId, due } = await claim(1_400)
  const ancestor = story.tip
  const observations = await extend((block) => [seen(block, due)])
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  assert.equal(await statusOf(paymentId), 'PENDING')
  const branch = child(story.tip, 'b')
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash }))
  await commitBlock(
    story.deps,
    { epoch: story.epoch, previousHash: story.tip.hash },
    branch,
    await findHits(story.deps, again),
  )
  story.tip = branch
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await audit(again)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  const events = await story.database.db`select type from events where payment_id = ${paymentId}`
  assert.deepEqual(events.map((row) => row['type']).sort(), [
    'payment.confirmed',
    'payment.detected',
  ])
})

test('a branch that was left and comes back brings its transfers back', async () => {
  const { paymentId, due } = await claim(1_450)
  const ancestor = story.tip
  const observations = await extend((block) => [seen(block, due)])
  const left = story.tip
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: left.hash }, ancestor)
  assert.equal(await statusOf(paymentId), 'PENDING')
  const hits = await findHits(story.deps, observations)
  await commitBlock(story.deps, { epoch: story.epoch, previousHash: ancestor.hash }, left, hits)
  assert.equal(await statusOf(paymentId), 'DETECTED')
  assert.deepEqual(await audit(observations), { foundCount: 0, heldCount: 0 })
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('paid on the branch that won, at a height read on the one that lost: credited', async () => {
  const ancestor = story.tip
  await extend()
  await extend()
  const { paymentId, due } = await claim(1_700)
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  const observations = await extend((block) => [seen({ ...block, hash: '0xwon' }, due)])
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('likewise where the chain’s clock is ahead of ours', async () => {
  const { db } = story.database
  const aheadMs = 2 * 60_000
  await db`
    update deployments set head_time = service_now() + interval '2 minutes', head_seen_at = service_now()`
  const ancestor = { ...story.tip, timeMs: Date.now() + aheadMs }
  await extend()
  await extend()
  const { paymentId, due } = await claim(900_000)
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  const timeMs = Date.now() + aheadMs
  const [block] = await extend((next) => [seen({ ...next, hash: '0xahead', timeMs }, due)])
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await audit(block ? [block] : [])
  await db`update deployments set head_time = null, head_seen_at = null`
})

test('a reorganisation below the depth: what settled a payment stays its own when it is mined anew', async () => {
  const { db } = story.database
  const { paymentId, due } = await claim(1_800)
  const ancestor = story.tip
  const observations = await extend((block) => [seen(block, due)])
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  const { settled } = await commitReorg(
    story.deps,
    { epoch: story.epoch, previousHash: story.tip.hash },
    ancestor,
  )
  assert.deepEqual(settled, [paymentId], 'the alarm names it')
  const row = await readCursor(db, NAME)
  assert.equal(row?.auditedNumber, ancestor.number, 'the mark went back with the cursor')
  story.tip = ancestor
  const branch = { ...child(story.tip), hash: '0xanew' }
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash, index: 900 }))
  await commitBlock(
    story.deps,
    { epoch: story.epoch, previousHash: story.tip.hash },
    branch,
    await findHits(story.deps, again),
  )
  story.tip = branch
  assert.deepEqual(await audit(again), { foundCount: 0, heldCount: 0 })
  const rows = await db`
    select state, block_hash, log_index, payment_id from transfers where tx_hash = ${again[0]?.txHash ?? ''}`
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [{ state: 'MATCHED', blockHash: '0xanew', logIndex: 900, paymentId }],
  )
})

test('a reorganisation below the depth: what a payment was guessed for is not credited to another when it is mined anew', async () => {
  const { db } = story.database
  const { paymentId, due } = await claim(10_000_000_000)
  const ancestor = story.tip
  const observations = await extend((block) => [seen(block, due / 2n)])
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'UNDERPAID')
  const other = await claim(9_000_000_000)
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  const branch = { ...child(story.tip), hash: '0xguessed' }
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash }))
  await commitBlock(
    story.deps,
    { epoch: story.epoch, previousHash: story.tip.hash },
    branch,
    await findHits(story.deps, again),
  )
  story.tip = branch
  assert.deepEqual(await audit(again), { foundCount: 0, heldCount: 0 })
  assert.equal(await statusOf(other.paymentId), 'PENDING')
  const rows = await db`
    select state, block_hash, payment_id, is_held from transfers where tx_hash = ${again[0]?.txHash ?? ''}`
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [{ state: 'MATCHED', blockHash: '0xguessed', paymentId, isHeld: false }],
  )
  await cancelPayment(db, other.paymentId, TEST_DOOR)
})

test('two reorganisations below the depth, the second back to a branch read before: the follower goes on', async () => {
  const { db } = story.database
  const { paymentId, due } = await claim(2_100)
  const ancestor = story.tip
  const first = { ...child(story.tip), hash: '0xfirst' }
  const transfer = seen(first, due)
  const stand = async (block: BlockRef) => {
    const hits = await findHits(story.deps, [{ ...transfer, blockHash: block.hash }])
    await commitBlock(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, block, hits)
    story.tip = block
  }
  const leave = async () => {
    await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
    story.tip = ancestor
  }
  await stand(first)
  await leave()
  await stand({ ...first, hash: '0xsecond' })
  await audit([{ ...transfer, blockHash: story.tip.hash }])
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  await leave()
  await stand(first)
  await audit([transfer])
  const rows = await db`
    select state, block_hash from transfers
    where tx_hash = ${transfer.txHash} and payment_id = ${paymentId} and state = 'MATCHED'`
  assert.equal(rows.length, 1, 'it is the payment’s still, once')
})

test('a reorganisation below the depth: a part that had counted for an open payment counts once', async () => {
  const { db } = story.database
  await db`update stores set top_up_until_expiry = true where store_id = ${story.seller.store.storeId}`
  const { paymentId, due } = await claim(90_000_000)
  const ancestor = story.tip
  const half = due / 2n
  const observations = await extend((block) => [seen(block, half)])
  await audit(observations)
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  const branch = { ...child(story.tip), hash: '0xpart' }
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash }))
  await commitBlock(
    story.deps,
    { epoch: story.epoch, previousHash: story.tip.hash },
    branch,
    await findHits(story.deps, again),
  )
  story.tip = branch
  await audit(again)
  const [row] = await db`
    select status, received_base_units from payments where payment_id = ${paymentId}`
  assert.deepEqual({ ...row }, { status: 'DETECTED', receivedBaseUnits: half })
  const rest = await extend((block) => [seen(block, due - half)])
  await audit(rest)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  await db`update stores set top_up_until_expiry = false where store_id = ${story.seller.store.storeId}`
})

test('a part at depth is all that was seen once the other part left the chain: UNDERPAID', async () => {
  const { paymentId, due } = await claim(300_000_000)
  const first = await extend((block) => [seen(block, due / 2n)])
  const ancestor = story.tip
  await extend((block) => [seen(block, due / 4n)])
  await audit(first, ancestor)
  assert.equal(await statusOf(paymentId), 'DETECTED', 'the other part is on its way')
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  await extend()
  await audit([])
  assert.equal(await statusOf(paymentId), 'UNDERPAID')
})

test('a transfer that comes back as a payment’s leaves the inboxes of the other stores', async () => {
  const { db } = story.database
  const { storeId } = story.seller.store
  await seedStore(db, { wallets: [{ network: 'base', address: ADDRESS }] })
  await db`update stores set guess_on_shared_address = false where store_id = ${storeId}`
  const { paymentId, due } = await claim(900_000_000_000)
  const ancestor = story.tip
  const observations = await extend((block) => [seen(block, due / 2n)])
  const left = story.tip
  const listed = () => db<{ storeId: string; state: string }[]>`
    select i.store_id, i.state from inbox i join transfers t using (transfer_id)
    where t.tx_hash = ${observations[0]?.txHash ?? ''}`
  assert.ok((await listed()).length >= 2)
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: left.hash }, ancestor)
  await db`update stores set guess_on_shared_address = true where store_id = ${storeId}`
  const hits = await findHits(story.deps, observations)
  await commitBlock(story.deps, { epoch: story.epoch, previousHash: ancestor.hash }, left, hits)
  assert.equal(await statusOf(paymentId), 'DETECTED')
  const rows = await listed()
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [{ storeId, state: 'MATCHED' }],
  )
  await audit(observations)
})
