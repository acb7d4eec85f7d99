import { type Tx, withTransaction } from '#shared/db.ts'
import { writeReceived } from '#shared/payments/notice.ts'
import { lockPayments, readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import { settle } from '#shared/payments/settle.ts'
import { movePayment } from '#shared/payments/transition.ts'
import { announcePayments } from '#shared/wake.ts'
import { type CommitDeps, Fenced, findHits, storeHits } from './commit.ts'
import { swapAudited } from './cursor.ts'
import type { BlockRef, Observation } from './drivers/driver.ts'
import {
  type Hit,
  holdTransfers,
  markFinal,
  readPaymentsAtDepth,
  readStoredTransfers,
  releaseHeld,
  type StoredTransfer,
} from './queries.ts'

export type AuditRange = {
  /** First and last block of the second reading, both inclusive; `last` is at depth. */
  from: number
  last: BlockRef
  /** The position the deployment stands at: from which confirmations are told. */
  position: number
  epoch: number
}

/** What a second reading found that the first had not, and the other way round. */
export type AuditResult = { foundCount: number; heldCount: number }

/**
 * Compares a second reading of blocks at depth with what was stored, and lets what is at depth decide. A transfer
 * found only now is credited; one that is gone is held, with its payment undecided. Moves the mark up to which windows
 * may close. One transaction. Throws {@link Fenced}.
 */
export async function commitAudit(
  deps: CommitDeps,
  range: AuditRange,
  observations: readonly Observation[],
): Promise<AuditResult> {
  const { deployment } = deps.deployment
  const hits = await findHits(deps, observations)
  const { result, moved } = await withTransaction(deps.db, async (tx) => {
    const stored = await readStoredTransfers(tx, deployment, range.from, range.last.number)
    const { missing, gone, confirmed } = compare(hits, stored)
    const noticed = await storeHits(deps, tx, missing, range.position)
    await holdTransfers(tx, gone)
    await releaseHeld(tx, confirmed)
    const settled = await settleAtDepth(deps, tx, range)
    const { number, timeMs } = range.last
    if (!(await swapAudited(tx, { deployment, epoch: range.epoch, number, timeMs }))) {
      throw new Fenced()
    }
    return {
      result: { foundCount: missing.length, heldCount: gone.length },
      moved: [...noticed, ...settled],
    }
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
  return result
}

function compare(hits: readonly Hit[], stored: readonly StoredTransfer[]) {
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

/** Lets every payment with transfers newly at depth be settled. */
async function settleAtDepth(deps: CommitDeps, tx: Tx, range: AuditRange): Promise<string[]> {
  const { deployment } = deps.deployment
  const waiting = await readPaymentsAtDepth(tx, deployment, range.last.number)
  const locked = await lockPayments(tx, waiting)
  const credits = await readCredits(tx, [...locked.keys()])
  const moved: string[] = []
  for (const payment of locked.values()) {
    const after = await settlePayment(
      deps,
      tx,
      payment,
      credits.get(payment.paymentId) ?? [],
      range,
    )
    if (after) moved.push(payment.paymentId)
  }
  return moved
}

async function settlePayment(
  deps: CommitDeps,
  tx: Tx,
  payment: LockedPayment,
  credits: Parameters<typeof settle>[0],
  range: AuditRange,
): Promise<LockedPayment | undefined> {
  const { outcome, counted, receivedBaseUnits } = settle(credits, {
    priceBaseUnits: payment.priceBaseUnits,
    dueBaseUnits: payment.amountBaseUnits,
    confirmationsRequired: payment.confirmationsRequired,
    depthBlock: range.last.number,
    topUpUntilExpiry: payment.topUpUntilExpiry,
    isWindowClosed: range.last.timeMs > payment.expiresAt.getTime(),
  })
  const countedTransferIds = counted.map((credit) => credit.transferId)
  const last = counted.at(-1)
  if (outcome && last) {
    return movePayment(
      tx,
      payment,
      outcome,
      {
        txHash: last.txHash,
        blockNumber: last.blockNumber,
        receivedBaseUnits,
        countedTransferIds,
        position: range.position,
      },
      deps.settings,
    )
  }
  await markFinal(tx, countedTransferIds)
  const received = credits.reduce((sum, { amountBaseUnits }) => sum + amountBaseUnits, 0n)
  await writeReceived(tx, payment.paymentId, received)
  return undefined
}
