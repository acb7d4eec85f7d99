import type { Tx } from '#shared/db.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import { readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import { isNoticed } from '#shared/payments/settle.ts'
import { movePayment } from '#shared/payments/transition.ts'

/**
 * Sums what is attributed to each payment now and lets it be detected, or taken back. The payments must be locked;
 * those that are not in `locked` are passed over. Answers the ids of the payments that moved.
 */
export async function noticeCredits(
  tx: Tx,
  locked: ReadonlyMap<string, LockedPayment>,
  paymentIds: readonly string[],
  position: number | null,
  settings: DoorSettings,
): Promise<string[]> {
  const credits = await readCredits(tx, [...new Set(paymentIds)])
  const moved: string[] = []
  for (const [paymentId, credit] of credits) {
    const payment = locked.get(paymentId)
    if (!payment) continue
    const receivedBaseUnits = credit.reduce((sum, { amountBaseUnits }) => sum + amountBaseUnits, 0n)
    const first = credit[0]
    const isEnough = isNoticed(receivedBaseUnits, payment.amountBaseUnits)
    const after = isEnough
      ? await movePayment(
          tx,
          payment,
          'transferSeen',
          {
            receivedBaseUnits,
            position,
            ...(first ? { txHash: first.txHash, blockNumber: first.blockNumber } : {}),
          },
          settings,
        )
      : await movePayment(
          tx,
          payment,
          'retracted',
          { receivedBaseUnits, txHash: null, blockNumber: null },
          settings,
        )
    if (after) moved.push(paymentId)
    else await writeReceived(tx, paymentId, receivedBaseUnits)
  }
  return moved
}

/** Writes what a payment received so far, without touching its status. */
export async function writeReceived(tx: Tx, paymentId: string, received: bigint): Promise<void> {
  await tx`
    update payments set received_base_units = ${received}
    where payment_id = ${paymentId} and received_base_units <> ${received}`
}
