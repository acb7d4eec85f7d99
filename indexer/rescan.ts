import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import { RECHECK_KIND, RESCAN_KIND, type RescanBody, type RescanResult } from '#shared/requests.ts'
import { announcePayments } from '#shared/wake.ts'
import { compareReadings, settleUpToMark } from './audit.ts'
import { type CommitDeps, findHits, storeHits } from './commit.ts'
import type { Doorbell } from './doorbell.ts'
import type { AuditReading, Driver } from './drivers/driver.ts'
import { holdTransfers, releaseHeld } from './held.ts'
import { type Hit, readStoredTransfers } from './queries.ts'

export type RescanDeps = CommitDeps & { driver: Driver; doorbell: Doorbell; log: Log }

/** An operator's wish to have blocks read once more, and how far it was fulfilled. */
export type Rescan = { requestId: string; body: RescanBody; result: RescanResult | null }

/** Blocks read once more between two looks at the head: following never waits for longer. */
const RESCAN_BLOCKS_MAX = 500
/** Readings that may fail in a row before a rescan is given up: what a node has pruned stays away. */
const FAILURES_MAX = 5
/** Transactions that are named in one line of the log. */
const TOLD_MAX = 20
const NOTHING_YET: RescanResult = { toBlock: null, foundCount: 0, heldCount: 0, failureCount: 0 }

/**
 * Takes what is asked of a deployment's leader before it looks at the chain: rechecks are answered by that look, a rescan is for
 * {@link rescan} to do.
 */
export async function takeRequests(db: Db, deployment: string): Promise<Rescan | undefined> {
  const [open] = await db<Rescan[]>`
    with looked as (
      delete from requests
      where kind = ${RECHECK_KIND} and subject = ${deployment} and done_at is null
    )
    select request_id, body, result
    from requests
    where kind = ${RESCAN_KIND} and subject = ${deployment} and done_at is null`
  return open
}

/**
 * Reads the next blocks of a rescan, and rings for the rest. Blocks that are not at depth are left to the second reading, which
 * comes anyway. What was missed is stored, matched as of its block and, being at depth, settled. A node that cannot answer ends
 * the rescan, never the following. Throws `Fenced`.
 */
export async function rescan(
  deps: RescanDeps,
  place: { epoch: number; position: number; auditedNumber: number },
  { requestId, body, result }: Rescan,
): Promise<void> {
  const before = result ?? NOTHING_YET
  const from = before.toBlock === null ? body.fromBlock : before.toBlock + 1
  const end = Math.min(body.toBlock, place.auditedNumber)
  if (from > end) return finish(deps, requestId, before)
  const reading = await readAgain(deps.driver, from, Math.min(end, from + RESCAN_BLOCKS_MAX - 1))
  if (reading instanceof Error) return noteFailure(deps, requestId, before, reading)
  const { readTo: to } = reading

  const hits = await findHits(deps, reading.transfers)
  const { position } = place
  const { after, moved, missing, gone } = await withTransaction(deps.db, async (tx) => {
    const stored = await readStoredTransfers(tx, deps.deployment, from, to)
    const { missing, gone, confirmed } = compareReadings(hits, stored)
    const noticed = await storeHits(deps, tx, missing, position)
    await holdTransfers(tx, gone)
    await releaseHeld(tx, confirmed)
    const after = {
      toBlock: to,
      foundCount: before.foundCount + missing.length,
      heldCount: before.heldCount + gone.length,
      failureCount: 0,
    }
    await writeResult(tx, requestId, after, to >= end)
    const moved = [...noticed, ...(await settleUpToMark(deps, tx, place))]
    return { after, moved, missing, gone }
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
  tellDifferences(deps, { from, to }, missing, gone)
  if (to < end) deps.doorbell.ring()
  else deps.log.info('rescan ended', { ...body, ...after })
}

/** Says what two readings and this one differ about. */
function tellDifferences(
  { log }: RescanDeps,
  range: { from: number; to: number },
  missing: readonly Hit[],
  gone: readonly string[],
): void {
  if (missing.length > 0) {
    const txHashes = missing.slice(0, TOLD_MAX).map(({ observation }) => observation.txHash)
    const facts = { ...range, foundCount: missing.length, txHashes }
    log.error('a rescan found transfers that had been missed; they are stored and count', facts)
  }
  if (gone.length > 0) {
    const facts = { ...range, heldCount: gone.length, transferIds: gone.slice(0, TOLD_MAX) }
    log.error(
      'a rescan did not find transfers again: they are held, see `ops transfer held`',
      facts,
    )
  }
}

async function readAgain(
  driver: Driver,
  from: number,
  upTo: number,
): Promise<Required<AuditReading> | Error> {
  try {
    const reading = await driver.auditTransfers(from, upTo)
    const { readTo = upTo } = reading
    const last = await driver.block(readTo)
    if (reading.lastHash === last?.hash) return { ...reading, readTo }
    return new Error(`two readings see different blocks at ${readTo}`)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

async function noteFailure(
  deps: RescanDeps,
  requestId: string,
  before: RescanResult,
  error: Error,
): Promise<void> {
  const after = { ...before, failureCount: before.failureCount + 1 }
  deps.log.warn('blocks could not be read once more', { error, failureCount: after.failureCount })
  if (after.failureCount >= FAILURES_MAX) {
    await finish(deps, requestId, {
      ...after,
      error: 'the node could not read these blocks: see the indexer’s log',
    })
  } else {
    await writeResult(deps.db, requestId, after, false)
  }
}

async function finish(
  { db, log }: RescanDeps,
  requestId: string,
  result: RescanResult,
): Promise<void> {
  await writeResult(db, requestId, result, true)
  log.info('rescan ended', result)
}

async function writeResult(
  sql: Db | Tx,
  requestId: string,
  result: RescanResult,
  isDone: boolean,
): Promise<void> {
  await sql`
    update requests set
      result = ${sql.json(result)},
      done_at = case when ${isDone} then service_now() end
    where request_id = ${requestId} and done_at is null`
}
