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

/** A claim as the database takes it, in SQL's names: what is paid for, and what is known of the payment. */
export type ClaimRequest = {
  /** In hexadecimal; null for a hosted page. */
  key_hash: string | null
  origin_hosts: string[] | null
  price_id: string | null
  payment_link_id: string | null
  session_id: string | null
  amount_cents: number | null
  payment_id: string
  network: string
  token: string
  /** The networks table's own refusal, raised at its rank. */
  network_code: string | null
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
  ttl_minutes: number
  client_ip: string
}

/** What the operator sets for all claims. */
export type ClaimSettings = {
  planCapsUsd: Readonly<Record<string, number | null>>
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

/** A request with the caller whose count it is. */
export type CountedRequest = ClaimRequest & { rate_key: string }

/** How many the caller made in the minute, and the claim; undefined when that is over the limit. */
export type CountedClaim = {
  requestCount: number
  /** Seconds until the caller's minute ends. */
  resetSeconds: number
  claim: Claim | undefined
}

/** What JSON can say of a claim. */
type ClaimAnswer = Pick<Claim, 'code' | 'amountCents' | 'address' | 'branding'> &
  Record<'paymentId' | 'amountBaseUnits' | 'createdAt' | 'expiresAt', string>

/**
 * Counts the requests and claims their slots, in one round trip. The code `unsettled` is for {@link claimCheckout} to
 * settle: the claim is not one of the simple ones.
 */
export async function beginCheckouts(
  db: Db,
  requests: readonly CountedRequest[],
  { rateLimit, windowSeconds }: { rateLimit: number; windowSeconds: number },
  { planCapsUsd, openPaymentsPerIp }: ClaimSettings,
): Promise<CountedClaim[]> {
  type Count = { paymentId: string; requestCount: number; resetSeconds: number }
  const [row] = await db<{ counts: Count[]; claims: ClaimAnswer[] | null }[]>`
    call begin_checkouts(${db.json(requests)}, ${rateLimit}, ${windowSeconds}, ${db.json(planCapsUsd)},
      ${openPaymentsPerIp})`
  if (row === undefined) throw new Error('begin_checkouts answered no row')
  const counts = new Map(row.counts.map((count) => [count.paymentId, count]))
  const claims = new Map(row.claims?.map((claim) => [claim.paymentId, toClaim(claim)]))
  return requests.map(({ payment_id }) => {
    const count = counts.get(payment_id)
    if (count === undefined) throw new Error('begin_checkouts left a request out')
    const { requestCount, resetSeconds } = count
    return { requestCount, resetSeconds, claim: claims.get(payment_id) }
  })
}

function toClaim(answer: ClaimAnswer): Claim {
  return {
    ...{ code: answer.code, amountCents: answer.amountCents, address: answer.address },
    amountBaseUnits: BigInt(answer.amountBaseUnits ?? 0),
    createdAt: new Date(answer.createdAt),
    expiresAt: new Date(answer.expiresAt),
    ...{ branding: answer.branding, xpub: null, xpubLeft: null },
  }
}

/** The claim alone, for a request that was counted already. */
export async function claimCheckout(
  sql: SqlLike,
  request: ClaimRequest,
  { planCapsUsd, openPaymentsPerIp }: ClaimSettings,
): Promise<FullClaim> {
  const [row] = await sql<FullClaim[]>`
    select code, (payment).store_id, (payment).account_id, (payment).price_id, (payment).amount_cents,
      (payment).address, (payment).amount_base_units, (payment).created_at, (payment).expires_at,
      (payment).metadata, (payment).buyer_email, branding, every_interval, every_count, xpub, xpub_left
    from claim_checkout(${sql.json(request)}, ${sql.json(planCapsUsd)}, ${openPaymentsPerIp})`
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
