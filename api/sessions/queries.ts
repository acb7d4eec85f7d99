import type { Db } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { SessionStatus } from './model.ts'

/** Who may see a session: a key's store, or every store of an account. */
export type SessionScope = {
  accountId: string
  storeId: string | undefined
  modes: readonly Mode[]
}

export type SessionRow = {
  sessionId: string
  storeId: string
  mode: Mode
  status: SessionStatus
  priceId: string | null
  /** The session's own, or its price's. */
  amountCents: number
  paymentId: string | null
  metadata: Record<string, string> | null
  buyerEmail: string | null
  successUrl: string | null
  cancelUrl: string | null
  createdAt: Date
  expiresAt: Date
}

export type SessionDraft = {
  sessionId: string
  storeId: string
  mode: Mode
  priceId: string | null
  amountCents: number | null
  metadata: Record<string, string> | null
  buyerEmail: string | null
  successUrl: string | null
  cancelUrl: string | null
  expiresInMinutes: number
}

/** Whether the account has this store. */
export async function readIsOwnStore(db: Db, accountId: string, storeId: string): Promise<boolean> {
  const rows = await db`
    select from stores where store_id = ${storeId} and account_id = ${accountId}`
  return rows.length === 1
}

/** Whether the price is sold; undefined when there is no such price in the store and mode. */
export async function readIsPriceSold(
  db: Db,
  { storeId, mode }: { storeId: string; mode: Mode },
  priceId: string,
): Promise<boolean | undefined> {
  const rows = await db<{ isSold: boolean }[]>`
    select is_sold from prices
    where price_id = ${priceId} and store_id = ${storeId} and mode = ${mode}`
  return rows[0]?.isSold
}

export async function insertSession(db: Db, draft: SessionDraft): Promise<void> {
  await db`
    insert into checkout_sessions (session_id, store_id, mode, price_id, amount_cents, metadata, buyer_email,
      success_url, cancel_url, expires_at)
    values (${draft.sessionId}, ${draft.storeId}, ${draft.mode}, ${draft.priceId}, ${draft.amountCents},
      ${draft.metadata === null ? null : db.json(draft.metadata)}, ${draft.buyerEmail},
      ${draft.successUrl}, ${draft.cancelUrl},
      service_now() + make_interval(mins => ${draft.expiresInMinutes}))`
}

/** A session with its status as of now. */
export async function readSession(
  db: Db,
  { accountId, storeId, modes }: SessionScope,
  sessionId: string,
): Promise<SessionRow | undefined> {
  const rows = await db<SessionRow[]>`
    select c.session_id, c.store_id, c.mode, c.price_id, coalesce(c.amount_cents, p.amount_cents) as amount_cents,
      c.payment_id, c.metadata, c.buyer_email, c.success_url, c.cancel_url, c.created_at, c.expires_at,
      case when c.status = 'OPEN' and c.expires_at <= service_now() then 'EXPIRED' else c.status end as status
    from checkout_sessions c
    join stores s on s.store_id = c.store_id
    left join prices p on p.price_id = c.price_id
    where c.session_id = ${sessionId} and s.account_id = ${accountId}
      and c.store_id = coalesce(${storeId ?? null}, c.store_id)
      and c.mode = any (${[...modes]})`
  return rows[0]
}

/** Closes a session that is open; any other stays as it is. */
export async function closeOpenSession(
  db: Db,
  { storeId, mode }: { storeId: string; mode: Mode },
  sessionId: string,
): Promise<void> {
  await db`
    update checkout_sessions set status = 'CLOSED'
    where session_id = ${sessionId} and store_id = ${storeId} and mode = ${mode}
      and status = 'OPEN' and expires_at > service_now()`
}
