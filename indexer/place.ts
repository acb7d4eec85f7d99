import type { Log } from '#shared/log.ts'
import type { CommitDeps } from './commit.ts'
import { Fenced } from './commit.ts'
import {
  type CursorRow,
  keepGenesis,
  readCursor,
  readOldestOpen,
  swapAudited,
  swapCursor,
} from './cursor.ts'
import type { Doorbell } from './doorbell.ts'
import { type BlockRef, DeploymentMismatch, type Driver } from './drivers/driver.ts'

export type FollowDeps = CommitDeps & {
  driver: Driver
  doorbell: Doorbell
  nowMs(): number
  log: Log
}

/** A leader's view of its deployment: where the cursor stands, and how far blocks were read twice. */
export type Place = {
  readonly epoch: number
  cursor: BlockRef
  auditedNumber: number
  /** When everything at depth was last read twice, and held blocks last again, by the process's clock. */
  auditedAtMs: number
  rereadAtMs: number
  /** The last held block that was read again: the next round begins behind it. */
  rereadNumber: number
  /** How often in a row each held transfer was shown not to be in its block. */
  disproofs: Map<string, number>
}

/** Binary search over block heights: 2^48 blocks are enough for any chain. */
const SEARCH_STEPS_MAX = 48

/**
 * Compares the chain's first block with the one stored.
 * @throws DeploymentMismatch when the chain was exchanged for another that calls itself the same: its heights mean other
 * blocks, so that going on, or back, would forget payments silently.
 */
export async function checkGenesis({ db, driver, deployment }: FollowDeps): Promise<void> {
  const hash = await driver.genesisHash?.()
  if (hash === undefined) return
  const known = await keepGenesis(db, deployment.deployment, hash)
  if (known === undefined || known === hash) return
  throw new DeploymentMismatch(
    `${deployment.deployment}: the chain begins with block ${hash}, the one followed until now with ${known}: ` +
      'it was reset, or the RPC is of another chain. Bring the old chain back, or start with another database',
  )
}

/**
 * A chain that stands still, or a wrong clock of Postgres's, which payments are dated by: said, never guessed about. Beyond the
 * tolerance transfers are taken for older than their payments, or for late.
 */
export async function checkClock({ db, driver, deployment, log }: FollowDeps): Promise<void> {
  const head = await driver.head()
  const [row] = await db<{ now: Date }[]>`select service_now() as now`
  const aheadMs = head.timeMs - (row?.now.getTime() ?? 0)
  const { clockToleranceMs, blockTimeMs } = deployment
  if (aheadMs <= clockToleranceMs && -aheadMs <= clockToleranceMs + blockTimeMs) return
  log.warn(
    "the newest block's time is far from Postgres's clock: payments may be refused as older or late",
    {
      block: head.number,
      aheadS: Math.round(aheadMs / 1_000),
    },
  )
}

/** Where the cursor stands as the row says; for a deployment that never ran, where it begins. Throws {@link Fenced}. */
export async function findPlace(deps: FollowDeps, epoch: number): Promise<Place> {
  const { deployment } = deps.deployment
  const row = await readCursor(deps.db, deployment)
  const now = deps.nowMs()
  const begin = (cursor: BlockRef, auditedNumber: number): Place => {
    const reread = { rereadAtMs: now, rereadNumber: 0, disproofs: new Map<string, number>() }
    return { epoch, cursor, auditedNumber, auditedAtMs: 0, ...reread }
  }
  if (isStarted(row)) {
    const cursor = { number: row.blockNumber, hash: row.blockHash, parentHash: '', timeMs: 0 }
    return begin(cursor, row.auditedNumber ?? row.blockNumber)
  }
  const cursor = await findFirstBlock(deps)
  deps.log.info('starts following', { block: cursor.number })
  const swap = { deployment, epoch, previousHash: null, block: cursor }
  if (!(await swapCursor(deps.db, swap))) throw new Fenced()
  if (!(await swapAudited(deps.db, { deployment, epoch, ...cursor }))) throw new Fenced()
  return begin(cursor, cursor.number)
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
  const first = (await driver.firstNumber?.()) ?? 0
  let low = first
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
  return found ?? (await driver.block(first)) ?? head
}
