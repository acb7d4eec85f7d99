import type { Db, SqlLike } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Branding } from '#shared/payments/row.ts'
import type { Interval } from '#shared/subscriptions/events.ts'

/** What checkouts are asked for, as the database takes it. */
export type PaidFor = {
  /** Null for a hosted page, which has no key: the link or session says whose it is. */
  keyHash: Uint8Array | null
  /** The Origin's host with each of its parent domains; null without a valid one. */
  originHosts: string[] | null
  priceId: string | null
  paymentLinkId: string | null
  sessionId: string | null
  amountCents: number | null
}

/** Who is asked and what for; `code` is the first check that fails. */
export type Terms = {
  code: string | null
  storeId: string
  accountId: string
  mode: Mode
  sellerName: string
  branding: Branding
  amountCents: number
  priceId: string
  everyInterval: Interval | null
  everyCount: number
  networks: string[] | null
  tokens: string[] | null
  metadata: Record<string, string> | null
  buyerEmail: string | null
  /** Networks on which the store holds a wallet in the key's mode. */
  walletNetworks: string[]
}

/** The columns of `payments` that the caller decides, in SQL's names. */
export type PaymentDraft = {
  payment_id: string
  network: string
  token: string
  deployment?: string
  contract?: string
  decimals?: number
  clock?: string
  confirmations_required?: number
  reference_key: string | null
  metadata: Record<string, string> | null
  origin_host: string | null
  buyer_email: string | null
  subscription_id?: string
}

/** What a claim is made with, besides what is paid for. */
export type ClaimRequest = PaidFor & {
  draft: PaymentDraft
  /** The networks table's own refusal, raised at its rank. */
  networkCode: string | null
  ttlMinutes: number
  clientIp: string
  planCaps: Readonly<Record<string, number | null>>
  openPaymentsPerIp: number
}

/** A claim's answer: the slot, or a code. */
export type Claim = {
  code: string | null
  amountCents: number
  address: string
  amountBaseUnits: bigint
  createdAt: Date
  expiresAt: Date
  branding: Branding
  xpub: string | null
  xpubLeft: number | null
}

/** A claim with what a subscription is made from. */
export type FullClaim = Claim & {
  storeId: string
  accountId: string
  priceId: string
  metadata: Record<string, string> | null
  buyerEmail: string | null
  everyInterval: Interval | null
  everyCount: number
}

/** Counts the request and claims a slot, in one round trip. `resetSeconds` is when the caller's minute ends. */
export async function beginCheckout(
  db: Db,
  rate: { rateKey: string; limit: number },
  request: ClaimRequest,
): Promise<Claim & { requestCount: number; resetSeconds: number }> {
  const [row] = await db<(Claim & { requestCount: number; resetSeconds: number })[]>`
    call begin_checkout(${rate.rateKey}, ${rate.limit}, ${claimArguments(db, request)})`
  if (row === undefined) throw new Error('begin_checkout answered no row')
  return row
}

/** The claim alone, for a request that was counted already. */
export async function claimCheckout(sql: SqlLike, request: ClaimRequest): Promise<FullClaim> {
  const [row] = await sql<FullClaim[]>`
    select code, store_id, account_id, price_id, amount_cents, address, amount_base_units, created_at, expires_at,
      metadata, buyer_email, branding, every_interval, every_count, xpub, xpub_left
    from claim_checkout(${claimArguments(sql, request)})`
  if (row === undefined) throw new Error('claim_checkout answered no row')
  return row
}

/** The checks of both publishable-key endpoints, with the networks the store has wallets for. */
export async function readTerms(sql: SqlLike, paidFor: PaidFor): Promise<Terms> {
  const { keyHash, originHosts, priceId, paymentLinkId, sessionId, amountCents } = paidFor
  const [row] = await sql<Terms[]>`
    select t.code, t.store_id, t.account_id, t.mode, t.seller_name, t.branding, t.amount_cents, t.price_id,
      t.every_interval, t.every_count, t.networks, t.tokens, t.metadata, t.buyer_email,
      array(
        select distinct w.network from wallets w
        where w.store_id = t.store_id and w.mode = t.mode and w.removed_at is null
      ) as wallet_networks
    from resolve_checkout(${keyHash}, ${originHosts}, ${priceId}, ${paymentLinkId}, ${sessionId},
      ${amountCents}) t`
  if (row === undefined) throw new Error('resolve_checkout answered no row')
  return row
}

function claimArguments(sql: SqlLike, request: ClaimRequest) {
  const { keyHash, originHosts, priceId, paymentLinkId, sessionId, amountCents } = request
  return sql`
    ${keyHash}, ${originHosts}, ${priceId}, ${paymentLinkId}, ${sessionId}, ${amountCents},
    jsonb_populate_record(null::payments, ${sql.json(request.draft)}), ${request.networkCode},
    ${request.ttlMinutes}, ${request.clientIp}, ${sql.json(request.planCaps)}, ${request.openPaymentsPerIp}`
}
