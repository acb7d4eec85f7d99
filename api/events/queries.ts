import type { Db } from '#shared/db.ts'
import type { EventType } from '#shared/events.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { SCANNED_MAX } from '../list.ts'

export type EventRow = { orderKey: string; mode: Mode; sequence: number; body: string }

export type EventFilter = {
  storeId: string
  type: EventType | undefined
  paymentId: string | undefined
}

/** Order keys in [`from`, `before`) of one mode. */
export type KeyStretch = { mode: Mode; from: string; before: string; limit: number }

/**
 * A stretch of a store's events, newest first. Only those the relay has numbered: an event has its sequence within a
 * moment of being emitted, and the numbering is what a reader can rely on.
 */
export async function listEvents(
  db: Db,
  filter: EventFilter,
  stretch: KeyStretch,
): Promise<EventRow[]> {
  return db`
    select e.order_key, e.mode, n.sequence, e.body
    from (${scanKeys(db, filter, stretch)} limit ${SCANNED_MAX}) e
    join event_numbers n using (event_id)
    where e.type = coalesce(${filter.type ?? null}, e.type)
    order by e.store_id desc, e.mode desc, e.order_key desc
    limit ${stretch.limit}`
}

export async function readEventScanEnd(
  db: Db,
  filter: EventFilter,
  stretch: KeyStretch,
): Promise<string | undefined> {
  const [row] = await db<{ orderKey: string }[]>`
    select order_key
    from (${scanKeys(db, filter, stretch)} offset ${SCANNED_MAX - 1} limit 1) e`
  return row?.orderKey
}

/** Events of one mode with a sequence above this one, oldest first. */
export async function listEventsAfter(
  db: Db,
  filter: EventFilter,
  { mode, after, limit }: { mode: Mode; after: number; limit: number },
): Promise<EventRow[]> {
  return db`
    select e.order_key, n.mode, n.sequence, e.body
    from event_numbers n
    join events e using (event_id)
    where n.store_id = ${filter.storeId} and n.mode = ${mode}
      and n.sequence > ${after} and n.sequence <= ${after + SCANNED_MAX}
      ${filter.type === undefined ? db`` : db`and e.type = ${filter.type}`}
      ${filter.paymentId === undefined ? db`` : db`and e.payment_id = ${filter.paymentId}`}
    order by n.sequence
    limit ${limit}`
}

/** Waiting events that one look passes over: more are a backlog, which nobody waits for. */
const WAITING_SCANNED_MAX = 500

/** Whether a store has events that the relay is about to number. */
export async function hasUnnumbered(
  db: Db,
  storeId: string,
  modes: readonly Mode[],
): Promise<boolean> {
  const [row] = await db<{ isThere: boolean }[]>`
    select exists (
      select
      from (
        select store_id, mode from waiting_events order by order_key, event_id limit ${WAITING_SCANNED_MAX}
      ) w
      where store_id = ${storeId} and mode = any (${[...modes]})
    ) as is_there`
  return row?.isThere === true
}

/** The last sequence given in a store and mode; 0 when none was. */
export async function readLastSequence(db: Db, storeId: string, mode: Mode): Promise<number> {
  const [row] = await db<{ sequence: number }[]>`
    select sequence from event_numbers
    where store_id = ${storeId} and mode = ${mode}
    order by sequence desc
    limit 1`
  return row?.sequence ?? 0
}

/** Written so that only the index by store and mode gives its order. */
function scanKeys(db: Db, { storeId, paymentId }: EventFilter, stretch: KeyStretch) {
  const { mode, from, before } = stretch
  return db`
    select *
    from events
    where (store_id, mode, order_key) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, order_key) < (${storeId}, ${mode}, ${before})
      ${paymentId === undefined ? db`` : db`and payment_id = ${paymentId}`}
    order by store_id desc, mode desc, order_key desc`
}
