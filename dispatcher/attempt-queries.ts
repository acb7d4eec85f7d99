import { column } from '#shared/db/columns.ts'
import type { SqlLike, Tx } from '#shared/db.ts'
import { SIGNING_SECRET_COUNT_MAX } from '#shared/webhook-secret.ts'
import type { Job } from './job.ts'
import type { Release, Released } from './release.ts'

/** A delivery as it is about to be attempted. */
export type DueDelivery = {
  deliveryId: string
  storeId: string
  eventId: string
  eventType: string
  attemptCount: number
  /** As Postgres writes it: read only when an attempt fails. */
  deadlineAt: string
  /** The exact text that is signed and sent. */
  body: string
  url: string
  /** The active signing secrets, newest first, joined by commas. */
  secretIds: string
  /** Postgres's time of this reading. */
  now: Date
}

/** The deliveries of these jobs that are still theirs for at least `leftMs`, in any order. */
export async function readDeliveries(
  sql: SqlLike,
  jobs: readonly Job[],
  leftMs: number,
): Promise<DueDelivery[]> {
  return sql`
    select d.delivery_id, d.store_id, d.event_id, d.event_type, d.attempt_count, d.deadline_at::text,
      e.body, s.webhook_url as url, service_now() as now,
      array_to_string(array(
        select webhook_secret_id
        from webhook_secrets
        where store_id = d.store_id and (expires_at is null or expires_at > service_now())
        order by webhook_secret_id desc
        limit ${SIGNING_SECRET_COUNT_MAX}
      ), ',') as secret_ids
    from ${unnested(sql, jobs)}
    cross join lateral (
      select * from deliveries d
      where d.delivery_id = j.delivery_id and d.queued_until = j.token
        and d.status = 'PENDING'
        and d.queued_until > service_now() + make_interval(secs => ${leftMs / 1000})
      -- Kept apart by "offset 0": one look-up by key each, whatever the planner believes.
      offset 0
    ) d
    cross join lateral (select body from events where event_id = d.event_id offset 0) e
    cross join lateral (
      select webhook_url from stores where store_id = d.store_id and webhook_url is not null offset 0
    ) s`
}

/** A sealed signing secret. */
export type SealedSecret = { webhookSecretId: string; storeId: string; ciphertext: Uint8Array }

/** The secrets of these ids, in any order. */
export async function readSecrets(
  sql: SqlLike,
  secretIds: readonly string[],
): Promise<SealedSecret[]> {
  return sql`
    select k.webhook_secret_id, k.store_id, k.ciphertext
    from unnest(${column(secretIds)}::text[]) w (webhook_secret_id)
    cross join lateral (
      select webhook_secret_id, store_id, ciphertext
      from webhook_secrets
      where webhook_secret_id = w.webhook_secret_id
      offset 0
    ) k`
}

/** What is written down of one attempt. */
export type AttemptRecord = {
  job: Job
  url: string
  /** Start, by Postgres's clock. */
  at: Date
  durationMs: number
  responseStatus: number | null
  responseBody: string | null
  error: string | null
  isSuccess: boolean
  /** Null on success and when the delivery is dead. */
  nextAttemptAt: Date | null
}

/**
 * Writes attempts and what follows for their deliveries; `keep_attempt` keeps the one before. A delivery that is no
 * longer this job's (sent anew by its seller, or taken over after a stall) keeps the schedule its new owner gave it. Rows are
 * taken in id order.
 */
export async function recordAttempts(tx: Tx, records: readonly AttemptRecord[]): Promise<void> {
  const sorted = [...records].sort((a, b) => (a.job.deliveryId < b.job.deliveryId ? -1 : 1))
  const of = (pick: (record: AttemptRecord) => string | number | boolean | null) =>
    column(sorted.map(pick))
  const isOurs = tx`(d.status = 'PENDING' and d.queued_until = r.token)`
  await tx`
    update deliveries d set
      attempt_count = d.attempt_count + 1,
      url = r.url,
      last_attempt_at = to_timestamp(r.at_ms / 1000),
      last_duration_ms = r.duration_ms,
      last_response_status = r.response_status,
      last_response_body = r.response_body,
      last_error = r.error,
      status = case
        when not ${isOurs} then d.status
        when r.is_success then 'DELIVERED'
        when r.next_attempt_at_ms is null then 'DEAD'
        else 'PENDING'
      end,
      next_attempt_at = case when ${isOurs} then to_timestamp(r.next_attempt_at_ms / 1000) else d.next_attempt_at end,
      queued_until = case when ${isOurs} then '-infinity' else d.queued_until end,
      delivered_at = case when ${isOurs} and r.is_success then (select service_now()) else d.delivered_at end,
      dead_at = case
        when ${isOurs} and not r.is_success and r.next_attempt_at_ms is null then (select service_now())
        else d.dead_at
      end
    from unnest(
      ${of(({ job }) => job.deliveryId)}::text[],
      ${of(({ job }) => job.token)}::timestamptz[],
      ${of(({ url }) => url)}::text[],
      ${of(({ at }) => at.getTime())}::float8[],
      ${of(({ durationMs }) => durationMs)}::integer[],
      ${of(({ responseStatus }) => responseStatus)}::integer[],
      ${of(({ responseBody }) => responseBody)}::text[],
      ${of(({ error }) => error)}::text[],
      ${of(({ isSuccess }) => isSuccess)}::boolean[],
      ${of(({ nextAttemptAt }) => nextAttemptAt?.getTime() ?? null)}::float8[]
    ) r (delivery_id, token, url, at_ms, duration_ms, response_status, response_body, error, is_success, next_attempt_at_ms)
    where d.delivery_id = r.delivery_id`
}

/** Makes the failed deliveries of these stores due at once, those that would be first, up to a count of each store. */
export async function releaseWaiting(
  tx: Tx,
  stores: readonly Release[],
  countMax: number,
): Promise<Released[]> {
  return tx`
    with found as materialized (
      select f.*
      from unnest(
        ${column(stores.map((store) => store.storeId))}::text[],
        ${column(stores.map((store) => store.from))}::timestamptz[]
      ) s (store_id, from_time)
      cross join lateral (
        select d.store_id, d.delivery_id, d.next_attempt_at
        from scheduled_deliveries d
        where d.store_id = s.store_id and d.has_failed
          and d.next_attempt_at > service_now() and d.next_attempt_at >= s.from_time
          and d.queued_until <= service_now()
        order by d.next_attempt_at
        limit ${countMax}
      ) f
    ), waiting as materialized (
      select d.delivery_row
      from found f
      cross join lateral (
        select d.ctid as delivery_row
        from deliveries d
        where d.delivery_id = f.delivery_id and d.status = 'PENDING'
          and d.next_attempt_at > service_now() and d.queued_until <= service_now()
        for update skip locked
        offset 0
      ) d
    ), released as (
      update deliveries d
      set next_attempt_at = service_now()
      from waiting w
      where d.ctid = w.delivery_row
    )
    -- One that was locked counts as well: somebody attends to it at this moment.
    select store_id, count(*)::integer as count, max(next_attempt_at)::text as until
    from found
    group by store_id`
}

/** Gives deliveries back unattempted, to be promoted again after a while. */
export async function giveBack(tx: Tx, jobs: readonly Job[], deferMs: number): Promise<void> {
  await tx`
    update deliveries d set
      queued_until = '-infinity',
      next_attempt_at = greatest(d.next_attempt_at,
        service_now() + make_interval(secs => ${deferMs / 1000}))
    from ${unnested(tx, jobs)}
    where d.delivery_id = j.delivery_id and d.queued_until = j.token and d.status = 'PENDING'`
}

/** Jobs as rows `j (delivery_id, token)`. A token goes as it came: a Date would cut its microseconds off. */
function unnested(sql: SqlLike, jobs: readonly Job[]) {
  return sql`unnest(
    ${column(jobs.map((job) => job.deliveryId))}::text[],
    ${column(jobs.map((job) => job.token))}::timestamptz[]
  ) j (delivery_id, token)`
}
