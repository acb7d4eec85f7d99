import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import type { PaymentTrigger } from '#shared/payments/machine.ts'
import { lockPayments, readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import { movePayment, type PaymentFacts } from '#shared/payments/transition.ts'

/** What a simulated payment ends as (contract section 3). */
export const SIMULATED_OUTCOMES = ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED'] as const
export type SimulatedOutcome = (typeof SIMULATED_OUTCOMES)[number]

const SIMULATED: Record<
  SimulatedOutcome,
  { trigger: PaymentTrigger; received: (due: bigint) => bigint }
> = {
  CONFIRMED: { trigger: 'simulatedConfirmed', received: (due) => due },
  UNDERPAID: { trigger: 'simulatedUnderpaid', received: (due) => due / 2n },
  OVERPAID: { trigger: 'simulatedOverpaid', received: (due) => due * 2n },
  EXPIRED: { trigger: 'simulatedExpired', received: () => 0n },
}

/**
 * Cancels a payment that is still pending; any other is left as it is (spec section 3).
 * Answers whether it moved. Error: payment_not_found.
 */
export async function cancelPayment(
  db: Db,
  paymentId: string,
  settings: DoorSettings,
): Promise<boolean> {
  return withTransaction(db, async (tx) => {
    const payment = await lockPayment(tx, paymentId)
    return (await movePayment(tx, payment, 'canceled', {}, settings)) !== undefined
  })
}

/**
 * Drives an open test payment to an outcome without a chain. Errors: payment_not_found, not_test_mode, and not_open
 * when it is settled (or when something was received and the outcome is EXPIRED).
 */
export async function simulatePayment(
  db: Db,
  paymentId: string,
  outcome: SimulatedOutcome,
  settings: DoorSettings,
): Promise<void> {
  await withTransaction(db, async (tx) => {
    const payment = await lockPayment(tx, paymentId)
    if (payment.mode !== 'test') fail('not_test_mode')
    const { trigger, received } = SIMULATED[outcome]
    const facts: PaymentFacts =
      outcome === 'EXPIRED'
        ? {}
        : {
            txHash: `simulated:${paymentId}`,
            blockNumber: 0,
            receivedBaseUnits: received(payment.amountBaseUnits),
            isSimulated: true,
          }
    if (!(await movePayment(tx, payment, trigger, facts, settings))) fail('not_open')
  })
}

/**
 * Ends a payment whose window's clock has run out: one with nothing noticed expires; one that waited for a top-up and
 * has all it got at depth is underpaid; anything else still waits for the chain. `payment` must be locked, and the
 * caller vouches for the clock: the chain's position, read twice, is past `expiresAt`.
 */
export async function closeWindow(
  tx: Tx,
  payment: LockedPayment,
  settings: DoorSettings,
): Promise<LockedPayment | undefined> {
  if (payment.status === 'PENDING') {
    return movePayment(tx, payment, 'windowClosed', { receivedBaseUnits: 0n }, settings)
  }
  if (payment.status !== 'DETECTED' || !payment.topUpUntilExpiry) return undefined
  const credits = (await readCredits(tx, [payment.paymentId])).get(payment.paymentId) ?? []
  if (credits.length === 0 || credits.some((credit) => !credit.isFinal || credit.isHeld)) {
    return undefined
  }
  const countedTransferIds = credits.map((credit) => credit.transferId)
  return movePayment(tx, payment, 'lessAtDepth', { countedTransferIds }, settings)
}

async function lockPayment(tx: Tx, paymentId: string): Promise<LockedPayment> {
  return (await lockPayments(tx, [paymentId])).get(paymentId) ?? fail('payment_not_found')
}
