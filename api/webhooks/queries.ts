import type { Db, SqlLike, Tx } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { SCANNED_MAX, type Stretch } from '../list.ts'
import type { DeliveriesQuery, DeliveryStatus } from './model.ts'

export type SecretRow = { ciphertext: Uint8Array; createdAt: Date; expiresAt: Date | null }

export type DeliveryRow = {
  deliveryId: string
  eventId: string
  eventType: string
  paymentId: string | null
  mode: Mode
  url: string
  status: DeliveryStatus
  attemptCount: number
  nextAttemptAt: Date | null
  createdAt: Date
  deliveredAt: Date | null
}

export type AttemptRow = {
  deliveryId: string
  at: Date
  durationMs: number
  url: string
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

/** Attempts shown of a delivery, the latest: 72 hours hold some 85, and a resend begins another 72. */
const ATTEMPTS_MAX = 200

/** The store's URL, with its row locked against other changes of the webhook; payments go on. */
export async function lockWebhook(tx: Tx, storeId: string): Promise<string | null> {
  const [row] = await tx<{ webhookUrl: string | null }[]>`
    select webhook_url from stores where store_id = ${storeId} for no key update`
  return row?.webhookUrl ?? null
}

export async function readWebhookUrl(sql: SqlLike, storeId: string): Promise<string | null> {
  const [row] = await sql<{ webhookUrl: string | null }[]>`
    select webhook_url from stores where store_id = ${storeId}`
  return row?.webhookUrl ?? null
}

export async function setWebhookUrl(tx: Tx, storeId: string, url: string | null): Promise<void> {
  await tx`update stores set webhook_url = ${url} where store_id = ${storeId}`
}

/** The secrets that sign, newest first. */
export async function readActiveSecrets(
  sql: SqlLike,
  storeId: string,
  countMax: number,
): Promise<SecretRow[]> {
  return sql`
    select ciphertext, created_at, expires_at
    from webhook_secrets
    where store_id = ${storeId} and (expires_at is null or expires_at > service_now())
    order by webhook_secret_id desc
    limit ${countMax}`
}

export async function insertSecret(
  tx: Tx,
  secret: { webhookSecretId: string; storeId: string; ciphertext: Uint8Array },
): Promise<void> {
  await tx`
    insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
    values (${secret.webhookSecretId}, ${secret.storeId}, ${secret.ciphertext})`
}

export async function deleteSecrets(tx: Tx, storeId: string): Promise<void> {
  await tx`delete from webhook_secrets where store_id = ${storeId}`
}

/** Ends an overlap that still runs, and begins one for the secret in use. */
export async function beginOverlap(tx: Tx, storeId: string, overlapHours: number): Promise<void> {
  await tx`delete from webhook_secrets where store_id = ${storeId} and expires_at is not null`
  await tx`
    update webhook_secrets set expires_at = service_now() + make_interval(hours => ${overlapHours})
    where store_id = ${storeId}`
}

/** A stretch of a store's deliveries. */
export async function listDeliveries(
  db: Db,
  storeId: string,
  filter: DeliveriesQuery,
  stretch: Stretch,
): Promise<DeliveryRow[]> {
  const { status, eventType } = filter
  return db`
    select delivery_id, event_id, event_type, payment_id, mode, url, status, attempt_count,
      next_attempt_at, created_at, delivered_at
    from (${scan(db, storeId, filter, stretch)} limit ${SCANNED_MAX}) d
    where status = coalesce(${status ?? null}, status) and event_type = coalesce(${eventType ?? null}, event_type)
    order by store_id desc, mode desc, delivery_id desc
    limit ${stretch.limit}`
}

export async function readDeliveryScanEnd(
  db: Db,
  storeId: string,
  filter: DeliveriesQuery,
  stretch: Stretch,
): Promise<string | undefined> {
  const [row] = await db<{ deliveryId: string }[]>`
    select delivery_id
    from (${scan(db, storeId, filter, stretch)} offset ${SCANNED_MAX - 1} limit 1) d`
  return row?.deliveryId
}

/**
 * Written so that only an index by store and mode gives its order: the primary key would lead through other stores' rows.
 * Death is rare and has an index of its own. A payment's deliveries are few and are found first.
 */
function scan(db: Db, storeId: string, { status, paymentId }: DeliveriesQuery, stretch: Stretch) {
  const { mode, from, before } = stretch
  const source =
    paymentId === undefined
      ? db`deliveries`
      : db`(
          select d.*
          from events e
          join event_numbers n using (event_id)
          join deliveries d on d.delivery_id = n.delivery_id
          where e.payment_id = ${paymentId}
          offset 0
        ) of_payment`
  return db`
    select *
    from ${source}
    where (store_id, mode, delivery_id) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, delivery_id) < (${storeId}, ${mode}, ${before})
      ${status === 'DEAD' ? db`and dead_at is not null` : db``}
    order by store_id desc, mode desc, delivery_id desc`
}

export async function readDelivery(
  db: Db,
  storeId: string,
  modes: readonly Mode[],
  deliveryId: string,
): Promise<DeliveryRow | undefined> {
  const [row] = await db<DeliveryRow[]>`
    select delivery_id, event_id, event_type, payment_id, mode, url, status, attempt_count,
      next_attempt_at, created_at, delivered_at
    from deliveries
    where delivery_id = ${deliveryId} and store_id = ${storeId} and mode = any (${[...modes]})`
  return row
}

/**
 * Attempts of deliveries, each one's oldest first: the earlier ones and the last, which stands with the delivery. The caller
 * has made sure that they are its store's.
 */
export async function readAttempts(
  db: Db,
  deliveryIds: readonly string[],
): Promise<Map<string, AttemptRow[]>> {
  const rows = await db<AttemptRow[]>`
    select d.delivery_id, a.at, a.duration_ms, a.url, a.response_status, a.response_body, a.error
    from unnest(${[...deliveryIds]}::text[]) d (delivery_id)
    cross join lateral (
      (
        select attempt_number, at, duration_ms, url, response_status, response_body, error
        from attempts
        where delivery_id = d.delivery_id
        order by attempt_number desc
        limit ${ATTEMPTS_MAX - 1}
      )
      union all
      select attempt_count, last_attempt_at, last_duration_ms, url, last_response_status, last_response_body, last_error
      from deliveries
      where delivery_id = d.delivery_id and attempt_count > 0
    ) a
    order by d.delivery_id, a.attempt_number`
  const found = new Map<string, AttemptRow[]>()
  for (const row of rows) {
    const attempts = found.get(row.deliveryId) ?? []
    attempts.push(row)
    found.set(row.deliveryId, attempts)
  }
  return found
}
