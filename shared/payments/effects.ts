import type { Tx } from '#shared/db.ts'
import { requestUnmatchedMail } from '#shared/mail-requests.ts'
import { rescale } from '#shared/money.ts'
import { isCredited, isPaid, isTerminal } from '#shared/payments/machine.ts'
import type { PaymentRow } from '#shared/payments/row.ts'
import { creditSubscription, lapseSubscription } from '#shared/subscriptions/service.ts'
import type { SubscriptionContext } from '#shared/subscriptions/transition.ts'

/** What an operator decided about ended payments. */
export type DoorSettings = {
  /** Hours a slot stays held after any terminal status (`SLOT_QUARANTINE_HOURS`). */
  quarantineHours: number
  /** What the events of subscriptions are told with: a payment moves the one it pays. */
  subscriptions: SubscriptionContext
}

/** Volume is counted in millionths of a US dollar; tokens are pegged to it. */
const VOLUME_DECIMALS = 6

/** Everything that follows from a payment's new status, in the same transaction. */
export async function runEffects(
  tx: Tx,
  payment: PaymentRow,
  countedTransferIds: readonly string[],
  settings: DoorSettings,
): Promise<void> {
  if (!isTerminal(payment.status)) return
  await quarantineSlot(tx, payment, settings.quarantineHours)
  await releaseUncounted(tx, payment, countedTransferIds)
  if (isCredited(payment.status) && payment.mode === 'live') await countVolume(tx, payment)
  if (isPaid(payment.status)) {
    if (payment.sessionId !== null) await completeSession(tx, payment)
    if (payment.originHost !== null && payment.mode === 'live') await flagOrigin(tx, payment)
  }
  if (payment.subscriptionId !== null) {
    const settle = isPaid(payment.status) ? creditSubscription : lapseSubscription
    await settle(tx, payment.subscriptionId, settings.subscriptions)
  }
}

async function quarantineSlot(tx: Tx, payment: PaymentRow, hours: number): Promise<void> {
  await tx`
    update slots set
      is_open = false,
      ended_at = service_now(),
      release_at = service_now() + make_interval(hours => ${hours})
    where payment_id = ${payment.paymentId}`
  if (!payment.isExclusive) return
  await tx`
    update xpub_addresses set free_at = service_now() + make_interval(hours => ${hours})
    where address = ${payment.address} and payment_id = ${payment.paymentId}`
}

/**
 * What was attributed but did not decide the outcome goes to the inbox: what was still on its way when the payment
 * settled is late; what lies on an expired or canceled payment is dust.
 */
async function releaseUncounted(
  tx: Tx,
  payment: PaymentRow,
  countedTransferIds: readonly string[],
): Promise<void> {
  const reason = isCredited(payment.status) ? 'LATE' : 'DUST'
  if (countedTransferIds.length > 0) {
    await tx`
      update transfers set is_final = true
      where transfer_id = any (${[...countedTransferIds]})`
  }
  const released = await tx<{ transferId: string }[]>`
    update transfers set
      state = 'UNMATCHED',
      payment_id = null,
      reason = ${reason},
      rule = 'released',
      candidates = ${tx.json([payment.paymentId])}
    where payment_id = ${payment.paymentId} and state = 'MATCHED'
      and not transfer_id = any (${[...countedTransferIds]})
    returning transfer_id`
  for (const { transferId } of released) await listUnmatched(tx, transferId)
  await requestUnmatchedMail(
    tx,
    released.map((row) => row.transferId),
  )
}

/** Lists a transfer that belongs to nobody in the inbox of each store that has its address. */
export async function listUnmatched(tx: Tx, transferId: string): Promise<void> {
  await tx`
    insert into inbox (store_id, mode, transfer_id, state)
    select distinct w.store_id, t.mode, t.transfer_id, 'UNMATCHED'
    from transfers t
    left join xpub_addresses x on x.address = t.address
    join wallets w on w.mode = t.mode and (w.address = t.address or w.xpub = x.xpub)
    where t.transfer_id = ${transferId}
    on conflict (store_id, transfer_id) do update set state = 'UNMATCHED'`
}

async function countVolume(tx: Tx, payment: PaymentRow): Promise<void> {
  // Rounded down to a millionth: 18-decimal tokens have finer units than volume.
  const scale = 10n ** BigInt(Math.max(0, payment.decimals - VOLUME_DECIMALS))
  const whole = payment.receivedBaseUnits - (payment.receivedBaseUnits % scale)
  const amountMicros = rescale(whole, payment.decimals, VOLUME_DECIMALS) ?? 0n
  await tx`
    insert into volume_entries (payment_id, account_id, month, amount_micros)
    values (${payment.paymentId}, ${payment.accountId},
      date_trunc('month', service_now() at time zone 'UTC')::date, ${amountMicros})`
}

async function completeSession(tx: Tx, payment: PaymentRow): Promise<void> {
  await tx`
    update checkout_sessions set status = 'COMPLETED', payment_id = ${payment.paymentId}
    where session_id = ${payment.sessionId} and status = 'OPEN'`
}

/** A host that produced a confirmed live payment comes up for the seller's review (spec section 5). */
async function flagOrigin(tx: Tx, payment: PaymentRow): Promise<void> {
  await tx`
    insert into origins as o (store_id, host, first_confirmed_at)
    values (${payment.storeId}, ${payment.originHost}, service_now())
    on conflict (store_id, host) do update set
      first_confirmed_at = coalesce(o.first_confirmed_at, excluded.first_confirmed_at)`
}
