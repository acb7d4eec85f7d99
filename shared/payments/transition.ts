import type { Tx } from '#shared/db.ts'
import { insertEvent, paymentEvent } from '#shared/events.ts'
import { newOrderKey } from '#shared/ids.ts'
import { type DoorSettings, runEffects } from '#shared/payments/effects.ts'
import {
  isTerminal,
  nextPaymentMove,
  type PaymentMove,
  type PaymentTrigger,
} from '#shared/payments/machine.ts'
import { confirmationsOf, type LockedPayment } from '#shared/payments/row.ts'

/** What a trigger brings along. Absent fields stay as they are. */
export type PaymentFacts = {
  txHash?: string | null
  blockNumber?: number | null
  receivedBaseUnits?: bigint
  isSimulated?: boolean
  /** The transfers that decided a terminal status; every other one goes to the inbox. */
  countedTransferIds?: readonly string[]
  /** The deployment's position, from which confirmations are told. */
  position?: number | null
}

/**
 * The one door through which a payment's status changes. `payment` must be locked by this transaction
 * (`lockPayments`). Asks the machine, writes the status, the event and the move, and runs the effects: slot, volume,
 * session, origin, inbox. Answers the payment after the move, or undefined when the trigger is ignored in its status,
 * in which case nothing is written.
 */
export async function movePayment(
  tx: Tx,
  payment: LockedPayment,
  trigger: PaymentTrigger,
  facts: PaymentFacts,
  settings: DoorSettings,
): Promise<LockedPayment | undefined> {
  const move = nextPaymentMove(payment.status, trigger)
  if (!move) return undefined
  const moved = applyMove(payment, move, facts)
  await writePayment(tx, payment, moved, trigger)
  if (move.event) {
    const confirmations = confirmationsOf(moved, facts.position ?? null)
    await insertEvent(
      tx,
      paymentEvent(moved, move.event, { createdAt: payment.now, confirmations }),
    )
  }
  await runEffects(tx, moved, facts.countedTransferIds ?? [], settings)
  return moved
}

/** The row after a move: pure. */
function applyMove(payment: LockedPayment, move: PaymentMove, facts: PaymentFacts): LockedPayment {
  const { txHash, blockNumber, receivedBaseUnits, isSimulated } = facts
  return {
    ...payment,
    ...(txHash === undefined ? {} : { txHash }),
    ...(blockNumber === undefined ? {} : { blockNumber }),
    ...(receivedBaseUnits === undefined ? {} : { receivedBaseUnits }),
    ...(isSimulated === undefined ? {} : { isSimulated }),
    status: move.to,
    detectedAt:
      move.to === 'DETECTED' ? payment.now : move.to === 'PENDING' ? null : payment.detectedAt,
    settledAt: isTerminal(move.to) ? payment.now : null,
  }
}

async function writePayment(
  tx: Tx,
  before: LockedPayment,
  after: LockedPayment,
  trigger: PaymentTrigger,
): Promise<void> {
  await tx`
    with moved as (
      update payments set
        status = ${after.status},
        tx_hash = ${after.txHash},
        block_number = ${after.blockNumber},
        received_base_units = ${after.receivedBaseUnits},
        is_simulated = ${after.isSimulated},
        detected_at = ${after.detectedAt},
        settled_at = ${after.settledAt}
      where payment_id = ${after.paymentId}
      returning payment_id
    )
    insert into payment_moves (payment_id, move_key, from_status, to_status, trigger)
    select payment_id, ${newOrderKey()}, ${before.status}, ${after.status}, ${trigger} from moved`
}
