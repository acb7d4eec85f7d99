import type { Tx } from '#shared/db.ts'
import { DELIVERY_WINDOW_HOURS } from '#shared/delivery-window.ts'
import type { Mode } from '#shared/networks/registry.ts'

/** An event that is to be delivered again: the delivery it has had, if any, and its place in the order, from 1. */
export type PastEvent = { eventId: string; deliveryId: string | null; place: number }

/** Relayed events of a time range in the order of their sequence. The relay makes the deliveries of the others anyway. */
export async function readPastEvents(
  tx: Tx,
  { storeId, mode }: { storeId: string; mode: Mode },
  range: { from: Date; to: Date; types: readonly string[] | undefined },
  limit: number,
): Promise<PastEvent[]> {
  const events = await tx<{ eventId: string; deliveryId: string | null }[]>`
    select event_id, delivery_id
    from (
      select event_id, n.delivery_id, n.sequence
      from events e
      join event_numbers n using (event_id)
      where e.store_id = ${storeId} and e.mode = ${mode}
        and e.created_at >= ${range.from} and e.created_at < ${range.to}
        ${range.types === undefined ? tx`` : tx`and e.type = any (${[...range.types]})`}
      order by e.created_at
      limit ${limit}
    ) found
    order by sequence`
  return events.map((event, index) => ({ ...event, place: index + 1 }))
}

/** Places in an order: which, and of how many. The last one is due now, those before it microseconds earlier. */
type Order = { placeCount: number }

/**
 * Makes deliveries due at once, with a window of their own, whatever became of them. What a job has in hand stays in its
 * hand and is sent once more. Locked in id order, as everywhere.
 */
export async function renewDeliveries(
  tx: Tx,
  wanted: readonly { deliveryId: string; place: number }[],
  { placeCount }: Order,
): Promise<void> {
  await tx`
    with wanted as (
      select * from unnest(
        ${wanted.map((one) => one.deliveryId)}::text[],
        ${wanted.map((one) => one.place)}::integer[]
      ) w (delivery_id, place)
    ), locked as (
      select d.delivery_id, w.place
      from deliveries d
      join wanted w using (delivery_id)
      order by d.delivery_id
      for update of d
    )
    update deliveries d set
      status = 'PENDING',
      next_attempt_at = service_now() - make_interval(secs => 0.000001 * (${placeCount}::integer - l.place)),
      queued_until = '-infinity',
      deadline_at = greatest(d.deadline_at, service_now() + make_interval(hours => ${DELIVERY_WINDOW_HOURS})),
      delivered_at = null,
      dead_at = null
    from locked l
    where d.delivery_id = l.delivery_id`
}

/** Makes first deliveries of events from a time when the store had no endpoint, unless somebody else just has. */
export async function insertLateDeliveries(
  tx: Tx,
  url: string,
  owed: readonly { deliveryId: string; eventId: string; place: number }[],
  { placeCount }: Order,
): Promise<void> {
  await tx`
    with owed as (
      update event_numbers n
      set delivery_id = o.delivery_id
      from unnest(
        ${owed.map((one) => one.deliveryId)}::text[],
        ${owed.map((one) => one.eventId)}::text[],
        ${owed.map((one) => one.place)}::integer[]
      ) o (delivery_id, event_id, place)
      where n.event_id = o.event_id and n.delivery_id is null
      returning n.event_id, n.delivery_id, o.place
    )
    insert into deliveries
      (delivery_id, event_id, store_id, mode, event_type, payment_id, url, next_attempt_at, deadline_at)
    select o.delivery_id, e.event_id, e.store_id, e.mode, e.type, e.payment_id, ${url},
      service_now() - make_interval(secs => 0.000001 * (${placeCount}::integer - o.place)),
      service_now() + make_interval(hours => ${DELIVERY_WINDOW_HOURS})
    from owed o
    join events e using (event_id)`
}
