import type { Db } from '#shared/db.ts'
import { idFloor } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { PaymentStatus, PaymentTrigger } from '#shared/payments/machine.ts'
import type { PaymentReading } from '#shared/payments/row.ts'
import { SCANNED_MAX, type Stretch } from '../list.ts'
import type { TransferRow } from '../transfer-object.ts'

/** What a list of payments is narrowed to; both times inclusive, to the millisecond. */
export type PaymentFilter = {
  status?: PaymentStatus | undefined
  network?: string | undefined
  token?: string | undefined
  createdFrom?: Date | undefined
  createdTo?: Date | undefined
}

export type PaymentScope = { storeId: string; modes: readonly Mode[] }

/** Milliseconds that the clocks of the API and of Postgres may differ: ids hold the one, `created_at` the other. */
const CLOCKS_DIFFER_MS_MAX = 10 * 60_000

/**
 * A stretch of a store's payments as they are shown. Rows are asked for as a range of the index, so that no plan sorts a
 * store: page 10,000 costs what page 1 does.
 */
export async function listPaymentRows(
  db: Db,
  storeId: string,
  filter: PaymentFilter,
  stretch: Stretch,
): Promise<PaymentReading[]> {
  const { mode, from, before, limit } = narrow(stretch, filter)
  // Looked up, not joined: beside the cost of a stretch a walk through all stores looks no dearer than a step to one.
  return db<PaymentReading[]>`
    select p.*,
      (select branding from stores where store_id = ${storeId}) as branding,
      (select block_number from deployments where deployment = p.deployment) as position,
      service_now() as now
    from (
      select * from (
        select * from payments
        where (store_id, mode, payment_id) >= (${storeId}, ${mode}, ${from})
          and (store_id, mode, payment_id) < (${storeId}, ${mode}, ${before})
        order by store_id desc, mode desc, payment_id desc
        limit ${SCANNED_MAX}
      ) scanned
      where status = coalesce(${filter.status ?? null}, status)
        and network = coalesce(${filter.network ?? null}, network)
        and token = coalesce(${filter.token ?? null}, token)
        and created_at >= coalesce(${filter.createdFrom ?? null}, '-infinity'::timestamptz)
        and created_at
          < coalesce(${filter.createdTo ?? null}::timestamptz + interval '1 millisecond', 'infinity')
      order by store_id desc, mode desc, payment_id desc
      limit ${limit}
    ) p
    order by p.payment_id desc`
}

export async function readPaymentScanEnd(
  db: Db,
  storeId: string,
  filter: PaymentFilter,
  stretch: Stretch,
): Promise<string | undefined> {
  const { mode, from, before } = narrow(stretch, filter)
  const rows = await db<{ paymentId: string }[]>`
    select payment_id from payments
    where (store_id, mode, payment_id) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, payment_id) < (${storeId}, ${mode}, ${before})
    order by store_id desc, mode desc, payment_id desc
    offset ${SCANNED_MAX - 1} limit 1`
  return rows[0]?.paymentId
}

/**
 * Ids are ordered by time, so a time is a place in the index. Not in test mode, where a subscription's clock may be
 * months ahead of the one its payments' ids were made by.
 */
function narrow(stretch: Stretch, { createdFrom, createdTo }: PaymentFilter): Stretch {
  const narrowed = { ...stretch }
  if (stretch.mode === 'test') return narrowed
  if (createdFrom) {
    const floor = idFloor('pay', createdFrom.getTime() - CLOCKS_DIFFER_MS_MAX)
    if (floor > stretch.from) narrowed.from = floor
  }
  if (createdTo) {
    const floor = idFloor('pay', createdTo.getTime() + CLOCKS_DIFFER_MS_MAX)
    if (floor < stretch.before) narrowed.before = floor
  }
  return narrowed
}

/** A payment of a store in one of these modes; undefined when there is none. */
export async function readStorePayment(
  db: Db,
  { storeId, modes }: PaymentScope,
  paymentId: string,
): Promise<PaymentReading | undefined> {
  const rows = await db<PaymentReading[]>`
    select p.*, s.branding, d.block_number as position, service_now() as now
    from payments p
    join stores s on s.store_id = p.store_id
    left join deployments d on d.deployment = p.deployment
    where p.payment_id = ${paymentId} and p.store_id = ${storeId} and p.mode = any (${[...modes]})`
  return rows[0]
}

/**
 * Transfers shown of one payment, and looked at for it: an honest buyer needs one, a careless one a handful. Of more,
 * which anybody can send as dust, any so many are shown.
 */
const TRANSFERS_MAX = 200

/** What is attributed to a payment now, in the order of the chain. */
export async function readPaymentTransfers(db: Db, paymentId: string): Promise<TransferRow[]> {
  return db<TransferRow[]>`
    select transfer_id, state, reason, '{}'::text[] as candidates, network, token, mode, tx_hash, log_index,
      block_number, sender, address, amount_base_units, decimals, payment_id, null as note, seen_at,
      null as resolved_at
    from (
      select * from transfers
      where payment_id = ${paymentId} and state = 'MATCHED'
      limit ${TRANSFERS_MAX}
    ) t
    order by block_number, log_index`
}

/** A transfer that was thought of for a payment, taken or not. */
export type TracedRow = Omit<TransferRow, 'state'> & {
  state: TransferRow['state'] | 'RETRACTED'
  rule: string
  isFinal: boolean
  isHeld: boolean
  /** It was given to a payment of another store, whose id is not this one's to know. */
  isElsewhere: boolean
}

/** Every transfer that is or was a payment's, or that may have been meant for it, in the order of the chain. */
export async function readTracedTransfers(
  db: Db,
  storeId: string,
  paymentId: string,
): Promise<TracedRow[]> {
  return db<TracedRow[]>`
    select t.transfer_id, case when t.state = 'UNMATCHED' then coalesce(i.state, t.state) else t.state end as state,
      t.reason, array[${paymentId}] as candidates, t.network, t.token, t.mode, t.tx_hash, t.log_index, t.block_number,
      t.sender, t.address, t.amount_base_units, t.decimals, p.payment_id, i.note, t.seen_at, i.resolved_at,
      t.rule, t.is_final, t.is_held, t.payment_id is not null and p.payment_id is null as is_elsewhere
    from (
      (select * from transfers where payment_id = ${paymentId} limit ${TRANSFERS_MAX})
      union
      (
        select * from transfers
        where candidates @> ${db.json([paymentId])} and candidates <> '[]'
        limit ${TRANSFERS_MAX}
      )
    ) t
    left join payments p on p.payment_id = t.payment_id and p.store_id = ${storeId}
    left join inbox i on i.transfer_id = t.transfer_id and i.store_id = ${storeId}
    order by t.block_number, t.log_index
    limit ${TRANSFERS_MAX}`
}

/** What a slot's row says of itself while the slot is held. */
export type HeldSlot = {
  isReused: boolean
  endedAt: Date | null
  releaseAt: Date | null
}

export async function readHeldSlot(
  db: Db,
  storeId: string,
  paymentId: string,
): Promise<HeldSlot | undefined> {
  const rows = await db<HeldSlot[]>`
    select previous_payment_id is not null as is_reused, ended_at, release_at
    from slots
    where payment_id = ${paymentId} and store_id = ${storeId}`
  return rows[0]
}

export type MoveRow = { at: Date; from: PaymentStatus; to: PaymentStatus; trigger: PaymentTrigger }

/** Moves shown of one payment: more than a handful means a chain that was reorganised again and again. */
const MOVES_MAX = 200

export async function readMoves(db: Db, paymentId: string): Promise<MoveRow[]> {
  return db<MoveRow[]>`
    select at, from_status as "from", to_status as "to", trigger
    from payment_moves
    where payment_id = ${paymentId}
    order by move_key
    limit ${MOVES_MAX}`
}

export type DeliveryRow = {
  deliveryId: string
  eventId: string
  eventType: string
  url: string
  status: 'PENDING' | 'DELIVERED' | 'DEAD'
  attemptCount: number
  nextAttemptAt: Date | null
  createdAt: Date
  deliveredAt: Date | null
  lastResponseStatus: number | null
  lastError: string | null
}

/** Deliveries shown of one payment: its few events, and again after each replay. */
const DELIVERIES_MAX = 200

export async function readDeliveries(
  db: Db,
  storeId: string,
  paymentId: string,
): Promise<DeliveryRow[]> {
  return db<DeliveryRow[]>`
    select d.delivery_id, d.event_id, d.event_type, d.url, d.status, d.attempt_count, d.next_attempt_at, d.created_at,
      d.delivered_at, d.last_response_status, d.last_error
    from events e
    join event_numbers n using (event_id)
    join deliveries d on d.delivery_id = n.delivery_id and d.store_id = e.store_id
    where e.payment_id = ${paymentId} and e.store_id = ${storeId}
    order by d.delivery_id
    limit ${DELIVERIES_MAX}`
}
