import { assert } from '#shared/assert.ts'
import { hashSecret } from '#shared/crypto.ts'
import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { centsToDecimal } from '#shared/money.ts'
import { newReferenceKey } from '#shared/networks/reference-key.ts'
import { readPayment } from '#shared/payments/queries.ts'
import { type PaymentObject, paymentView } from '#shared/payments/view.ts'
import { isEnded } from '#shared/subscriptions/machine.ts'
import { lockSubscription } from '#shared/subscriptions/queries.ts'
import { moveSubscription } from '#shared/subscriptions/transition.ts'
import { announce } from '../announce.ts'
import { rateKeyOfIp } from '../client-ip.ts'
import type { ApiDeps } from '../deps.ts'
import { CHECKOUT_WINDOW_S, limitRate } from '../rate-limit.ts'
import { claimFromPool, fillInBackground } from '../xpub-pool.ts'
import { listOptions, type NetworkFacts, resolveNetwork } from './network.ts'
import type { RenewalCheckoutBody, RenewalObject } from './renewal-model.ts'
import { claimRenewal, type RenewalDraft, type RenewalRow, readRenewal } from './renewal-queries.ts'
import { failClaim } from './service.ts'

/** What a renew token looks like; anything else is unknown without asking the database. */
const TOKEN = /^renew_[0-9a-f]{64}$/
/** Minutes a renewal's payment is open: as long as any checkout that says nothing. */
const TTL_MINUTES = 60

/** Error: renewal_not_found. */
export async function findRenewal(deps: ApiDeps, token: string): Promise<RenewalRow> {
  const row = TOKEN.test(token) ? await readRenewal(deps.db, hashSecret(token)) : undefined
  return row ?? fail('renewal_not_found')
}

/** What the holder of a renew link sees. Error: renewal_not_found. */
export async function showRenewal(deps: ApiDeps, token: string): Promise<RenewalObject> {
  const row = await findRenewal(deps, token)
  return {
    ...{ mode: row.mode, status: row.status, sellerName: row.sellerName, branding: row.branding },
    productName: row.productName,
    amount: centsToDecimal(row.amountCents),
    amountCents: row.amountCents,
    currency: 'usd',
    ...{ interval: row.interval, intervalCount: row.intervalCount },
    ...(row.nextDueAt === null ? {} : { nextDueAt: row.nextDueAt.toISOString() }),
    ...{ network: row.network, token: row.token },
    options: renewalOptions(deps, row),
    ...(row.openPaymentId === null ? {} : { paymentId: row.openPaymentId }),
  }
}

/** What the next period can be paid with; nothing once the subscription has ended. */
export function renewalOptions(deps: ApiDeps, row: RenewalRow) {
  if (isEnded(row.status)) return []
  return listOptions(deps.config.deployments, row.mode, row.walletNetworks, row)
}

/**
 * Claims a slot for the next period, at the amount that was agreed: an archived price takes no new subscriptions, and
 * keeps those it has. One that was never paid may be paid this way too. `headers` get the caller's rate.
 * Errors: rate_limited, renewal_not_found, not_open (it has ended), account_disabled, email_unverified,
 * network_not_accepted, token_not_accepted, no_wallet, volume_cap_reached, slots_exhausted.
 */
export async function checkOutRenewal(
  deps: ApiDeps,
  token: string,
  wish: RenewalCheckoutBody,
  caller: { clientIp: string; headers: Record<string, string> },
): Promise<PaymentObject> {
  const clientIp = rateKeyOfIp(caller.clientIp)
  const limit = deps.config.rateLimitCheckout
  const rate = { limit, windowSeconds: CHECKOUT_WINDOW_S }
  await limitRate(deps, caller.headers, `checkout:${clientIp}`, rate)
  const row = await findRenewal(deps, token)
  refuseUnpayable(row)
  const draft = toDraft(deps, row, pickNetwork(deps, row, wish))
  const claim = await takeSlot(deps, row, draft, clientIp)
  if (claim.code !== null) {
    failClaim(deps, claim.code, { limit, requestCount: 0, resetSeconds: CHECKOUT_WINDOW_S })
  }
  if (claim.xpub !== null) fillInBackground(deps, claim.xpub, claim.xpubLeft ?? 0)
  const payment = await readPayment(deps.db, draft.payment_id)
  assert(payment !== undefined, 'a claimed payment is there')
  return paymentView(payment, deps.view)
}

/** Cancels for the buyer; a subscription that has ended is answered as it is. Error: renewal_not_found. */
export async function cancelRenewal(deps: ApiDeps, token: string): Promise<RenewalObject> {
  const { subscriptionId } = await findRenewal(deps, token)
  const moved = await withTransaction(deps.db, async (tx) => {
    const locked = await lockSubscription(tx, subscriptionId)
    return locked && moveSubscription(tx, locked, 'canceled', {}, deps.door.subscriptions)
  })
  if (moved !== undefined) announce(deps, [])
  return showRenewal(deps, token)
}

function refuseUnpayable({ mode, status, accountStatus, isEmailVerified }: RenewalRow): void {
  if (isEnded(status)) {
    fail('not_open', { message: 'The subscription has ended. Subscribe anew at the seller’s.' })
  }
  if (mode !== 'live') return
  if (accountStatus !== 'ACTIVE') fail('account_disabled')
  if (!isEmailVerified) fail('email_unverified')
}

function pickNetwork(
  deps: ApiDeps,
  row: RenewalRow,
  { network, token }: RenewalCheckoutBody,
): NetworkFacts {
  if (row.networks !== null && !row.networks.includes(network)) {
    fail('network_not_accepted', { param: 'network' })
  }
  const facts = resolveNetwork(deps.config.deployments, row.mode, network, token)
  const isToken = row.tokens === null || row.tokens.includes(token)
  const code = 'code' in facts ? facts.code : isToken ? undefined : 'token_not_accepted'
  if (code !== undefined) {
    fail(code, { param: code === 'network_not_accepted' ? 'network' : 'token' })
  }
  return facts as NetworkFacts
}

function toDraft(deps: ApiDeps, row: RenewalRow, facts: NetworkFacts): RenewalDraft {
  const deployment = deps.config.deployments.get(facts.deployment)
  return {
    payment_id: newId('pay'),
    store_id: row.storeId,
    account_id: row.accountId,
    mode: row.mode,
    network: facts.network,
    token: facts.token,
    deployment: facts.deployment,
    contract: facts.contract,
    decimals: facts.decimals,
    clock: facts.clock,
    confirmations_required: facts.confirmationsRequired,
    amount_cents: row.amountCents,
    price_id: row.priceId,
    subscription_id: row.subscriptionId,
    reference_key: deployment === undefined ? null : newReferenceKey(deployment.family),
    metadata: row.metadata,
    buyer_email: row.buyerEmail,
  }
}

async function takeSlot(deps: ApiDeps, row: RenewalRow, draft: RenewalDraft, clientIp: string) {
  const { planCapsUsd, openPaymentsPerIp } = deps.config
  const terms = {
    ...{ clientIp, openPaymentsPerIp, ttlMinutes: TTL_MINUTES },
    capUsd: Object.entries(planCapsUsd).find(([plan]) => plan === row.plan)?.[1] ?? null,
  }
  const claim = () => claimRenewal(deps.db, draft, terms)
  return claimFromPool(deps, await claim(), claim)
}
