import type { Db } from '#shared/db.ts'
import type { Token } from '#shared/networks/registry.ts'
import type { Branding } from '#shared/payments/row.ts'
import type { SubscriptionFacts } from '#shared/subscriptions/events.ts'

/** A subscription as the holder of its renew link meets it, with what decides whether it can be paid. */
export type RenewalRow = SubscriptionFacts & {
  intervalCount: number
  token: Token
  sellerName: string
  branding: Branding
  productName: string
  accountStatus: 'ACTIVE' | 'SUSPENDED' | 'BANNED'
  isEmailVerified: boolean
  plan: string
  /** What its price accepts; null accepts all. */
  networks: string[] | null
  tokens: string[] | null
  /** Networks on which the store holds a wallet in its mode. */
  walletNetworks: string[]
  /** The newest payment that is under way: pending and in its window, or seen on the chain. */
  openPaymentId: string | null
}

/** The subscription of a renew token, by its hash; undefined when there is none. */
export async function readRenewal(db: Db, tokenHash: Uint8Array): Promise<RenewalRow | undefined> {
  const rows = await db<RenewalRow[]>`
    select s.subscription_id, s.store_id, s.account_id, s.mode, s.price_id, s.status, s.network, s.token,
      s.amount_cents, s.interval, s.interval_count, s.buyer_email, s.metadata, s.next_due_at,
      coalesce(a.seller_name, t.branding ->> 'displayName', t.name) as seller_name, t.branding,
      p.name as product_name, a.status as account_status, a.email_verified_at is not null as is_email_verified,
      a.plan, r.networks, r.tokens,
      array(
        select distinct w.network from wallets w
        where w.store_id = s.store_id and w.mode = s.mode and w.removed_at is null
      ) as wallet_networks,
      (
        select y.payment_id from payments y
        where y.subscription_id = s.subscription_id
          and (y.status = 'DETECTED' or (y.status = 'PENDING' and y.expires_at > service_now()))
        order by y.payment_id desc
        limit 1
      ) as open_payment_id
    from subscriptions s
    join stores t on t.store_id = s.store_id
    join accounts a on a.account_id = s.account_id
    join prices r on r.price_id = s.price_id
    join products p on p.product_id = r.product_id
    where s.renew_token_hash = ${tokenHash}`
  return rows[0]
}

/** What a renewal's payment is made from, in the names of its columns. */
export type RenewalDraft = {
  payment_id: string
  store_id: string
  account_id: string
  mode: string
  network: string
  token: string
  deployment: string
  contract: string
  decimals: number
  clock: string
  confirmations_required: number
  amount_cents: number
  price_id: string
  subscription_id: string
  reference_key: string | null
  metadata: Record<string, string> | null
  buyer_email: string | null
}

/** Claims a slot for it; a code when there is none. */
export async function claimRenewal(
  db: Db,
  draft: RenewalDraft,
  terms: { ttlMinutes: number; clientIp: string; capUsd: number | null; openPaymentsPerIp: number },
): Promise<{ code: string | null; xpub: string | null; xpubLeft: number | null }> {
  const [row] = await db<{ code: string | null; xpub: string | null; xpubLeft: number | null }[]>`
    select code, xpub, xpub_left
    from claim_slot(jsonb_populate_record(null::payments, ${db.json(draft)}), ${terms.ttlMinutes},
      ${terms.clientIp}, ${terms.capUsd}, ${terms.openPaymentsPerIp})`
  if (row === undefined) throw new Error('claim_slot answered no row')
  return row
}
