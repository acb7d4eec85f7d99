import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelPayment } from '#shared/payments/service.ts'
import { commitBlock, commitReorg, findHits } from '../../indexer/commit.ts'
import type { BlockRef, Observation } from '../../indexer/drivers/driver.ts'
import { child, claim, extend, seen, statusOf, story, tellStory } from '../support/commit-story.ts'
import { TEST_DOOR } from '../support/door.ts'

tellStory()

/** Two equal transfers of one transaction that nobody waited for; the seller attaches the first of them. */
async function attach(paymentId: string, amount: bigint) {
  const { db } = story.database
  const ancestor = story.tip
  const [first] = await extend((block) => [seen(block, amount)])
  assert.ok(first)
  const twin = { ...first, index: first.index + 1 }
  await db`
    update transfers set state = 'MATCHED', rule = 'attached', reason = null, payment_id = ${paymentId}
    where tx_hash = ${first.txHash} and state = 'UNMATCHED'`
  return { ancestor, transfers: [first, twin] }
}

/** Goes back to a block and reads the transfers again in another one behind it. */
async function remine(ancestor: BlockRef, name: string, transfers: readonly Observation[]) {
  const { deps, epoch } = story
  await commitReorg(deps, { epoch, previousHash: story.tip.hash }, ancestor)
  const block = child(ancestor, name)
  const moved = transfers.map((one) => ({ ...one, blockHash: block.hash }))
  const hits = await findHits(deps, moved)
  await commitBlock(deps, { epoch, previousHash: ancestor.hash }, block, hits)
  story.tip = block
  const rows = await story.database.db<{ state: string; rule: string; paymentId: string | null }[]>`
    select state, rule, payment_id from transfers
    where block_hash = ${block.hash} order by log_index`
  return rows.map(({ state, rule, paymentId }) => ({ state, rule, paymentId }))
}

test('what the seller attached is the payment’s again when its transaction is mined anew, and only that', async () => {
  const { paymentId, due } = await claim(7_100)
  const { ancestor, transfers } = await attach(paymentId, due * 40n)
  for (const name of ['once', 'twice']) {
    const [first, twin] = await remine(ancestor, `attached-${name}`, transfers)
    assert.deepEqual(first, { state: 'MATCHED', rule: 'attached', paymentId })
    assert.equal(twin?.state, 'UNMATCHED', 'an equal transfer beside it was not attached')
    assert.equal(await statusOf(paymentId), 'DETECTED')
  }
})

test('what the seller attached waits in the inbox as LATE when its payment ended meanwhile', async () => {
  const { paymentId, due } = await claim(7_300)
  const { ancestor, transfers } = await attach(paymentId, due * 40n)
  await commitReorg(story.deps, { epoch: story.epoch, previousHash: story.tip.hash }, ancestor)
  story.tip = ancestor
  await cancelPayment(story.database.db, paymentId, TEST_DOOR)
  const block = child(story.tip, 'later')
  const moved = transfers.slice(0, 1).map((one) => ({ ...one, blockHash: block.hash }))
  const fence = { epoch: story.epoch, previousHash: story.tip.hash }
  await commitBlock(story.deps, fence, block, await findHits(story.deps, moved))
  story.tip = block
  const [row] = await story.database.db<{ state: string; reason: string | null }[]>`
    select state, reason from transfers where block_hash = ${block.hash}`
  assert.deepEqual({ ...row }, { state: 'UNMATCHED', reason: 'LATE' })
  assert.equal(await statusOf(paymentId), 'CANCELED')
})
