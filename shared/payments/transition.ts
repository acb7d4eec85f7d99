import { assert } from '#shared/assert.ts'
import { column } from '#shared/db/columns.ts'
import { inParts } from '#shared/db/parts.ts'
import type { Tx } from '#shared/db.ts'
import { type EventDraft, insertEvents, paymentEvent } from '#shared/events.ts'
import { newOrderKey } from '#shared/ids.ts'
import { type DoorSettings, runEffects } from '#shared/payments/effects.ts'
import {
  isCredited,
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

/** A trigger, the payment it concerns and what it brings along. */
export type PaymentCause = { payment: LockedPayment; trigger: PaymentTrigger; facts: PaymentFacts }

/** A cause for which the machine has a move. */
type Decided = {
  before: LockedPayment
  after: LockedPayment
  trigger: PaymentTrigger
  event: EventDraft | undefined
  countedTransferIds: readonly string[]
}

/** Moves written in one statement: far below the server's deadline for one. */
const MOVES_MAX = 1_000

/**
 * The one door through which the status of payments changes: many at once, or one. They must be locked by this
 * transaction (`lockPayments`), and each be named once. Asks the machine for each, writes statuses, moves and events,
 * and runs the effects: slots, volume, sessions, origins, subscriptions, inbox; a handful of statements, however many
 * payments move. Answers those that moved, as they are after it; where a trigger is ignored nothing is written.
 */
export async function movePayments(
  tx: Tx,
  causes: readonly PaymentCause[],
  settings: DoorSettings,
): Promise<Map<string, LockedPayment>> {
  const decided = causes.flatMap((cause) => decide(cause) ?? [])
  const moved = new Map(decided.map(({ after }) => [after.paymentId, after]))
  assert(moved.size === decided.length, 'a payment moves once in a batch')
  await inParts(decided, MOVES_MAX, (part) => writeMoves(tx, part))
  const ended = decided.filter(({ after }) => isTerminal(after.status))
  for (let start = 0; start < ended.length; start += MOVES_MAX) {
    const part = ended.slice(start, start + MOVES_MAX)
    const outcomes = part.map(({ after, countedTransferIds }) => {
      return { payment: after, countedTransferIds }
    })
    await runEffects(tx, outcomes, settings)
  }
  return moved
}

/** {@link movePayments} for one: the payment after the move, or undefined when the trigger is ignored. */
export async function movePayment(
  tx: Tx,
  payment: LockedPayment,
  trigger: PaymentTrigger,
  facts: PaymentFacts,
  settings: DoorSettings,
): Promise<LockedPayment | undefined> {
  const moved = await movePayments(tx, [{ payment, trigger, facts }], settings)
  return moved.get(payment.paymentId)
}

/** What the machine says to a cause, and what the seller is told of it: pure. */
function decide({ payment, trigger, facts }: PaymentCause): Decided | undefined {
  const move = nextPaymentMove(payment.status, trigger)
  if (!move) return undefined
  const after = applyMove(payment, move, facts)
  const { countedTransferIds = [], position = null } = facts
  const told = { createdAt: payment.now, confirmations: confirmationsOf(after, position) }
  const event = move.event && paymentEvent(after, move.event, told)
  return { before: payment, after, trigger, event, countedTransferIds }
}

/** The row after a move: pure. */
function applyMove(payment: LockedPayment, move: PaymentMove, facts: PaymentFacts): LockedPayment {
  const { txHash, blockNumber, isSimulated } = facts
  // What lay on a payment that ends without credit goes to the inbox: it received nothing.
  const isNothing = isTerminal(move.to) && !isCredited(move.to)
  const receivedBaseUnits = isNothing ? 0n : facts.receivedBaseUnits
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

/** Statuses, moves and events in one statement. */
async function writeMoves(tx: Tx, decided: readonly Decided[]): Promise<void> {
  const after = <T>(pick: (payment: LockedPayment) => T) => decided.map((one) => pick(one.after))
  const events = decided.flatMap(({ event }) => event ?? [])
  await tx`
    with given as (
      select * from unnest(
        ${column(after(({ paymentId }) => paymentId))}::text[],
        ${column(after(() => newOrderKey()))}::text[],
        ${column(decided.map(({ before }) => before.status))}::text[],
        ${column(after(({ status }) => status))}::text[],
        ${column(decided.map(({ trigger }) => trigger))}::text[],
        ${column(after(({ txHash }) => txHash))}::text[],
        ${column(after(({ blockNumber }) => blockNumber))}::bigint[],
        ${column(after(({ receivedBaseUnits }) => receivedBaseUnits.toString()))}::numeric[],
        ${column(after(({ isSimulated }) => isSimulated))}::boolean[],
        ${column(after(({ detectedAt }) => detectedAt?.toISOString() ?? null))}::timestamptz[],
        ${column(after(({ settledAt }) => settledAt?.toISOString() ?? null))}::timestamptz[]
      ) as t (
        payment_id, move_key, from_status, to_status, trigger, tx_hash, block_number, received, is_simulated,
        detected_at, settled_at
      )
    ),
    moved as (
      update payments p set
        status = g.to_status,
        tx_hash = g.tx_hash,
        block_number = g.block_number,
        received_base_units = g.received,
        is_simulated = g.is_simulated,
        detected_at = g.detected_at,
        settled_at = g.settled_at
      from given g
      where p.payment_id = g.payment_id
    ),
    told as (${insertEvents(tx, events)})
    insert into payment_moves (payment_id, move_key, from_status, to_status, trigger)
    select payment_id, move_key, from_status, to_status, trigger from given`
}
