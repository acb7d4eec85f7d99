import assert from 'node:assert/strict'
import { after, before, beforeEach } from 'node:test'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { buildDeployments, type Deployment } from '#shared/networks/registry.ts'
import { commitAudit } from '../../indexer/audit.ts'
import { type CommitDeps, commitBlock, findHits } from '../../indexer/commit.ts'
import { readCursor, registerDeployment, swapAudited, swapCursor } from '../../indexer/cursor.ts'
import type { BlockRef, Observation } from '../../indexer/drivers/driver.ts'
import { takeLease } from '../../indexer/lease.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_DOOR } from '../support/door.ts'
import { assertOneStory } from '../support/oracle.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const NAME = 'base:test'

/** A deployment followed by the test's own hand: its rows, and the chain as the test tells it, one block a second. */
export const story = {} as {
  database: TestDatabase
  deps: CommitDeps
  seller: SeededStore
  epoch: number
  tip: BlockRef
}

/** Makes the story before the tests of a file, and has it judged after them. */
export function tellStory(): void {
  before(async () => {
    story.database = await createTestDatabase()
    const { db } = story.database
    const rpc = ['http://127.0.0.1:9']
    const tokens = { usdc: { contract: USDC, decimals: 6 } }
    const all = buildDeployments({ base: { test: { rpc, tokens, confirmations: 3 } } })
    const deployment = all.get(NAME) as Deployment
    story.deps = { db, deployment, settings: TEST_DOOR, log: silentLog }
    story.seller = await seedStore(db, { wallets: [{ network: 'base', address: ADDRESS }] })
  })
  after(async () => {
    await assertOneStory({ db: story.database.db })
    await story.database.drop()
  })
  beforeEach(async () => {
    const { db } = story.database
    await registerDeployment(db, story.deps.deployment)
    story.epoch = (await takeLease(db, NAME, 'test')) ?? 0
    const row = await readCursor(db, NAME)
    if (row?.blockNumber) return
    story.tip = { number: 1_000, hash: '0x1000', parentHash: '0x999', timeMs: Date.now() }
    const { epoch, tip } = story
    assert.ok(await swapCursor(db, { deployment: NAME, epoch, previousHash: null, block: tip }))
    assert.ok(await swapAudited(db, { deployment: NAME, epoch, ...tip }))
  })
}

/** Claims a slot as checkout does, for a whole number of cents; `changes` are other columns, of another network say. */
export async function claim(
  amountCents: number,
  changes: Record<string, unknown> = {},
): Promise<{ paymentId: string; due: bigint }> {
  const paymentId = newId('pay')
  const payment = {
    payment_id: paymentId,
    store_id: story.seller.store.storeId,
    account_id: story.seller.account.accountId,
    mode: 'test',
    network: 'base',
    token: 'usdc',
    deployment: NAME,
    contract: USDC,
    decimals: 6,
    clock: 'CHAIN',
    confirmations_required: 3,
    amount_cents: amountCents,
    ...changes,
  }
  const { db } = story.database
  const [row] = await db<{ code: string | null; due: bigint }[]>`
    select code, (payment).amount_base_units as due
    from claim_slot(jsonb_populate_record(null::payments, ${db.json(payment)}), 60, null, null, 100)`
  assert.equal(row?.code, null)
  return { paymentId, due: row?.due ?? 0n }
}

let logIndex = 0
export function seen(
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

export function child(parent: BlockRef, branch = ''): BlockRef {
  const number = parent.number + 1
  return { number, hash: `0x${number}${branch}`, parentHash: parent.hash, timeMs: Date.now() }
}

export async function extend(
  observe: (block: BlockRef) => Observation[] = () => [],
): Promise<Observation[]> {
  const block = child(story.tip)
  const observations = observe(block)
  const fence = { epoch: story.epoch, previousHash: story.tip.hash }
  await commitBlock(story.deps, fence, block, await findHits(story.deps, observations))
  story.tip = block
  return observations
}

export async function audit(
  observations: Observation[],
  last: BlockRef = story.tip,
): Promise<unknown> {
  const row = await readCursor(story.database.db, NAME)
  const from = (row?.auditedNumber ?? 0) + 1
  return commitAudit(
    story.deps,
    { from, last, position: story.tip.number, epoch: story.epoch },
    observations,
  )
}

export async function statusOf(paymentId: string): Promise<unknown> {
  const [row] = await story.database.db`select status from payments where payment_id = ${paymentId}`
  return row?.['status']
}
