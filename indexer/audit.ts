import { type Tx, withTransaction } from '#shared/db.ts'
import { noticeCredits, sumCredits, writeReceived } from '#shared/payments/notice.ts'
import { type CreditRow, lockPayments, readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import { settle } from '#shared/payments/settle.ts'
import { movePayments, type PaymentCause } from '#shared/payments/transition.ts'
import { announcePayments } from '#shared/wake.ts'
import { type CommitDeps, Fenced, findHits, storeHits } from './commit.ts'
import { lockAudited, swapAudited } from './cursor.ts'
import type { BlockRef, Observation } from './drivers/driver.ts'
import {
  type Difference,
  groupDifferences,
  holdTransfers,
  readPlaces,
  releaseHeld,
  retractDisproved,
  retractHeld,
} from './held.ts'
import {
  type Hit,
  markFinal,
  readPaymentsAtDepth,
  readStoredTransfers,
  type StoredTransfer,
} from './queries.ts'

export type AuditRange = {
  /** First and last block of the second reading, both inclusive; `last` is at depth. */
  from: number
  last: BlockRef
  /** The position the deployment stands at: from which confirmations are told. */
  position: number
  epoch: number
  /** Nothing is to be stored when readings differ: that is to be looked into first. */
  isTrial?: boolean
  /** In how many transfers the readings differed before it was looked into. */
  differenceCount?: number
}

/** What a second reading found that the first had not, and the other way round. */
export type AuditResult = {
  foundCount: number
  heldCount: number
  /** Of a trial that stored nothing. */
  differences?: Difference[]
}

/** The same of one block; `goneIds` are stored and not found. */
export type RereadResult = { foundCount: number; heldCount: number; goneIds: string[] }

/**
 * Compares a second reading of blocks at depth with what was stored, and lets what is at depth decide. A transfer
 * found only now is credited; one that is gone is held, with its payment undecided. Moves the mark up to which windows
 * may close. One transaction, of which a trial whose readings differ stores nothing. Throws
 * {@link Fenced}.
 */
export async function commitAudit(
  deps: CommitDeps,
  range: AuditRange,
  observations: readonly Observation[],
): Promise<AuditResult> {
  const { deployment } = deps.deployment
  const hits = await findHits(deps, observations)
  const { result, moved } = await withTransaction(deps.db, async (tx) => {
    const stored = await readStoredTransfers(tx, deps.deployment, range.from, range.last.number)
    const { missing, gone, confirmed } = compareReadings(hits, stored)
    const counts = { foundCount: missing.length, heldCount: gone.length }
    const differenceCount = missing.length + gone.length
    if (differenceCount > 0 && range.isTrial) {
      const places = [...missing.map(placeOf), ...(await readPlaces(tx, gone))]
      return { result: { ...counts, differences: groupDifferences(places) }, moved: [] }
    }
    const noticed = await storeHits(deps, tx, missing, range.position)
    await holdTransfers(tx, gone)
    await releaseHeld(tx, confirmed)
    const { number, hash, timeMs } = range.last
    const depth = { depthBlock: number, depthTimeMs: timeMs, position: range.position }
    const settled = await settleAtDepth(deps, tx, depth)
    const disagreementCount = Math.max(differenceCount, range.differenceCount ?? 0)
    const mark = { deployment, epoch: range.epoch, number, hash, timeMs, disagreementCount }
    if (!(await swapAudited(tx, mark))) throw new Fenced()
    return { result: counts, moved: [...noticed, ...settled] }
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
  return result
}

/**
 * Compares one block below the mark with what is stored once more, because some of it is held: what is found counts, what
 * lies in a block that another has replaced is taken back, and so is what is gone and named in `disproved`; the rest stays
 * held. Throws {@link Fenced}.
 */
export async function commitReread(
  deps: CommitDeps,
  range: AuditRange,
  observations: readonly Observation[],
  disproved: readonly string[] = [],
): Promise<RereadResult> {
  const { deployment } = deps.deployment
  const { last, position } = range
  const hits = await findHits(deps, observations)
  const { result, moved } = await withTransaction(deps.db, async (tx) => {
    const stored = await readStoredTransfers(tx, deps.deployment, last.number, last.number)
    const { missing, gone, confirmed } = compareReadings(hits, stored)
    const noticed = await storeHits(deps, tx, missing, position)
    await holdTransfers(tx, gone)
    await releaseHeld(tx, confirmed)
    const goneForGood = gone.filter((id) => disproved.includes(id))
    const losing = [
      ...(await retractHeld(tx, deployment, last)),
      ...(await retractDisproved(tx, goneForGood)),
    ]
    const locked = await lockPayments(tx, losing)
    const lost = await noticeCredits(tx, locked, losing, position, deps.settings)
    const settled = await settleUpToMark(deps, tx, range)
    const heldCount = stored.filter(({ transferId, blockHash }) => {
      const isLeft = gone.includes(transferId) && !goneForGood.includes(transferId)
      return isLeft && blockHash === last.hash
    }).length
    return {
      result: { foundCount: missing.length, heldCount, goneIds: gone },
      moved: [...noticed, ...lost, ...settled],
    }
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
  return result
}

/** What a reading found that is not stored, what is stored and not found, and the ids of what is both. */
export function compareReadings(hits: readonly Hit[], stored: readonly StoredTransfer[]) {
  const byKey = new Map(
    stored.map((row) => [`${row.blockHash} ${row.txHash} ${row.logIndex}`, row.transferId]),
  )
  const keyOf = ({ observation: { blockHash, txHash, index } }: Hit) =>
    `${blockHash} ${txHash} ${index}`
  const confirmed = hits.flatMap((hit) => byKey.get(keyOf(hit)) ?? [])
  const confirmedIds = new Set(confirmed)
  return {
    missing: hits.filter((hit) => !byKey.has(keyOf(hit))),
    gone: stored.map((row) => row.transferId).filter((id) => !confirmedIds.has(id)),
    confirmed,
  }
}

function placeOf({ observation: { blockNumber, to } }: Hit) {
  return { blockNumber, address: to }
}

/** Up to where everything is deep enough and was read twice, and where the deployment stands. */
type Depth = { depthBlock: number; depthTimeMs: number; position: number }

/**
 * Settles what came to lie below the mark without a block being read: what a seller attached, or an operator let count. On a
 * chain that rests it would wait for the next block. Throws {@link Fenced}.
 */
export async function settleBelow(
  deps: CommitDeps,
  place: { epoch: number; position: number; auditedNumber: number },
): Promise<void> {
  const { deployment } = deps.deployment
  if ((await readPaymentsAtDepth(deps.db, deployment, place.auditedNumber)).length === 0) return
  const moved = await withTransaction(deps.db, (tx) => settleUpToMark(deps, tx, place))
  if (moved.length > 0) await announcePayments(deps.db, moved)
}

/**
 * Lets what is at depth decide, up to the mark of the second reading; answers the ids of payments that were settled. Until the
 * commit nobody else begins to lead. Throws {@link Fenced}.
 */
export async function settleUpToMark(
  deps: CommitDeps,
  tx: Tx,
  { epoch, position }: { epoch: number; position: number },
): Promise<string[]> {
  const mark = await lockAudited(tx, deps.deployment.deployment, epoch)
  if (!mark) throw new Fenced()
  const depthTimeMs = mark.auditedTime.getTime()
  return settleAtDepth(deps, tx, { depthBlock: mark.auditedNumber, depthTimeMs, position })
}

/** Lets every payment with transfers newly at depth be settled; answers the ids of those that were. */
async function settleAtDepth(deps: CommitDeps, tx: Tx, depth: Depth): Promise<string[]> {
  const { deployment } = deps.deployment
  const waiting = await readPaymentsAtDepth(tx, deployment, depth.depthBlock)
  const locked = await lockPayments(tx, waiting)
  const credits = await readCredits(tx, [...locked.keys()])
  const judged = [...locked.values()].map((payment) => {
    return judge(payment, credits.get(payment.paymentId) ?? [], depth)
  })
  const causes = judged.flatMap(({ cause }) => cause ?? [])
  const moved = await movePayments(tx, causes, deps.settings)
  const undecided = judged.filter(({ cause }) => !cause)
  await markFinal(
    tx,
    undecided.flatMap(({ countedTransferIds }) => countedTransferIds),
  )
  await writeReceived(tx, undecided)
  return [...moved.keys()]
}

/** What the transfers at depth decide about a payment, if anything yet: pure. */
function judge(payment: LockedPayment, credits: readonly CreditRow[], depth: Depth) {
  const { outcome, counted, receivedBaseUnits } = settle(credits, {
    priceBaseUnits: payment.priceBaseUnits,
    dueBaseUnits: payment.amountBaseUnits,
    confirmationsRequired: payment.confirmationsRequired,
    depthBlock: depth.depthBlock,
    topUpUntilExpiry: payment.topUpUntilExpiry,
    isWindowClosed: depth.depthTimeMs > payment.expiresAt.getTime(),
  })
  const countedTransferIds = counted.map((credit) => credit.transferId)
  const last = counted.at(-1)
  const cause: PaymentCause | undefined = outcome &&
    last && {
      payment,
      trigger: outcome,
      facts: {
        ...{ txHash: last.txHash, blockNumber: last.blockNumber },
        ...{ receivedBaseUnits, countedTransferIds, position: depth.position },
      },
    }
  return { payment, cause, countedTransferIds, receivedBaseUnits: sumCredits(credits) }
}
