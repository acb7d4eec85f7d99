import type { Log } from '#shared/log.ts'
import { commitAudit } from './audit.ts'
import { type CommitDeps, commitBlock, commitReorg, Fenced, findHits } from './commit.ts'
import {
  type CursorRow,
  readBlocks,
  readCursor,
  readHeldAddresses,
  readIsAuditWanted,
  readOldestOpen,
  readOpenAddresses,
  swapAudited,
  swapCursor,
  writeHead,
} from './cursor.ts'
import type { Doorbell } from './doorbell.ts'
import type { BlockRef, Driver, WakeHandle } from './drivers/driver.ts'

export type FollowDeps = CommitDeps & {
  driver: Driver
  doorbell: Doorbell
  nowMs(): number
  log: Log
}

/** A leader's view of its deployment: where the cursor stands, and how far blocks were read twice. */
type Place = { epoch: number; cursor: BlockRef; auditedNumber: number; auditedAtMs: number }

/** This many blocks from the head are read one by one and by hash; what lies further behind, in ranges. */
const NEAR_BLOCKS = 8
/** Blocks asked for in one range; the driver takes fewer when the node bears fewer. */
const RANGE_BLOCKS_MAX = 2_000
/** Blocks read a second time in one transaction. */
const AUDIT_BLOCKS_MAX = 500
/** With nothing waiting for depth, blocks are read the second time at least this often, in milliseconds. */
const AUDIT_EVERY_MS = 10_000
/** Milliseconds between looks at the head when the doorbell works, and when it does not. */
const POLL_MS = 4_000
const POLL_WITHOUT_SOCKET_MS = 1_000
/** Recipients a log subscription is narrowed to; with more, new heads alone ring. */
const WATCHED_ADDRESSES_MAX = 100
/** Binary search over block heights: 2^48 blocks are enough for any chain. */
const SEARCH_STEPS_MAX = 48

/**
 * Follows a deployment as its leader until `isStopped` or until somebody else leads ({@link Fenced}). Start-up, gap and
 * tip are one path: look at the head, read what lies between, read again what is at depth, wait for the doorbell.
 */
export async function lead(
  deps: FollowDeps,
  epoch: number,
  isStopped: () => boolean,
): Promise<void> {
  const place = await findPlace(deps, epoch)
  const wake = deps.driver.wake(() => deps.doorbell.ring())
  try {
    while (!isStopped()) {
      await pass(deps, place, wake, isStopped)
      const { socketAlive } = deps.driver.health()
      await deps.doorbell.wait(socketAlive ? POLL_MS : POLL_WITHOUT_SOCKET_MS)
    }
  } finally {
    wake.stop()
  }
}

async function pass(
  deps: FollowDeps,
  place: Place,
  wake: WakeHandle,
  isStopped: () => boolean,
): Promise<void> {
  const head = await deps.driver.head()
  await writeHead(deps.db, deps.deployment.deployment, head)
  await tellRecipients(deps)
  let isMoving = true
  while (isMoving && place.cursor.number < head.number && !isStopped()) {
    isMoving = await step(deps, place, head)
    if (isMoving) await audit(deps, place)
  }
  await audit(deps, place)
  const addresses = await readOpenAddresses(
    deps.db,
    deps.deployment.deployment,
    WATCHED_ADDRESSES_MAX + 1,
  )
  wake.watch(addresses.length <= WATCHED_ADDRESSES_MAX ? addresses : [])
}

/** Tells a driver that reads by recipient who may be paid. Has to follow the reading of the head. */
async function tellRecipients({ db, driver, deployment }: FollowDeps): Promise<void> {
  if (!driver.expect) return
  const max = (driver.recipientsMax ?? WATCHED_ADDRESSES_MAX) + 1
  await driver.expect(await readHeldAddresses(db, deployment.deployment, max))
}

/** Reads and commits the next block or range; false when the node does not have it yet. */
async function step(deps: FollowDeps, place: Place, head: BlockRef): Promise<boolean> {
  const gap = head.number - place.cursor.number
  return gap > (deps.driver.nearBlocks ?? NEAR_BLOCKS)
    ? stepRange(deps, place, head)
    : stepBlock(deps, place)
}

async function stepBlock(deps: FollowDeps, place: Place): Promise<boolean> {
  const reading = await deps.driver.blockWithTransfers(place.cursor.number + 1)
  if (!reading) return false
  if (reading.block.parentHash !== place.cursor.hash) return goBack(deps, place)
  await advance(deps, place, reading.block, reading.transfers)
  return true
}

async function stepRange(deps: FollowDeps, place: Place, head: BlockRef): Promise<boolean> {
  const { driver, log } = deps
  const current = await driver.block(place.cursor.number)
  if (!current) return false
  if (current.hash !== place.cursor.hash) return goBack(deps, place)
  const from = place.cursor.number + 1
  const near = driver.nearBlocks ?? NEAR_BLOCKS
  const to = Math.min(head.number - near, from + RANGE_BLOCKS_MAX - 1)
  const startedAtMs = deps.nowMs()
  const { last, transfers, parentHash } = await driver.rangeWithTransfers(from, to)
  if (parentHash !== undefined && parentHash !== place.cursor.hash) return goBack(deps, place)
  await advance(deps, place, last, transfers)
  // Where the tip is read in ranges too, reaching it is nothing to tell.
  if (near === 0 && last.number >= head.number) return true
  const elapsedS = Math.max(0.001, (deps.nowMs() - startedAtMs) / 1000)
  log.info('catching up', {
    block: last.number,
    behind: head.number - last.number,
    blocksPerSecond: Math.round((last.number - from + 1) / elapsedS),
  })
  return true
}

async function advance(
  deps: FollowDeps,
  place: Place,
  block: BlockRef,
  transfers: Parameters<typeof findHits>[1],
): Promise<void> {
  const hits = await findHits(deps, transfers)
  await commitBlock(deps, { epoch: place.epoch, previousHash: place.cursor.hash }, block, hits)
  place.cursor = block
}

/** Walks back along the stored blocks to one the chain still has. */
async function goBack(deps: FollowDeps, place: Place): Promise<boolean> {
  const { deployment } = deps.deployment
  const stored = await readBlocks(deps.db, deployment)
  let ancestor: BlockRef | undefined
  for (const known of stored) {
    const current = await deps.driver.block(known.number)
    if (current?.hash !== known.hash) continue
    ancestor = current
    break
  }
  if (!ancestor) {
    const oldest = stored.at(-1)?.number ?? place.cursor.number
    deps.log.error('the chain was reorganised deeper than any stored block', { oldest })
    ancestor = await deps.driver.block(Math.max(0, oldest - 1))
    if (!ancestor) return false
  }
  deps.log.warn('reorganisation', { from: place.cursor.number, to: ancestor.number })
  await commitReorg(deps, { epoch: place.epoch, previousHash: place.cursor.hash }, ancestor)
  place.cursor = ancestor
  if (place.auditedNumber > ancestor.number) {
    deps.log.error('the chain was reorganised below the confirmation depth', {
      audited: place.auditedNumber,
      ancestor: ancestor.number,
    })
    await moveAudited(deps, place, ancestor)
  }
  return true
}

/** Reads blocks at depth again, when something waits for it or it is time. */
async function audit(deps: FollowDeps, place: Place): Promise<void> {
  const { deployment } = deps.deployment
  const depthBlock = await readDepthBlock(deps, place)
  if (depthBlock <= place.auditedNumber) return
  const isDue = deps.nowMs() - place.auditedAtMs >= AUDIT_EVERY_MS
  if (!isDue && !(await readIsAuditWanted(deps.db, deployment, depthBlock))) return
  while (place.auditedNumber < depthBlock) {
    const from = place.auditedNumber + 1
    const to = Math.min(depthBlock, from + AUDIT_BLOCKS_MAX - 1)
    if (!(await auditRange(deps, place, from, to))) return
  }
}

/** The newest block that is deep enough: by the chain's own word where it has one, else by counting. */
async function readDepthBlock({ driver, deployment }: FollowDeps, place: Place): Promise<number> {
  if (!driver.finalizedNumber) return place.cursor.number - deployment.confirmations + 1
  return Math.min(place.cursor.number, await driver.finalizedNumber())
}

async function auditRange(
  deps: FollowDeps,
  place: Place,
  from: number,
  to: number,
): Promise<boolean> {
  const { driver, log } = deps
  const last = await driver.block(to)
  const reading = await driver.auditTransfers(from, to)
  if (!last || reading.lastHash !== last.hash) {
    log.warn('two readings see different blocks at depth', { block: to, method: reading.method })
    return false
  }
  const position = place.cursor.number
  const range = { from, last, position, epoch: place.epoch }
  const { foundCount, heldCount } = await commitAudit(deps, range, reading.transfers)
  place.auditedNumber = to
  place.auditedAtMs = deps.nowMs()
  if (foundCount + heldCount > 0) {
    log.error('two readings of the same blocks differ', { from, to, foundCount, heldCount })
  }
  return true
}

async function moveAudited(deps: FollowDeps, place: Place, block: BlockRef): Promise<void> {
  const { deployment } = deps.deployment
  const { number, timeMs } = block
  if (!(await swapAudited(deps.db, { deployment, epoch: place.epoch, number, timeMs }))) {
    throw new Fenced()
  }
  place.auditedNumber = number
}

async function findPlace(deps: FollowDeps, epoch: number): Promise<Place> {
  const { deployment } = deps.deployment
  const row = await readCursor(deps.db, deployment)
  const auditedAtMs = deps.nowMs()
  if (isStarted(row)) {
    const cursor = { number: row.blockNumber, hash: row.blockHash, parentHash: '', timeMs: 0 }
    return { epoch, cursor, auditedNumber: row.auditedNumber ?? row.blockNumber, auditedAtMs }
  }
  const cursor = await findFirstBlock(deps)
  deps.log.info('starts following', { block: cursor.number })
  const swap = { deployment, epoch, previousHash: null, block: cursor }
  if (!(await swapCursor(deps.db, swap))) throw new Fenced()
  const place = { epoch, cursor, auditedNumber: cursor.number, auditedAtMs }
  await moveAudited(deps, place, cursor)
  return place
}

type StartedRow = CursorRow & { blockNumber: number; blockHash: string }

function isStarted(row: CursorRow | undefined): row is StartedRow {
  return row !== undefined && row.blockNumber !== null && row.blockHash !== null
}

/**
 * Where a deployment that never ran begins: at the head, or, when payments wait already, at the last block older than
 * the oldest of them, so that nothing paid meanwhile is missed.
 */
async function findFirstBlock(deps: FollowDeps): Promise<BlockRef> {
  const { driver, deployment } = deps
  const head = await driver.head()
  const oldest = await readOldestOpen(deps.db, deployment.deployment)
  if (!oldest) return head
  const beforeMs = oldest.getTime() - deployment.clockToleranceMs
  let low = 0
  let high = head.number
  let found: BlockRef | undefined
  for (let stepCount = 0; low <= high && stepCount < SEARCH_STEPS_MAX; stepCount += 1) {
    const middle = Math.floor((low + high) / 2)
    const block = await driver.block(middle)
    if (block && block.timeMs < beforeMs) {
      found = block
      low = middle + 1
    } else {
      high = middle - 1
    }
  }
  return found ?? (await driver.block(0)) ?? head
}
