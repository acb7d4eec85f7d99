import type { Tx } from '#shared/db.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import { isTerminal } from '#shared/payments/machine.ts'
import { type CreditRow, readCredits } from '#shared/payments/queries.ts'
import type { LockedPayment } from '#shared/payments/row.ts'
import { isNoticed } from '#shared/payments/settle.ts'
import { movePayments, type PaymentCause } from '#shared/payments/transition.ts'

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
  const ids = [...new Set(paymentIds)]
  await judgeAnew(
    tx,
    ids.filter((id) => isOpen(locked.get(id))),
  )
  return noticeRead(tx, locked, await readCredits(tx, ids), position, settings)
}

/** A part at depth that waited for another one may decide alone once that one is gone: it is judged again. */
async function judgeAnew(tx: Tx, paymentIds: readonly string[]): Promise<void> {
  if (paymentIds.length === 0) return
  await tx`
    update transfers set is_final = false
    where payment_id = any (${[...paymentIds]}) and state = 'MATCHED' and is_final`
}

function isOpen(payment: LockedPayment | undefined): boolean {
  return payment !== undefined && !isTerminal(payment.status)
}

/** {@link noticeCredits} where all credits of the payments, in the order of the chain, have been read since they were locked. */
export async function noticeRead(
  tx: Tx,
  locked: ReadonlyMap<string, LockedPayment>,
  credits: ReadonlyMap<string, readonly CreditRow[]>,
  position: number | null,
  settings: DoorSettings,
): Promise<string[]> {
  const causes = [...credits].flatMap(([paymentId, credit]) => {
    const payment = locked.get(paymentId)
    return payment ? [toCause(payment, credit, position)] : []
  })
  const moved = await movePayments(tx, causes, settings)
  const stayed = causes.filter(({ payment }) => !moved.has(payment.paymentId))
  await writeReceived(
    tx,
    stayed.map(({ payment, facts }) => ({ payment, receivedBaseUnits: facts.receivedBaseUnits })),
  )
  return [...moved.keys()]
}

/** Whether what was seen is enough to be noticed, or too little is left of it. */
function toCause(
  payment: LockedPayment,
  credits: readonly CreditRow[],
  position: number | null,
): PaymentCause & { facts: { receivedBaseUnits: bigint } } {
  const receivedBaseUnits = sumCredits(credits)
  const [first] = credits
  if (isNoticed(receivedBaseUnits, payment.amountBaseUnits)) {
    const place = first ? { txHash: first.txHash, blockNumber: first.blockNumber } : {}
    return { payment, trigger: 'transferSeen', facts: { receivedBaseUnits, position, ...place } }
  }
  const facts = { receivedBaseUnits, txHash: null, blockNumber: null }
  return { payment, trigger: 'retracted', facts }
}

/** Base units of all of them together. */
export function sumCredits(credits: readonly Pick<CreditRow, 'amountBaseUnits'>[]): bigint {
  return credits.reduce((sum, { amountBaseUnits }) => sum + amountBaseUnits, 0n)
}

/** Writes what locked payments received so far, where that is news, without touching their status. */
export async function writeReceived(
  tx: Tx,
  received: readonly { payment: LockedPayment; receivedBaseUnits: bigint }[],
): Promise<void> {
  const changed = received.filter(({ payment, receivedBaseUnits }) => {
    return payment.receivedBaseUnits !== receivedBaseUnits
  })
  if (changed.length === 0) return
  await tx`
    update payments p set received_base_units = g.amount
    from unnest(
      ${changed.map(({ payment }) => payment.paymentId)}::text[],
      ${changed.map(({ receivedBaseUnits }) => receivedBaseUnits.toString())}::numeric[]
    ) g (payment_id, amount)
    where p.payment_id = g.payment_id`
}
