import type { Deployment } from '#shared/networks/registry.ts'
import { commitBlock, findMatchable } from './commit.ts'
import { keepContracts } from './contracts.ts'
import { writeHaltedReason, writeHead, writeRate } from './cursor.ts'
import type { BlockRef, RangeWithTransfers, WakeHandle } from './drivers/driver.ts'
import { createPace, type Pace } from './pace.ts'
import { checkClock, checkGenesis, type FollowDeps, findPlace, type Place } from './place.ts'
import { createProgress, type Progress } from './progress.ts'
import type { Hit } from './queries.ts'
import { readHeldAddresses, readOpenAddresses } from './recipients.ts'
import { goBack } from './reorganise.ts'
import { audit } from './reread.ts'
import { rescan, takeRequests } from './rescan.ts'
import { RpcError } from './rpc-error.ts'

export type { FollowDeps } from './place.ts'

/** This many blocks from the head are read one by one and by hash; what lies further behind, in ranges. */
const NEAR_BLOCKS = 8
/** Chains with faster blocks are read in ranges up to the head, in one pass a second. */
const FAST_BLOCK_MS = 1_000
/** Blocks asked for in one range; the driver takes fewer when the node bears fewer. */
const RANGE_BLOCKS_MAX = 2_000
/** Blocks behind the head from which on it is a catch-up; more where they come faster than these milliseconds have them. */
const BEHIND_BLOCKS = 100
const BEHIND_MS = 60_000
/** Milliseconds of a catch-up between two looks at the head. */
const PASS_MS_MAX = 5_000
/**
 * Milliseconds between second readings while far behind: what was mined since comes first, what is at depth gets the third of
 * the time that one turn of second readings takes at most.
 */
const AUDIT_BEHIND_EVERY_MS = 10_000
/**
 * Milliseconds for which second readings wait after a block with hits: what it set off is told within them, and wants the same
 * cores and the same disk. Under a stream of such blocks since the first of them.
 */
const AUDIT_AFTER_HITS_MS = 30
/** Recipients a log subscription is narrowed to; with more, new heads alone ring. */
const WATCHED_ADDRESSES_MAX = 100
/** Milliseconds between two looks at the genesis while the head is lower than the cursor. */
const GENESIS_EVERY_MS = 10_000
/** Milliseconds before a failed pass is tried again: doubles up to the maximum, and starts anew after a success. */
const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 4_000
/** A leader whose nodes fail for so many milliseconds lets another process try, whose nodes may be better. */
const FAILING_MS_MAX = 20_000

type Leader = FollowDeps & {
  place: Place
  pace: Pace
  wake: WakeHandle
  progress: Progress
  isStopped: () => boolean
  /** Nobody waits for a payment here: few calls matter more than an early look. */
  isIdle: boolean
  /** Whose turn it is while calls are spared: new blocks', or, in between, those to be read a second time. */
  isAuditTurn: boolean
  genesisAtMs: number
  /** Whether the row may hold a rate: one of a leader before, too. */
  hasRate: boolean
  /** When a catch-up last read blocks a second time, or began, by the process's clock. */
  auditedBehindAtMs: number
  /** When hits were stored that no second readings followed yet, by the process's clock. */
  hitAtMs?: number | undefined
  /** The range behind the one being committed. */
  prepared?: { from: number; work: Promise<Prepared | undefined> } | undefined
}

/** A range that was read, and which of its transfers are sellers'. */
type Prepared = { range: RangeWithTransfers; hits: Hit[] }

/**
 * Follows a deployment as its leader until `isStopped` or until somebody else leads (`Fenced`). Start-up, gap and
 * tip are one path: look at the head, read what lies between, read again what is at depth, wait for the doorbell.
 *
 * @throws DeploymentMismatch when a node is not what the deployment's row says; `RpcError` when nodes fail for long.
 */
export async function lead(
  deps: FollowDeps,
  epoch: number,
  isStopped: () => boolean,
): Promise<void> {
  const leader = await enduring(deps, isStopped, () => begin(deps, epoch, isStopped))
  if (!leader) return
  const { pace } = leader
  leader.wake = deps.driver.wake(pace.ring)
  try {
    while (!isStopped()) {
      const isBehind = await enduring(deps, isStopped, () => pass(leader))
      await pace.rest({ isBehind: isBehind ?? false }, isStopped)
    }
  } finally {
    leader.wake.stop()
    pace.stop()
  }
}

async function begin(deps: FollowDeps, epoch: number, isStopped: () => boolean): Promise<Leader> {
  await deps.driver.check()
  await checkGenesis(deps)
  await checkClock(deps)
  await writeHaltedReason(deps.db, deps.deployment.deployment, null)
  await keepContracts(deps.db, deps.deployment)
  return {
    ...deps,
    place: await findPlace(deps, epoch),
    pace: createPace(deps),
    wake: { watch() {}, stop() {} },
    progress: createProgress(deps),
    isStopped,
    isIdle: false,
    isAuditTurn: true,
    genesisAtMs: Number.NEGATIVE_INFINITY,
    hasRate: true,
    auditedBehindAtMs: deps.nowMs(),
  }
}

/** Tries again while nodes fail, keeping the lease and the doorbell; gives up when they do for {@link FAILING_MS_MAX}. */
async function enduring<T>(
  { nowMs, log, doorbell }: FollowDeps,
  isStopped: () => boolean,
  work: () => Promise<T>,
): Promise<T | undefined> {
  let failingSinceMs: number | undefined
  for (
    let backoffMs = BACKOFF_MS;
    !isStopped();
    backoffMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2)
  ) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind === 'stopped') throw error
      failingSinceMs ??= nowMs()
      if (nowMs() - failingSinceMs > FAILING_MS_MAX) throw error
      log.warn('reading failed, trying again', { error, inMs: backoffMs })
      const dueAtMs = nowMs() + backoffMs
      // Who rings does not know that nodes fail.
      while (!isStopped() && nowMs() < dueAtMs) await doorbell.wait(dueAtMs - nowMs())
    }
  }
  return undefined
}

/** One look at the chain and all that follows from it; true while it is far behind, and to be continued at once. */
async function pass(leader: Leader): Promise<boolean> {
  const { driver, db, deployment, place, isIdle } = leader
  const name = deployment.deployment
  const readOpen = () => readOpenAddresses(db, name, WATCHED_ADDRESSES_MAX + 1)
  const [wish, head, early] = await Promise.all([
    takeRequests(db, name),
    driver.head(),
    isIdle ? undefined : readOpen(),
  ])
  // With nobody waiting the head takes its time: somebody may have come meanwhile.
  const open = early ?? (await readOpen())
  leader.isIdle = open.length === 0 && !wish
  leader.pace.spare(isThrifty(leader, head))
  // What it tells is for others: the transfers of a block at the tip do not wait for it, nor for the disk it keeps busy.
  const isNear = head.number - place.cursor.number <= NEAR_BLOCKS
  const tell = () => settled(writeHead(db, name, head))
  const told = isNear ? undefined : tell()
  const isBehind = await readUpTo(leader, head, open).finally(async () => {
    const failure = await (told ?? tell())
    if (failure) throw failure.error
  })
  if (!isBehind && wish) await rescan(leader, { ...place, position: place.cursor.number }, wish)
  return isBehind
}

/** A promise that is looked at later, and may fail before. */
function settled(work: Promise<void>): Promise<{ error: unknown } | undefined> {
  return work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
}

/** Whether few calls matter more than time: nobody waits, and it is not far behind. */
function isThrifty({ isIdle, place, deployment }: Leader, head: BlockRef): boolean {
  return isIdle && !isFar(deployment, head.number - place.cursor.number)
}

function isFar({ blockTimeMs }: Deployment, behind: number): boolean {
  return behind > Math.max(BEHIND_BLOCKS, BEHIND_MS / blockTimeMs)
}

/** Reads and commits up to the head, or as far as the time of a pass goes: then true. */
async function readUpTo(leader: Leader, head: BlockRef, open: readonly string[]): Promise<boolean> {
  const { place, isStopped, nowMs, wake, pace } = leader
  const startedAtMs = nowMs()
  if (head.number < place.cursor.number) await doubt(leader, head)
  wake.watch(open.length <= WATCHED_ADDRESSES_MAX ? open : [])
  await tellRecipients(leader)
  // Spared calls take long: the head is looked at between new blocks and second readings.
  const isSparing = isThrifty(leader, head)
  leader.isAuditTurn = isSparing && !leader.isAuditTurn
  let isMoving = !leader.isAuditTurn
  while (isMoving && place.cursor.number < head.number && !isStopped()) {
    if (!isSparing && nowMs() - startedAtMs > PASS_MS_MAX) {
      await auditBehind(leader)
      return true
    }
    isMoving = await step(leader, head)
    await tellProgress(leader, head)
  }
  if (isSparing && !leader.isAuditTurn) return false
  pace.spare(isThrifty(leader, head))
  if (await letHitsGoFirst(leader)) return false
  await auditNow(leader, isThrifty(leader, head))
  return false
}

/** Waits while second readings have to; true when something rings meanwhile: a look at the chain goes first, too. */
async function letHitsGoFirst({ hitAtMs, nowMs, doorbell }: Leader): Promise<boolean> {
  if (hitAtMs === undefined) return false
  const waitMs = hitAtMs + AUDIT_AFTER_HITS_MS - nowMs()
  if (waitMs <= 0 || !(await doorbell.wait(waitMs))) return false
  doorbell.ring()
  return true
}

/** Second readings in the middle of a catch-up, now and then. */
async function auditBehind(leader: Leader): Promise<void> {
  if (leader.nowMs() - leader.auditedBehindAtMs < AUDIT_BEHIND_EVERY_MS) return
  await auditNow(leader, leader.isIdle)
}

async function auditNow(leader: Leader, isThrifty: boolean): Promise<void> {
  // Whom transfers may be meant for depends on who is settled: what was prepared is prepared again.
  leader.prepared = undefined
  leader.hitAtMs = undefined
  await audit(leader, leader.place, isThrifty)
  leader.auditedBehindAtMs = leader.nowMs()
}

/**
 * The chain is shorter than what was read of it. Usually the node lags, or a reorganisation has just begun: nothing is taken
 * back before a longer branch is there. Unless it is another chain.
 */
async function doubt(leader: Leader, head: BlockRef): Promise<void> {
  const { place, log, nowMs } = leader
  if (nowMs() - leader.genesisAtMs < GENESIS_EVERY_MS) return
  leader.genesisAtMs = nowMs()
  log.warn('the head is lower than what was read', {
    head: head.number,
    cursor: place.cursor.number,
  })
  await checkGenesis(leader)
}

/** Tells a driver that reads by recipient who may be paid. Has to follow the reading of the head. */
async function tellRecipients({ db, driver, deployment }: FollowDeps): Promise<void> {
  if (!driver.expect) return
  const max = (driver.recipientsMax ?? WATCHED_ADDRESSES_MAX) + 1
  await driver.expect(await readHeldAddresses(db, deployment.deployment, max))
}

async function tellProgress(leader: Leader, head: BlockRef): Promise<void> {
  const { place, progress, db, deployment } = leader
  const behind = head.number - place.cursor.number
  if (!isFar(deployment, behind)) {
    if (leader.hasRate) await writeRate(db, deployment.deployment, null)
    leader.hasRate = false
    return
  }
  leader.hasRate = true
  const blocksPerSecond = progress.note(place.cursor.number, behind)
  if (blocksPerSecond !== undefined) await writeRate(db, deployment.deployment, blocksPerSecond)
}

/** Reads and commits the next block or range; false when the node does not have it yet. */
async function step(leader: Leader, head: BlockRef): Promise<boolean> {
  const { place, driver, deployment } = leader
  const isSparing = leader.isIdle || deployment.blockTimeMs < FAST_BLOCK_MS
  const near = isSparing ? 0 : (driver.nearBlocks ?? NEAR_BLOCKS)
  const gap = head.number - place.cursor.number
  return gap > near ? stepRange(leader, head.number - near) : stepBlock(leader)
}

async function stepBlock(leader: Leader): Promise<boolean> {
  const { place, driver } = leader
  const reading = await driver.blockWithTransfers(place.cursor.number + 1)
  if (!reading) return false
  if (reading.block.parentHash !== place.cursor.hash) return goBack(leader, place)
  await advance(leader, reading.block, await findMatchable(leader, reading.transfers))
  return true
}

async function stepRange(leader: Leader, upTo: number): Promise<boolean> {
  const { place, driver } = leader
  const { range, hits } = await takeRange(leader, upTo)
  const { last, parentHash } = range
  if (parentHash === undefined) {
    // The reading does not say which block it follows: so the cursor's block has to be the chain's, after it.
    const current = await driver.block(place.cursor.number)
    if (!current) return false
    if (current.hash !== place.cursor.hash) return goBack(leader, place)
  } else if (parentHash !== place.cursor.hash) return goBack(leader, place)
  prepareNext(leader, last.number + 1, upTo)
  await advance(leader, last, hits)
  return true
}

/** The range behind the cursor: as prepared, else read now. */
async function takeRange(leader: Leader, upTo: number): Promise<Prepared> {
  const { place, prepared } = leader
  leader.prepared = undefined
  const from = place.cursor.number + 1
  const known = prepared?.from === from ? await prepared.work : undefined
  if (!known || known.range.last.number > upTo) return prepareRange(leader, from, upTo)
  return { ...known, hits: known.hits.map(forgetRivals) }
}

/** Rivals for a transfer depend on what the range before it paid, which was not stored yet: they are read again. */
function forgetRivals({ candidates, ...hit }: Hit): Hit {
  const hasRivals = candidates?.some(({ kind }) => kind === 'near') ?? true
  return hasRivals ? hit : { ...hit, candidates: candidates ?? [] }
}

/**
 * Reads the next range, and looks who its recipients are, while this one is being committed. Its blocks are mined, so the slot
 * that a transfer in them needs is visible already. A failure is met again, and thrown, when its turn comes.
 */
function prepareNext(leader: Leader, from: number, upTo: number): void {
  if (from > upTo || leader.isStopped()) return
  const work = prepareRange(leader, from, upTo).catch(() => undefined)
  leader.prepared = { from, work }
}

async function prepareRange(deps: FollowDeps, from: number, upTo: number): Promise<Prepared> {
  const to = Math.min(upTo, from + RANGE_BLOCKS_MAX - 1)
  const range = await deps.driver.rangeWithTransfers(from, to)
  return { range, hits: await findMatchable(deps, range.transfers) }
}

async function advance(leader: Leader, block: BlockRef, hits: readonly Hit[]): Promise<void> {
  const { place, nowMs } = leader
  await commitBlock(leader, { epoch: place.epoch, previousHash: place.cursor.hash }, block, hits)
  place.cursor = block
  if (hits.length > 0) leader.hitAtMs ??= nowMs()
}
