import type { SqlLike, Tx } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Promotion } from './queue.ts'

/**
 * For the rest of the transaction plans go by index. The statements below touch some hundred rows of
 * tables with millions; but a plan is kept, and one made while a table was empty would scan it for ever.
 */
export async function preferIndexes(tx: Tx): Promise<void> {
  await tx`select set_config('enable_seqscan', 'off', true)`
}

/** A store and mode whose events wait for their sequence. */
export type Sequence = { storeId: string; mode: Mode; lastSequence: number }

/** An event that just got its sequence. */
export type SequencedEvent = {
  eventId: string
  storeId: string
  mode: Mode
  type: string
  paymentId: string | null
  sequence: number
  /** Null when the store has no endpoint: nothing is owed then. */
  webhookUrl: string | null
}

/** Stores and modes of the oldest events without a sequence, looking at so many events. */
export async function readUnsequenced(
  sql: SqlLike,
  eventCountMax: number,
): Promise<{ storeId: string; mode: Mode }[]> {
  return sql`
    select distinct store_id, mode
    from (
      select store_id, mode
      from events
      where sequence is null
      order by order_key
      limit ${eventCountMax}
    ) waiting`
}

/** Locks the counters of these stores; those that another relay holds are left to it. */
export async function lockSequences(
  tx: Tx,
  wanted: readonly { storeId: string; mode: Mode }[],
): Promise<Sequence[]> {
  const storeIds = wanted.map(({ storeId }) => storeId)
  const modes = wanted.map(({ mode }) => mode)
  const lock = () => tx<Sequence[]>`
    select s.store_id, s.mode, s.last_sequence
    from event_sequences s
    join unnest(${storeIds}::text[], ${modes}::text[]) w (store_id, mode) using (store_id, mode)
    for update of s skip locked`
  const locked = await lock()
  if (locked.length === wanted.length) return locked
  await tx`
    insert into event_sequences (store_id, mode)
    select * from unnest(${storeIds}::text[], ${modes}::text[])
    on conflict do nothing`
  return lock()
}

/** Numbers the waiting events of locked counters, in the order they were made. */
export async function numberEvents(
  tx: Tx,
  locked: readonly Sequence[],
  eventCountMax: number,
): Promise<SequencedEvent[]> {
  return tx`
    with waiting as (
      select event_id, order_key, store_id, mode
      from events
      where sequence is null
      order by order_key
      limit ${eventCountMax}
    ), numbered as (
      select w.event_id, w.store_id, w.mode,
        l.last_sequence + row_number() over (partition by w.store_id, w.mode order by w.order_key) as sequence
      from waiting w
      join unnest(
        ${locked.map((row) => row.storeId)}::text[],
        ${locked.map((row) => row.mode)}::text[],
        ${locked.map((row) => row.lastSequence)}::bigint[]
      ) l (store_id, mode, last_sequence) using (store_id, mode)
    ), counted as (
      update event_sequences s
      set last_sequence = n.last_sequence
      from (select store_id, mode, max(sequence) as last_sequence from numbered group by store_id, mode) n
      where s.store_id = n.store_id and s.mode = n.mode
    )
    update events e
    set sequence = n.sequence
    from numbered n
    join stores s on s.store_id = n.store_id
    where e.event_id = n.event_id
    returning e.event_id, e.store_id, e.mode, e.type, e.payment_id, e.sequence, s.webhook_url`
}

/** A delivery to be made, and whether it goes into the queue at once. */
export type OwedDelivery = SequencedEvent & { deliveryId: string; isQueued: boolean }

/**
 * Makes the deliveries of events, due at once and until so long after their event; answers what the
 * jobs say of those that go into the queue at once.
 */
export async function insertDeliveries(
  tx: Tx,
  owed: readonly OwedDelivery[],
  times: { windowMs: number; queuedForMs: number },
): Promise<(Promotion & { storeId: string })[]> {
  const made = await tx<(Promotion & { storeId: string; isQueued: boolean })[]>`
    insert into deliveries (delivery_id, event_id, store_id, mode, event_type, payment_id, url,
      next_attempt_at, deadline_at, queued_until)
    select o.delivery_id, e.event_id, e.store_id, e.mode, e.type, e.payment_id, o.url, service_now(),
      e.created_at + make_interval(secs => ${times.windowMs / 1000}),
      case
        when o.is_queued then service_now() + make_interval(secs => ${times.queuedForMs / 1000})
        else '-infinity'
      end
    from unnest(
      ${owed.map((one) => one.deliveryId)}::text[],
      ${owed.map((one) => one.eventId)}::text[],
      ${owed.map((one) => one.webhookUrl)}::text[],
      ${owed.map((one) => one.isQueued)}::boolean[]
    ) o (delivery_id, event_id, url, is_queued)
    join events e using (event_id)
    returning delivery_id, store_id, queued_until::text as token,
      queued_until > service_now() as is_queued`
  return made.filter((one) => one.isQueued)
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
 * Marks due deliveries as queued and answers what their jobs say. Looks at the first few due rows of
 * each store, queued or not: so a store with a million waiting rows costs no more and gets no more of
 * the queue than one with ten, and at most that many are in hand at once, whoever promotes.
 */
export async function promoteDue(
  tx: Tx,
  storeIds: readonly string[] | 'all',
  windows: Windows,
): Promise<(Promotion & { storeId: string })[]> {
  const stores =
    storeIds === 'all'
      ? tx`
        recursive waiting (store_id) as (
          (select store_id from deliveries where status = 'PENDING' order by store_id limit 1)
          union all
          select (
            select d.store_id from deliveries d
            where d.status = 'PENDING' and d.store_id > w.store_id
            order by d.store_id
            limit 1
          )
          from waiting w
          where w.store_id is not null
        )`
      : tx`waiting (store_id) as (select distinct s from unnest(${[...storeIds]}::text[]) s)`
  return tx`
    with ${stores}, due as materialized (
      select f.delivery_id
      from waiting w
      join stores s on s.store_id = w.store_id and s.webhook_url is not null
      cross join lateral (
        select d.delivery_id, d.queued_until
        from deliveries d
        where d.store_id = w.store_id and d.status = 'PENDING' and d.next_attempt_at <= service_now()
        order by d.next_attempt_at
        limit case
          when w.store_id = any (${[...windows.slowStoreIds]}::text[]) then ${windows.slowRowCountMax}::integer
          when w.store_id = any (${[...windows.wideStoreIds]}::text[]) then ${windows.wideRowCountMax}::integer
          else ${windows.rowCountMax}::integer
        end
      ) f
      where f.queued_until <= service_now()
      limit ${windows.totalCountMax}
    ), locked as materialized (
      select d.delivery_id
      from due
      join deliveries d using (delivery_id)
      where d.status = 'PENDING' and d.queued_until <= service_now()
      for update of d skip locked
    )
    update deliveries d
    set queued_until = service_now() + make_interval(secs => ${windows.queuedForMs / 1000})
    from locked l
    where d.delivery_id = l.delivery_id
    returning d.delivery_id, d.store_id, d.queued_until::text as token`
}

/** Ends parked deliveries, those of stores without an endpoint, whose window is over; answers their ids. */
export async function endParked(tx: Tx, countMax: number): Promise<string[]> {
  const ended = await tx<{ deliveryId: string }[]>`
    with recursive waiting (store_id) as (
      (select store_id from deliveries where status = 'PENDING' order by store_id limit 1)
      union all
      select (
        select d.store_id from deliveries d
        where d.status = 'PENDING' and d.store_id > w.store_id
        order by d.store_id
        limit 1
      )
      from waiting w
      where w.store_id is not null
    ), parked as materialized (
      select p.delivery_id
      from waiting w
      join stores s on s.store_id = w.store_id and s.webhook_url is null
      cross join lateral (
        select d.delivery_id
        from deliveries d
        where d.store_id = w.store_id and d.status = 'PENDING' and d.next_attempt_at <= service_now()
          and d.deadline_at <= service_now()
        order by d.next_attempt_at
        limit ${countMax}
        for update skip locked
      ) p
      limit ${countMax}
    )
    update deliveries d
    set status = 'DEAD', next_attempt_at = null, ended_at = service_now()
    from parked p
    where d.delivery_id = p.delivery_id
    returning d.delivery_id`
  return ended.map((row) => row.deliveryId)
}
