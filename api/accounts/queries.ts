import type { Db, SqlLike, Tx } from '#shared/db.ts'
import type { ACCOUNT_STATUSES, PatchAccountBody } from './model.ts'

/** An account with what it received this month. */
export type AccountRow = {
  accountId: string
  email: string
  sellerName: string | null
  status: (typeof ACCOUNT_STATUSES)[number]
  plan: string
  openAmountEnabled: boolean
  emailVerifiedAt: Date | null
  createdAt: Date
  /** `2026-07`, UTC. */
  month: string
  receivedMicros: bigint
}

export type MailedPurpose = 'VERIFY_EMAIL' | 'RESET_PASSWORD'

/** Answers whether the account was made: not when the address has one. */
export async function insertAccount(
  tx: Tx,
  row: { accountId: string; email: string; passwordHash: string; sellerName: string | null },
): Promise<boolean> {
  const inserted = await tx`
    insert into accounts (account_id, email, password_hash, seller_name)
    values (${row.accountId}, ${row.email}, ${row.passwordHash}, ${row.sellerName})
    on conflict do nothing`
  return inserted.count === 1
}

export async function readAccount(sql: SqlLike, accountId: string): Promise<AccountRow> {
  const [row] = await sql<AccountRow[]>`
    select a.account_id, a.email, a.seller_name, a.status, a.plan, a.open_amount_enabled,
      a.email_verified_at, a.created_at,
      to_char(service_now() at time zone 'UTC', 'YYYY-MM') as month,
      coalesce((
        select sum(v.amount_micros)
        from volume_entries v
        where v.account_id = a.account_id
          and v.month = date_trunc('month', service_now() at time zone 'UTC')::date
      ), 0) as received_micros
    from accounts a
    where a.account_id = ${accountId}`
  if (row === undefined) throw new Error('an authenticated account is not there')
  return row
}

export async function findAccountByEmail(
  sql: SqlLike,
  email: string,
): Promise<{ accountId: string; passwordHash: string; isVerified: boolean } | undefined> {
  const [row] = await sql<{ accountId: string; passwordHash: string; isVerified: boolean }[]>`
    select account_id, password_hash, email_verified_at is not null as is_verified
    from accounts
    where lower(email) = ${email}`
  return row
}

export async function updateAccount(
  sql: SqlLike,
  accountId: string,
  patch: PatchAccountBody,
): Promise<void> {
  await sql`
    update accounts set
      seller_name = coalesce(${patch.sellerName ?? null}, seller_name),
      open_amount_enabled = coalesce(${patch.openAmountEnabled ?? null}, open_amount_enabled)
    where account_id = ${accountId}`
}

export async function markEmailVerified(tx: Tx, accountId: string): Promise<void> {
  await tx`
    update accounts set email_verified_at = coalesce(email_verified_at, service_now())
    where account_id = ${accountId}`
}

export async function updatePassword(
  tx: Tx,
  accountId: string,
  passwordHash: string,
): Promise<void> {
  await tx`
    update accounts set password_hash = ${passwordHash}
    where account_id = ${accountId}`
}

/** Keeps a token's hash, forgets the account's that have ended, and answers when this one will. */
export async function insertMailedToken(
  tx: Tx,
  token: { hash: Uint8Array; accountId: string; purpose: MailedPurpose; validHours: number },
): Promise<Date> {
  await tx`
    delete from mailed_tokens
    where account_id = ${token.accountId} and purpose = ${token.purpose} and expires_at <= service_now()`
  const [row] = await tx<{ expiresAt: Date }[]>`
    insert into mailed_tokens (token_hash, account_id, purpose, expires_at)
    values (${token.hash}, ${token.accountId}, ${token.purpose},
      service_now() + make_interval(hours => ${token.validHours}))
    returning expires_at`
  if (row === undefined) throw new Error('an inserted token was not returned')
  return row.expiresAt
}

/** Whose token it is, while it is good. */
export async function findMailedToken(
  sql: SqlLike,
  hash: Uint8Array,
  purpose: MailedPurpose,
): Promise<string | undefined> {
  const [row] = await sql<{ accountId: string }[]>`
    select account_id from mailed_tokens
    where token_hash = ${hash} and purpose = ${purpose} and used_at is null
      and expires_at > service_now()`
  return row?.accountId
}

/** Uses a token up, and with it every other one the account has for the purpose. Answers whose it was. */
export async function takeMailedToken(
  tx: Tx,
  hash: Uint8Array,
  purpose: MailedPurpose,
): Promise<string | undefined> {
  const [row] = await tx<{ accountId: string }[]>`
    update mailed_tokens set used_at = service_now()
    where token_hash = ${hash} and purpose = ${purpose} and used_at is null
      and expires_at > service_now()
    returning account_id`
  if (row === undefined) return undefined
  await tx`
    update mailed_tokens set used_at = service_now()
    where account_id = ${row.accountId} and purpose = ${purpose} and used_at is null`
  return row.accountId
}

/** Keeps a login's hash, forgets the account's that have ended, and answers when this one will. */
export async function insertLogin(
  tx: Tx,
  login: { hash: Uint8Array; accountId: string; validHours: number },
): Promise<Date> {
  await tx`
    delete from login_sessions
    where account_id = ${login.accountId} and expires_at <= service_now()`
  const [row] = await tx<{ expiresAt: Date }[]>`
    insert into login_sessions (token_hash, account_id, expires_at)
    values (${login.hash}, ${login.accountId}, service_now() + make_interval(hours => ${login.validHours}))
    returning expires_at`
  if (row === undefined) throw new Error('an inserted login was not returned')
  return row.expiresAt
}

export async function deleteLogin(db: Db, hash: Uint8Array, accountId: string): Promise<void> {
  await db`delete from login_sessions where token_hash = ${hash} and account_id = ${accountId}`
}

export async function deleteLogins(tx: Tx, accountId: string): Promise<void> {
  await tx`delete from login_sessions where account_id = ${accountId}`
}

/** Counts an attempt to log in before it is made, so that many at once are counted like many in turn. */
export async function countAttempt(
  db: Db,
  rateKey: string,
  windowSeconds: number,
): Promise<{ requestCount: number; resetSeconds: number }> {
  const [row] = await db<{ requestCount: number; resetSeconds: number }[]>`
    select request_count, reset_seconds from count_request(${rateKey}, ${windowSeconds})`
  if (row === undefined) throw new Error('count_request answered no row')
  return row
}

/** Takes back what {@link countAttempt} counted. */
export async function uncountAttempt(db: Db, rateKey: string): Promise<void> {
  await db`
    update rate_windows set request_count = greatest(request_count - 1, 0)
    where rate_key = ${rateKey}`
}

/** Begins the window anew with its count: the lock lasts from the last failure. */
export async function restartWindow(db: Db, rateKey: string): Promise<void> {
  await db`update rate_windows set started_at = service_now() where rate_key = ${rateKey}`
}

export async function forgetWindow(db: Db, rateKey: string): Promise<void> {
  await db`delete from rate_windows where rate_key = ${rateKey}`
}
