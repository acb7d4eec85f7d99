import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import type { PaymentTrigger } from '#shared/payments/machine.ts'
import { type CreditRow, lockPayments, readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import {
  movePayment,
  movePayments,
  type PaymentCause,
  type PaymentFacts,
} from '#shared/payments/transition.ts'

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
 * Ends payments whose window's clock has run out: one with nothing noticed expires; one that waited for a top-up and
 * has all it got at depth is underpaid, whether or not its store still waits for any; any other still waits for the
 * chain. They must be locked, and the caller vouches for the clock: the chain's position, read twice, is past
 * `expiresAt`. Answers the ids of those that moved.
 */
export async function closeWindows(
  tx: Tx,
  payments: readonly LockedPayment[],
  settings: DoorSettings,
): Promise<string[]> {
  const waiting = payments.filter((one) => one.status === 'DETECTED')
  const credits = await readCredits(
    tx,
    waiting.map(({ paymentId }) => paymentId),
  )
  const causes = payments.flatMap((payment) => {
    return toClosing(payment, credits.get(payment.paymentId) ?? []) ?? []
  })
  return [...(await movePayments(tx, causes, settings)).keys()]
}

function toClosing(payment: LockedPayment, credits: readonly CreditRow[]): PaymentCause | null {
  if (payment.status === 'PENDING') {
    return { payment, trigger: 'windowClosed', facts: {} }
  }
  const areAtDepth = credits.every((credit) => credit.isFinal && !credit.isHeld)
  if (credits.length === 0 || !areAtDepth) return null
  const countedTransferIds = credits.map((credit) => credit.transferId)
  return { payment, trigger: 'lessAtDepth', facts: { countedTransferIds } }
}

async function lockPayment(tx: Tx, paymentId: string): Promise<LockedPayment> {
  return (await lockPayments(tx, [paymentId])).get(paymentId) ?? fail('payment_not_found')
}
