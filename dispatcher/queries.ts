import { column } from '#shared/db/columns.ts'
import type { SqlLike, Tx } from '#shared/db.ts'
import { SIGNING_SECRET_COUNT_MAX } from '#shared/webhook-secret.ts'
import type { DueDelivery } from './attempt-queries.ts'
import { BUNDLE_MAX, type Promotion } from './queue.ts'

/**
 * For the rest of the transaction plans go by index, and one serves all calls. The statements below touch some hundred rows of
 * tables with millions; but a plan is kept, and one made while a table was empty would scan it for ever. Planning anew for
 * the values of a call takes longer than most calls, and comes to the same plan.
 */
export async function preferIndexes(tx: Tx): Promise<void> {
  await tx`
    select set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)`
}

/** Whether any event waits for its sequence. */
export async function hasWaitingEvents(sql: SqlLike): Promise<boolean> {
  const [row] = await sql<{ isWaiting: boolean }[]>`
    select exists (select from waiting_events) as is_waiting`
  return row?.isWaiting ?? false
}

/**
 * Clears away the rows on which numbered events waited, index entries and all; left to whoever is at it. A session that looks
 * at the database as it was before (a backup) keeps them there for as long.
 */
export async function clearWaitingEvents(sql: SqlLike): Promise<void> {
  await sql`vacuum (skip_locked, index_cleanup on, truncate off) waiting_events`
}

/** How many deliveries of a store go into the queue at once: an ordinary one's, and those of others. */
export type Rooms = {
  roomCount: number
  /** By store id. */
  others: Readonly<Record<string, number>>
}

/** A numbered event; without an endpoint it is owed no delivery. */
export type RelayedEvent = Pick<DueDelivery, 'storeId' | 'eventId'> & {
  deliveryId: string | null
} & (
    | { bundle: null }
    // All that an attempt needs.
    | (DueDelivery & { bundle: number; token: string })
  )

/** A row as `relay_events` answers it. */
type RelayedRow = {
  storeId: string
  eventId: string
  deliveryId: string | null
  /** Of the first event only. */
  token: string | null
  now: Date | null
} & (
  | { bundle: null }
  | {
      bundle: number
      deliveryId: string
      eventType: string
      deadlineAt: string
      body: string
      url: string
      /** Joined by commas. */
      secretIds: string
    }
)

/**
 * Numbers the events that wait longest and makes their deliveries: `sql/0008_dispatch.sql` says how.
 *
 * @param deliveryIds ascending, one for each event at most
 * @param shardCountMax shards of which stores' events are numbered, a count; null for all
 */
export async function numberEvents(
  tx: Tx,
  deliveryIds: readonly string[],
  shardCountMax: number | null,
  { roomCount, others }: Rooms,
  times: { windowMs: number; queuedForMs: number },
): Promise<RelayedEvent[]> {
  const rows = await tx<RelayedRow[]>`
    select store_id, delivery_id, bundle, token, event_id, event_type, deadline_at::text, body, url, secret_ids, now
    from relay_events(
      ${column(deliveryIds)}::text[],
      ${shardCountMax}::integer,
      make_interval(secs => ${times.windowMs / 1000}),
      make_interval(secs => ${times.queuedForMs / 1000}),
      ${BUNDLE_MAX}::integer,
      ${roomCount}::integer,
      ${tx.json(others)},
      ${SIGNING_SECRET_COUNT_MAX}::integer
    )`
  const { token, now } = rows.find((row) => row.token !== null) ?? {}
  if (!token || !now) return []
  return rows.map((row) => {
    if (row.bundle === null) return row
    return { ...row, attemptCount: 0, token, now }
  })
}

/** How far into each store's due deliveries a promotion looks. */
export type Windows = {
  /** Rows of an ordinary store, a count. */
  rowCountMax: number
  /** Rows of a store that has many waiting and an endpoint that answers, a count. */
  wideRowCountMax: number
  /** Ids of those stores. */
  wideStoreIds: readonly string[]
  /** Rows of a store whose endpoint is slow, a count. */
  slowRowCountMax: number
  /** Ids of the stores whose endpoint is slow. */
  slowStoreIds: readonly string[]
  /** Rows promoted in all, a count. */
  totalCountMax: number
  /** How long a promoted row is left to its job. */
  queuedForMs: number
}

/**
 * Marks due deliveries as queued and answers what their jobs say: first attempts, then retries. Looks at the first few due rows of
 * each store's schedule, queued or not: so a store with a million waiting rows costs no more and gets no
 * more of the queue than one with ten, and at most that many of them are in hand at once, whoever promotes.
 */
export async function promoteDue(
  tx: Tx,
  storeIds: readonly string[] | 'all',
  windows: Windows,
): Promise<(Promotion & { storeId: string })[]> {
  const stores =
    storeIds === 'all'
      ? waitingStores(tx)
      : tx`waiting (store_id) as (select distinct s from unnest(${[...storeIds]}::text[]) s)`
  return tx`
    with ${stores}, due as materialized (
      select f.delivery_id
      from waiting w
      join stores s on s.store_id = w.store_id and s.webhook_url is not null
      cross join lateral (
        select case
          when w.store_id = any (${[...windows.slowStoreIds]}::text[]) then ${windows.slowRowCountMax}::integer
          when w.store_id = any (${[...windows.wideStoreIds]}::text[]) then ${windows.wideRowCountMax}::integer
          else ${windows.rowCountMax}::integer
        end as row_count
      ) n
      cross join lateral (
        select d.delivery_id, d.queued_until
        from (
          (
            select d.* from scheduled_deliveries d
            where d.store_id = w.store_id and not d.has_failed and d.next_attempt_at <= service_now()
            order by d.next_attempt_at
            limit n.row_count
          )
          union all
          (
            select d.* from scheduled_deliveries d
            where d.store_id = w.store_id and d.has_failed and d.next_attempt_at <= service_now()
            order by d.next_attempt_at
            limit n.row_count
          )
        ) d
        order by d.has_failed, d.next_attempt_at
        limit n.row_count
      ) f
      where f.queued_until <= service_now()
      limit ${windows.totalCountMax}
    ), locked as materialized (
      select d.delivery_row
      from due
      cross join lateral (
        select d.ctid as delivery_row
        from deliveries d
        where d.delivery_id = due.delivery_id and d.status = 'PENDING' and d.queued_until <= service_now()
          and d.next_attempt_at <= service_now()
        for update skip locked
        offset 0
      ) d
    )
    update deliveries d
    set queued_until = service_now() + make_interval(secs => ${windows.queuedForMs / 1000})
    from locked l
    where d.ctid = l.delivery_row
    returning d.delivery_id, d.store_id, d.queued_until::text as token`
}

/**
 * Puts on the schedule what is left of bundles that were queued as they were made and whose time is over: their jobs
 * got lost.
 *
 * @param countMax bundles at most
 */
export async function reclaimBundles(tx: Tx, countMax: number): Promise<void> {
  await tx`
    with lost as materialized (
      select bundle_id, delivery_ids, queued_until
      from fresh_bundles
      where queued_until <= service_now()
      order by queued_until
      limit ${countMax}
    ), scheduled as (
      update deliveries d
      set queued_until = '-infinity'
      from (select unnest(delivery_ids) as delivery_id, queued_until from lost order by 1) l
      where d.delivery_id = l.delivery_id and d.status = 'PENDING' and d.queued_until = l.queued_until
    )
    delete from fresh_bundles b
    using lost l
    where b.bundle_id = l.bundle_id`
}

/** Forgets bundles that were queued as they were made, since the schedule or an end has all of theirs. */
export async function forgetBundles(tx: Tx, bundleIds: readonly string[]): Promise<void> {
  if (bundleIds.length === 0) return
  await tx`delete from fresh_bundles where bundle_id = any (${[...bundleIds]})`
}

/** Ends parked deliveries, those of stores without an endpoint, whose window is over; answers their ids. */
export async function endParked(tx: Tx, countMax: number): Promise<string[]> {
  const ended = await tx<{ deliveryId: string }[]>`
    with ${waitingStores(tx)}, over as materialized (
      select p.delivery_id
      from waiting w
      join stores s on s.store_id = w.store_id and s.webhook_url is null
      cross join lateral (
        select d.delivery_id
        from scheduled_deliveries d
        where d.store_id = w.store_id and d.next_attempt_at <= service_now() and d.deadline_at <= service_now()
        order by d.has_failed, d.next_attempt_at
        limit ${countMax}
      ) p
      limit ${countMax}
    ), parked as materialized (
      select d.delivery_row
      from over o
      cross join lateral (
        select d.ctid as delivery_row
        from deliveries d
        where d.delivery_id = o.delivery_id and d.status = 'PENDING' and d.next_attempt_at <= service_now()
          and d.deadline_at <= service_now()
        for update skip locked
        offset 0
      ) d
    )
    update deliveries d
    set status = 'DEAD', next_attempt_at = null, dead_at = service_now()
    from parked p
    where d.ctid = p.delivery_row
    returning d.delivery_id`
  return ended.map((row) => row.deliveryId)
}

/** Rows `waiting (store_id)`: the stores on the schedule, found from one to the next. */
function waitingStores(tx: Tx) {
  return tx`recursive waiting (store_id) as (
      (select store_id from scheduled_deliveries order by store_id limit 1)
      union all
      select (
        select d.store_id from scheduled_deliveries d
        where d.store_id > w.store_id
        order by d.store_id
        limit 1
      )
      from waiting w
      where w.store_id is not null
    )`
}
