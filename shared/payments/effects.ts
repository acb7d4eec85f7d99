import type { Tx } from '#shared/db.ts'
import { requestUnmatchedMail } from '#shared/mail-requests.ts'
import { rescale } from '#shared/money.ts'
import { isCredited, isPaid } from '#shared/payments/machine.ts'
import type { PaymentRow } from '#shared/payments/row.ts'
import { settleSubscriptions } from '#shared/subscriptions/service.ts'
import type { SubscriptionContext } from '#shared/subscriptions/transition.ts'

/** What an operator decided about ended payments. */
export type DoorSettings = {
  /** Hours a slot stays held after any terminal status (`SLOT_QUARANTINE_HOURS`). */
  quarantineHours: number
  /** What the events of subscriptions are told with: a payment moves the one it pays. */
  subscriptions: SubscriptionContext
}

/** A payment that has just ended, and the transfers that decided how. */
export type Outcome = { payment: PaymentRow; countedTransferIds: readonly string[] }

/** Volume is counted in millionths of a US dollar; tokens are pegged to it. */
const VOLUME_DECIMALS = 6

/**
 * Everything that follows from the end of payments, in the same transaction: each kind of effect in one statement for
 * all of them, and none where nothing is to do.
 */
export async function runEffects(
  tx: Tx,
  outcomes: readonly Outcome[],
  settings: DoorSettings,
): Promise<void> {
  const payments = outcomes.map(({ payment }) => payment)
  const paid = payments.filter(({ status }) => isPaid(status))
  await quarantineSlots(tx, payments, settings.quarantineHours)
  await releaseUncounted(tx, outcomes)
  await countVolume(tx, payments)
  await completeSessions(tx, paid)
  await flagOrigins(tx, paid)
  await settleSubscriptions(
    tx,
    payments.flatMap(({ subscriptionId, status }) => {
      return subscriptionId === null ? [] : [{ subscriptionId, isPaid: isPaid(status) }]
    }),
    settings.subscriptions,
  )
}

async function quarantineSlots(
  tx: Tx,
  payments: readonly PaymentRow[],
  hours: number,
): Promise<void> {
  const exclusive = payments.filter(({ isExclusive }) => isExclusive)
  await tx`
    with freed as (
      update xpub_addresses x set free_at = service_now() + make_interval(hours => ${hours})
      from unnest(
        ${exclusive.map(({ address }) => address)}::text[],
        ${exclusive.map(({ paymentId }) => paymentId)}::text[]
      ) e (address, payment_id)
      where x.address = e.address and x.payment_id = e.payment_id
    )
    update slots set
      is_open = false,
      ended_at = service_now(),
      release_at = service_now() + make_interval(hours => ${hours})
    where payment_id = any (${payments.map(({ paymentId }) => paymentId)})`
}

/**
 * What was attributed but did not decide the outcome goes to the inbox of each store that has its address: what was
 * still on its way when the payment settled is late; what lies on an expired or canceled payment is dust.
 */
async function releaseUncounted(tx: Tx, outcomes: readonly Outcome[]): Promise<void> {
  const reasons = outcomes.map(({ payment }) => (isCredited(payment.status) ? 'LATE' : 'DUST'))
  const released = await tx<{ transferId: string }[]>`
    with ended as (
      select * from unnest(
        ${outcomes.map(({ payment }) => payment.paymentId)}::text[], ${reasons}::text[]
      ) as t (payment_id, reason)
    ),
    counted as (
      select unnest(${outcomes.flatMap((outcome) => outcome.countedTransferIds)}::text[]) as transfer_id
    ),
    final as (
      update transfers t set is_final = true
      from counted c
      where t.transfer_id = c.transfer_id
    ),
    released as (
      update transfers t set
        state = 'UNMATCHED',
        payment_id = null,
        reason = e.reason,
        rule = 'released',
        is_final = false,
        candidates = jsonb_build_array(e.payment_id)
      from ended e
      where t.payment_id = e.payment_id and t.state = 'MATCHED'
        and not exists (select from counted c where c.transfer_id = t.transfer_id)
      returning t.transfer_id, t.mode, t.address
    ),
    listed as (
      insert into inbox (store_id, mode, transfer_id, state)
      select w.store_id, r.mode, r.transfer_id, 'UNMATCHED'
      from released r
      join wallets w on w.address = r.address and w.mode = r.mode
      union
      select w.store_id, r.mode, r.transfer_id, 'UNMATCHED'
      from released r
      join xpub_addresses x on x.address = r.address
      join wallets w on w.xpub = x.xpub and w.mode = r.mode
      on conflict (store_id, transfer_id) do update set state = 'UNMATCHED'
    )
    select transfer_id from released`
  await requestUnmatchedMail(
    tx,
    released.map((row) => row.transferId),
  )
}

async function countVolume(tx: Tx, payments: readonly PaymentRow[]): Promise<void> {
  const credited = payments.filter(({ status, mode }) => isCredited(status) && mode === 'live')
  if (credited.length === 0) return
  await tx`
    insert into volume_entries (payment_id, account_id, month, amount_micros)
    select payment_id, account_id, date_trunc('month', service_now() at time zone 'UTC')::date, amount_micros
    from unnest(
      ${credited.map(({ paymentId }) => paymentId)}::text[],
      ${credited.map(({ accountId }) => accountId)}::text[],
      ${credited.map((payment) => volumeOf(payment).toString())}::numeric[]
    ) t (payment_id, account_id, amount_micros)`
}

/** Rounded down to a millionth: 18-decimal tokens have finer units than volume. */
function volumeOf({ receivedBaseUnits, decimals }: PaymentRow): bigint {
  const scale = 10n ** BigInt(Math.max(0, decimals - VOLUME_DECIMALS))
  const whole = receivedBaseUnits - (receivedBaseUnits % scale)
  return rescale(whole, decimals, VOLUME_DECIMALS) ?? 0n
}

/** A session is completed by the first payment that pays it. Locked in order, so that two batches never wait in a circle. */
async function completeSessions(tx: Tx, paid: readonly PaymentRow[]): Promise<void> {
  const pairs = paid.flatMap(({ sessionId, paymentId }) => {
    return sessionId === null ? [] : [{ sessionId, paymentId }]
  })
  if (pairs.length === 0) return
  const firsts = new Map(pairs.reverse().map(({ sessionId, paymentId }) => [sessionId, paymentId]))
  await tx`
    with given as (
      select * from unnest(${[...firsts.keys()]}::text[], ${[...firsts.values()]}::text[])
        as t (session_id, payment_id)
    ),
    locked as (
      select s.session_id
      from checkout_sessions s
      join given g on g.session_id = s.session_id
      where s.status = 'OPEN'
      order by s.session_id
      for update of s
    )
    update checkout_sessions s set status = 'COMPLETED', payment_id = g.payment_id
    from given g
    join locked l on l.session_id = g.session_id
    where s.session_id = g.session_id and s.status = 'OPEN'`
}

/** A host that produced a confirmed live payment comes up for the seller's review (spec section 5). */
async function flagOrigins(tx: Tx, paid: readonly PaymentRow[]): Promise<void> {
  const flagged = paid.flatMap(({ storeId, originHost, mode }) => {
    return originHost === null || mode !== 'live' ? [] : [{ storeId, originHost }]
  })
  if (flagged.length === 0) return
  await tx`
    insert into origins as o (store_id, host, first_confirmed_at)
    select distinct store_id, host, service_now()
    from unnest(
      ${flagged.map(({ storeId }) => storeId)}::text[],
      ${flagged.map(({ originHost }) => originHost)}::text[]
    ) t (store_id, host)
    order by store_id, host
    on conflict (store_id, host) do update set first_confirmed_at = excluded.first_confirmed_at
    where o.first_confirmed_at is null`
}
