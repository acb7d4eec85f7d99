import type { Plan } from '#shared/config-plans.ts'
import type { Db, Tx } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { REQUESTS_CHANNEL, RESCAN_KIND, type RescanBody } from '#shared/requests.ts'
import type { ACCOUNT_STATUSES } from '../accounts/model.ts'

export type AccountStatus = (typeof ACCOUNT_STATUSES)[number]

/** Undefined when there is no such account. `email` is in lower case. */
export async function findAccountId(
  db: Db,
  wanted: { accountId: string } | { email: string },
): Promise<string | undefined> {
  const [row] = await db<{ accountId: string }[]>`
    select account_id from accounts
    where ${'email' in wanted ? db`lower(email) = ${wanted.email}` : db`account_id = ${wanted.accountId}`}`
  return row?.accountId
}

export async function setAccountStatus(
  db: Db,
  accountId: string,
  status: AccountStatus,
): Promise<void> {
  await db`update accounts set status = ${status} where account_id = ${accountId}`
}

export async function setAccountPlan(db: Db, accountId: string, plan: Plan): Promise<void> {
  await db`update accounts set plan = ${plan} where account_id = ${accountId}`
}

/** Accounts, newest first. */
export async function listAccounts(db: Db, status: AccountStatus | undefined, limit: number) {
  return db<{ accountId: string; email: string; status: AccountStatus; plan: string }[]>`
    select account_id, email, seller_name, status, plan, email_verified_at is not null as email_verified,
      created_at
    from accounts
    where status = coalesce(${status ?? null}, status)
    order by account_id desc
    limit ${limit}`
}

/** Stores of one account or of all, newest first. */
export async function listStores(db: Db, accountId: string | undefined, limit: number) {
  return db<{ storeId: string }[]>`
    select store_id, account_id, name, webhook_url, created_at
    from stores
    where account_id = coalesce(${accountId ?? null}, account_id)
    order by store_id desc
    limit ${limit}`
}

/** Keys of a store, revoked ones too, newest first. Secret ones are masked. */
export async function listStoreKeys(db: Db, storeId: string, limit: number) {
  return db`
    select key_id, kind, mode, masked_key as key, created_at, revoked_at
    from keys
    where store_id = ${storeId}
    order by key_id desc
    limit ${limit}`
}

/** Wallets of a store, removed ones too, newest first. */
export async function listStoreWallets(db: Db, storeId: string, limit: number) {
  return db`
    select wallet_id, mode, network, coalesce(address, xpub) as receives_at, created_at, removed_at
    from wallets
    where store_id = ${storeId}
    order by wallet_id desc
    limit ${limit}`
}

/** Ends a key. Undefined when there is none, or none that worked. */
export async function revokeAnyKey(db: Db, key: { keyId: string } | { keyHash: Uint8Array }) {
  const [row] = await db<{ keyId: string; storeId: string; kind: string; mode: Mode }[]>`
    update keys set revoked_at = service_now()
    where revoked_at is null
      and ${'keyId' in key ? db`key_id = ${key.keyId}` : db`key_hash = ${key.keyHash}`}
    returning key_id, store_id, kind, mode, masked_key as key, revoked_at`
  return row
}

/** A deployment as its leader last wrote it, with ages by Postgres's clock. */
export type DeploymentRow = {
  deployment: string
  leader: string | null
  isLed: boolean
  blockNumber: number | null
  headNumber: number | null
  auditedNumber: number | null
  headAgeMs: number | null
  haltedReason: string | null
  confirmations: number
  disagreementCount: number
}

export async function readDeployments(db: Db): Promise<DeploymentRow[]> {
  return db<DeploymentRow[]>`
    select deployment, leader, coalesce(lease_until > service_now(), false) as is_led, block_number, head_number,
      audited_number, (extract(epoch from service_now() - head_seen_at) * 1000)::double precision as head_age_ms,
      halted_reason, confirmations, disagreement_count
    from deployments
    order by deployment`
}

/** Asks a deployment's leader to read blocks again; undefined while an earlier wish is open. */
export async function insertRescan(
  db: Db,
  deployment: string,
  body: RescanBody,
): Promise<string | undefined> {
  const [row] = await db<{ requestId: string }[]>`
    with asked as (
      insert into requests (request_id, kind, subject, body)
      values (${newId('req')}, ${RESCAN_KIND}, ${deployment}, ${db.json(body)})
      on conflict (kind, subject) where done_at is null do nothing
      returning request_id
    )
    select request_id, pg_notify(${REQUESTS_CHANNEL}, ${deployment}) from asked`
  return row?.requestId
}

export type RequestRow = {
  requestId: string
  kind: string
  subject: string
  createdAt: Date
  doneAt: Date | null
  result: Record<string, unknown> | null
}

/** What is asked of other processes, less what was sent with it: that may be sealed, or somebody's address. */
export async function listRequests(db: Db, isOpenOnly: boolean, limit: number) {
  return db<RequestRow[]>`
    select request_id, kind, subject, created_at, done_at, result
    from requests
    where ${isOpenOnly ? db`done_at is null` : db`true`}
    order by request_id desc
    limit ${limit}`
}

export async function readRequest(db: Db, requestId: string): Promise<RequestRow | undefined> {
  const [row] = await db<RequestRow[]>`
    select request_id, kind, subject, created_at, done_at, result
    from requests
    where request_id = ${requestId}`
  return row
}

export const DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'DEAD'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Deliveries of a store, newest first. */
export async function listStoreDeliveries(
  db: Db,
  storeId: string,
  status: DeliveryStatus | undefined,
  limit: number,
) {
  return db`
    select delivery_id, event_id, mode, status, attempt_count, next_attempt_at, created_at, last_response_status, last_error
    from deliveries
    where store_id = ${storeId} ${status === undefined ? db`` : db`and status = ${status}`}
    order by delivery_id desc
    limit ${limit}`
}

/**
 * The next deliveries of a store to make due, behind an id, in order. What a job has in hand already is left out: it is on
 * its way.
 */
export async function readRedrivable(
  tx: Tx,
  storeId: string,
  statuses: readonly DeliveryStatus[],
  behind: string,
  limit: number,
): Promise<string[]> {
  const rows = await tx<{ deliveryId: string }[]>`
    select delivery_id
    from deliveries
    where store_id = ${storeId} and status = any (${[...statuses]}) and delivery_id > ${behind}
      and queued_until <= service_now()
    order by delivery_id
    limit ${limit}`
  return rows.map(({ deliveryId }) => deliveryId)
}

export async function findDelivery(
  db: Db,
  deliveryId: string,
): Promise<{ storeId: string } | undefined> {
  const [row] = await db<{ storeId: string }[]>`
    select store_id from deliveries where delivery_id = ${deliveryId}`
  return row
}

/** Whether a store has told where its events go. */
export async function readHasEndpoint(db: Db, storeId: string): Promise<boolean> {
  const rows = await db`
    select 1 from stores where store_id = ${storeId} and webhook_url is not null`
  return rows.length === 1
}

/** Whose a payment is. */
export async function findPaymentOwner(
  db: Db,
  paymentId: string,
): Promise<{ storeId: string; accountId: string } | undefined> {
  const [row] = await db<{ storeId: string; accountId: string }[]>`
    select store_id, account_id from payments where payment_id = ${paymentId}`
  return row
}
