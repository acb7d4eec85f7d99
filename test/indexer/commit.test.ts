import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { buildDeployments, type Deployment } from '#shared/networks/registry.ts'
import { cancelPayment } from '#shared/payments/service.ts'
import { commitAudit, commitReread } from '../../indexer/audit.ts'
import {
  type CommitDeps,
  commitBlock,
  commitReorg,
  Fenced,
  findHits,
} from '../../indexer/commit.ts'
import { readCursor, registerDeployment, swapAudited, swapCursor } from '../../indexer/cursor.ts'
import type { BlockRef, Observation } from '../../indexer/drivers/driver.ts'
import { takeLease } from '../../indexer/lease.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_DOOR } from '../support/door.ts'
import { assertOneStory } from '../support/oracle.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const SETTINGS = TEST_DOOR
const NAME = 'base:test'

let database: TestDatabase
let deps: CommitDeps
let seller: SeededStore
let epoch: number
/** The chain as the test tells it: one block a second. */
let tip: BlockRef

before(async () => {
  database = await createTestDatabase()
  const rpc = ['http://127.0.0.1:9']
  const tokens = { usdc: { contract: USDC, decimals: 6 } }
  const all = buildDeployments({ base: { test: { rpc, tokens, confirmations: 3 } } })
  const deployment = all.get(NAME) as Deployment
  deps = { db: database.db, deployment, settings: SETTINGS, log: silentLog }
  seller = await seedStore(database.db, { wallets: [{ network: 'base', address: ADDRESS }] })
})
after(async () => {
  await assertOneStory({ db: database.db })
  await database.drop()
})

beforeEach(async () => {
  const { db } = database
  await registerDeployment(db, deps.deployment)
  epoch = (await takeLease(db, NAME, 'test')) ?? 0
  const row = await readCursor(db, NAME)
  if (row?.blockNumber) return
  tip = { number: 1_000, hash: '0x1000', parentHash: '0x999', timeMs: Date.now() }
  assert.ok(await swapCursor(db, { deployment: NAME, epoch, previousHash: null, block: tip }))
  assert.ok(await swapAudited(db, { deployment: NAME, epoch, ...tip }))
})

/** Claims a slot as checkout does, for a whole number of cents. */
async function claim(amountCents: number): Promise<{ paymentId: string; due: bigint }> {
  const paymentId = newId('pay')
  const payment = {
    payment_id: paymentId,
    store_id: seller.store.storeId,
    account_id: seller.account.accountId,
    mode: 'test',
    network: 'base',
    token: 'usdc',
    deployment: NAME,
    contract: USDC,
    decimals: 6,
    clock: 'CHAIN',
    confirmations_required: 3,
    amount_cents: amountCents,
  }
  const { db } = database
  const [row] = await db<{ code: string | null; due: bigint }[]>`
    select code, (payment).amount_base_units as due
    from claim_slot(jsonb_populate_record(null::payments, ${db.json(payment)}), 60, null, null, 100)`
  assert.equal(row?.code, null)
  return { paymentId, due: row?.due ?? 0n }
}

let logIndex = 0
function seen(
  block: BlockRef,
  amountBaseUnits: bigint,
  extra: Partial<Observation> = {},
): Observation {
  logIndex += 1
  return {
    blockNumber: block.number,
    blockHash: block.hash,
    blockTimeMs: block.timeMs,
    txHash: `0xt${logIndex}`,
    index: logIndex,
    contract: USDC,
    from: '0x00000000000000000000000000000000000000AA',
    to: ADDRESS,
    amountBaseUnits,
    ...extra,
  }
}

function child(parent: BlockRef, branch = ''): BlockRef {
  const number = parent.number + 1
  return { number, hash: `0x${number}${branch}`, parentHash: parent.hash, timeMs: Date.now() }
}

async function extend(
  observe: (block: BlockRef) => Observation[] = () => [],
): Promise<Observation[]> {
  const block = child(tip)
  const observations = observe(block)
  const fence = { epoch, previousHash: tip.hash }
  await commitBlock(deps, fence, block, await findHits(deps, observations))
  tip = block
  return observations
}

async function audit(observations: Observation[], last: BlockRef = tip): Promise<unknown> {
  const row = await readCursor(database.db, NAME)
  const from = (row?.auditedNumber ?? 0) + 1
  return commitAudit(deps, { from, last, position: tip.number, epoch }, observations)
}

async function statusOf(paymentId: string): Promise<unknown> {
  const [row] = await database.db`select status from payments where payment_id = ${paymentId}`
  return row?.['status']
}

test('a transfer is stored, matched and detected in the transaction of its block', async () => {
  const { paymentId, due } = await claim(1_000)
  const observations = await extend((block) => [seen(block, due)])
  assert.equal(await statusOf(paymentId), 'DETECTED')
  assert.equal((await readCursor(database.db, NAME))?.blockNumber, tip.number)
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a block committed again by a zombie changes nothing', async () => {
  const { paymentId, due } = await claim(1_100)
  const before = tip
  const observations = await extend((block) => [seen(block, due)])
  const zombie = { epoch: epoch - 1, previousHash: before.hash }
  const hits = await findHits(deps, observations)
  await assert.rejects(commitBlock(deps, zombie, tip, hits), Fenced)
  await assert.rejects(commitBlock(deps, { epoch, previousHash: before.hash }, tip, hits), Fenced)
  const rows = await database.db`select 1 from transfers where payment_id = ${paymentId}`
  assert.equal(rows.length, 1)
  await audit(observations)
})

test('a transfer that only the second reading finds is credited', async () => {
  const { paymentId, due } = await claim(1_200)
  await extend()
  const missed = [seen(tip, due)]
  assert.deepEqual(await audit(missed), { foundCount: 1, heldCount: 0 })
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a transfer that the second reading does not find is held, and its payment undecided', async () => {
  const { paymentId, due } = await claim(1_300)
  const observations = await extend((block) => [seen(block, due)])
  assert.deepEqual(await audit([]), { foundCount: 0, heldCount: 1 })
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await database.db`update deployments set audited_number = ${tip.number - 1}`
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a reorganisation returns a detected payment to pending, and the new branch credits it once', async () => {
  const { paymentId, due } = await claim(1_400)
  const ancestor = tip
  const observations = await extend((block) => [seen(block, due)])
  await commitReorg(deps, { epoch, previousHash: tip.hash }, ancestor)
  tip = ancestor
  assert.equal(await statusOf(paymentId), 'PENDING')
  const branch = child(tip, 'b')
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash }))
  await commitBlock(deps, { epoch, previousHash: tip.hash }, branch, await findHits(deps, again))
  tip = branch
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await audit(again)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  const events = await database.db`select type from events where payment_id = ${paymentId}`
  assert.deepEqual(events.map((row) => row['type']).sort(), [
    'payment.confirmed',
    'payment.detected',
  ])
})

test('a branch that was left and comes back brings its transfers back', async () => {
  const { paymentId, due } = await claim(1_450)
  const ancestor = tip
  const observations = await extend((block) => [seen(block, due)])
  const left = tip
  await commitReorg(deps, { epoch, previousHash: left.hash }, ancestor)
  assert.equal(await statusOf(paymentId), 'PENDING')
  const hits = await findHits(deps, observations)
  await commitBlock(deps, { epoch, previousHash: ancestor.hash }, left, hits)
  assert.equal(await statusOf(paymentId), 'DETECTED')
  assert.deepEqual(await audit(observations), { foundCount: 0, heldCount: 0 })
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a transfer mined before a cancel but seen after it is LATE in the inbox', async () => {
  const { paymentId, due } = await claim(1_500)
  await cancelPayment(database.db, paymentId, SETTINGS)
  const observations = await extend((block) => [seen(block, due)])
  assert.equal(await statusOf(paymentId), 'CANCELED')
  const rows = await database.db`
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
  const firstBlock = tip
  await extend()
  await extend()
  const second = await extend((block) => [seen(block, due)])
  await audit(first, firstBlock)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  const [row] = await database.db`
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
  const rows = await database.db`select 1 from transfers where block_hash = ${tip.hash}`
  assert.equal(rows.length, 0)
  await audit(observations)
})

test('an amount that nobody awaits lies in the inbox of each store that has the address', async () => {
  const other = await seedStore(database.db, { wallets: [{ network: 'base', address: ADDRESS }] })
  const observations = await extend((block) => [seen(block, 123_456_789_012n)])
  const rows = await database.db<{ storeId: string }[]>`
    select i.store_id from inbox i join transfers t using (transfer_id)
    where t.amount_base_units = 123456789012 and i.state = 'UNMATCHED'`
  assert.deepEqual(
    rows.map((row) => row.storeId).sort(),
    [seller.store.storeId, other.store.storeId].sort(),
  )
  const mails = await database.db`
    select from requests
    where kind = 'mail' and body ->> 'template' = 'unmatched-transfer'
      and body ->> 'storeId' = any (${rows.map((row) => row.storeId)})`
  assert.ok(mails.length >= 2, 'a mail is asked for, for each')
  await audit(observations)
})

test('paid on the branch that won, at a height read on the one that lost: credited', async () => {
  const ancestor = tip
  await extend()
  await extend()
  const { paymentId, due } = await claim(1_700)
  await commitReorg(deps, { epoch, previousHash: tip.hash }, ancestor)
  tip = ancestor
  const observations = await extend((block) => [seen({ ...block, hash: '0xwon' }, due)])
  assert.equal(await statusOf(paymentId), 'DETECTED')
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
})

test('a reorganisation below the depth: what settled a payment stays its own when it is mined anew', async () => {
  const { db } = database
  const { paymentId, due } = await claim(1_800)
  const ancestor = tip
  const observations = await extend((block) => [seen(block, due)])
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  const { settled } = await commitReorg(deps, { epoch, previousHash: tip.hash }, ancestor)
  assert.deepEqual(settled, [paymentId], 'the alarm names it')
  const row = await readCursor(db, NAME)
  assert.equal(row?.auditedNumber, ancestor.number, 'the mark went back with the cursor')
  tip = ancestor
  const branch = { ...child(tip), hash: '0xanew' }
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash, index: 900 }))
  await commitBlock(deps, { epoch, previousHash: tip.hash }, branch, await findHits(deps, again))
  tip = branch
  assert.deepEqual(await audit(again), { foundCount: 0, heldCount: 0 })
  const rows = await db`
    select state, block_hash, log_index, payment_id from transfers where tx_hash = ${again[0]?.txHash ?? ''}`
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [{ state: 'MATCHED', blockHash: '0xanew', logIndex: 900, paymentId }],
  )
})

test('a reorganisation below the depth: what a payment was guessed for is not credited to another when it is mined anew', async () => {
  const { db } = database
  const { paymentId, due } = await claim(10_000_000_000)
  const ancestor = tip
  const observations = await extend((block) => [seen(block, due / 2n)])
  await audit(observations)
  assert.equal(await statusOf(paymentId), 'UNDERPAID')
  const other = await claim(9_000_000_000)
  await commitReorg(deps, { epoch, previousHash: tip.hash }, ancestor)
  tip = ancestor
  const branch = { ...child(tip), hash: '0xguessed' }
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash }))
  await commitBlock(deps, { epoch, previousHash: tip.hash }, branch, await findHits(deps, again))
  tip = branch
  assert.deepEqual(await audit(again), { foundCount: 0, heldCount: 0 })
  assert.equal(await statusOf(other.paymentId), 'PENDING')
  const rows = await db`
    select state, block_hash, payment_id, is_held from transfers where tx_hash = ${again[0]?.txHash ?? ''}`
  assert.deepEqual(
    rows.map((one) => ({ ...one })),
    [{ state: 'MATCHED', blockHash: '0xguessed', paymentId, isHeld: false }],
  )
  await cancelPayment(db, other.paymentId, SETTINGS)
})

test('two reorganisations below the depth, the second back to a branch read before: the follower goes on', async () => {
  const { db } = database
  const { paymentId, due } = await claim(2_100)
  const ancestor = tip
  const first = { ...child(tip), hash: '0xfirst' }
  const transfer = seen(first, due)
  const stand = async (block: BlockRef) => {
    const hits = await findHits(deps, [{ ...transfer, blockHash: block.hash }])
    await commitBlock(deps, { epoch, previousHash: tip.hash }, block, hits)
    tip = block
  }
  const leave = async () => {
    await commitReorg(deps, { epoch, previousHash: tip.hash }, ancestor)
    tip = ancestor
  }
  await stand(first)
  await leave()
  await stand({ ...first, hash: '0xsecond' })
  await audit([{ ...transfer, blockHash: tip.hash }])
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
  const { db } = database
  await db`update stores set top_up_until_expiry = true where store_id = ${seller.store.storeId}`
  const { paymentId, due } = await claim(90_000_000)
  const ancestor = tip
  const half = due / 2n
  const observations = await extend((block) => [seen(block, half)])
  await audit(observations)
  await commitReorg(deps, { epoch, previousHash: tip.hash }, ancestor)
  tip = ancestor
  const branch = { ...child(tip), hash: '0xpart' }
  const again = observations.map((one) => ({ ...one, blockHash: branch.hash }))
  await commitBlock(deps, { epoch, previousHash: tip.hash }, branch, await findHits(deps, again))
  tip = branch
  await audit(again)
  const [row] = await db`
    select status, received_base_units from payments where payment_id = ${paymentId}`
  assert.deepEqual({ ...row }, { status: 'DETECTED', receivedBaseUnits: half })
  const rest = await extend((block) => [seen(block, due - half)])
  await audit(rest)
  assert.equal(await statusOf(paymentId), 'CONFIRMED')
  await db`update stores set top_up_until_expiry = false where store_id = ${seller.store.storeId}`
})

test('what is held counts when a later reading finds it, and is taken back when its block was replaced', async () => {
  const { db } = database
  const found = await claim(1_900)
  const left = await claim(40_000)
  const observations = await extend((block) => [
    seen(block, found.due),
    seen(block, left.due, { blockHash: '0xleft' }),
  ])
  const block = tip
  assert.deepEqual(await audit([]), { foundCount: 0, heldCount: 2 })
  await extend()
  await audit([])
  const range = { from: block.number, last: block, position: tip.number, epoch }
  const reading = observations.slice(0, 1)
  assert.deepEqual(await commitReread(deps, range, reading), { foundCount: 0, heldCount: 0 })
  assert.equal(await statusOf(found.paymentId), 'CONFIRMED')
  assert.equal(await statusOf(left.paymentId), 'PENDING')
  const row = await readCursor(db, NAME)
  assert.equal(row?.auditedNumber, tip.number, 'the mark stays where it was')
  await assert.rejects(commitReread(deps, { ...range, epoch: epoch - 1 }, reading), Fenced)
})
