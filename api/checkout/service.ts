import { Buffer } from 'node:buffer'
import { assert } from '#shared/assert.ts'
import { hashSecret } from '#shared/crypto.ts'
import { ERRORS, type ErrorCode, fail } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import { centsToDecimal } from '#shared/money.ts'
import { newReferenceKey } from '#shared/networks/reference-key.ts'
import { deploymentName, type Mode } from '#shared/networks/registry.ts'
import { parseOriginHost, rejectingHosts } from '#shared/origin-host.ts'
import { type PaymentObject, paymentView } from '#shared/payments/view.ts'
import { rateKeyOfIp } from '../client-ip.ts'
import type { ApiDeps } from '../deps.ts'
import { METADATA_BYTES_MAX } from '../fields.ts'
import { blockCaller, type RateCount, rateHeaders, refuseBlocked } from '../rate-limit.ts'
import { claimFromPool, fillInBackground } from '../xpub-pool.ts'
import type { CheckoutBody, CheckoutInfoBody, CheckoutInfoObject } from './model.ts'
import { listOptions, resolveNetwork } from './network.ts'
import { type Claim, type ClaimRequest, claimCheckout, type PaidFor, readTerms } from './queries.ts'
import { openSubscriptionCheckout } from './subscription.ts'

/** Minutes a payment is open when the caller says nothing (spec section 4). */
const TTL_MINUTES_DEFAULT = 60
/** Seconds to come back after when too many payments of one address are open: the shortest window. */
const OPEN_PAYMENTS_RETRY_S = 60

/** What the buyer decides of a payment. */
export type BuyersWish = Pick<
  CheckoutBody,
  'network' | 'token' | 'ttlMinutes' | 'metadata' | 'buyerEmail'
>

/** What is sold, in which mode, and from which host's page. */
export type Order = { paidFor: PaidFor; mode: Mode; originHost: string | null }

const KEY = /^pk_(test|live)_[0-9A-Za-z_-]{1,180}$/
const REFERENCES = ['priceId', 'paymentLinkId', 'sessionId', 'amount'] as const

/** The field that a code is about, where there is one. */
const PARAMS: { [C in ErrorCode]?: string } = {
  network_not_accepted: 'network',
  token_not_accepted: 'token',
  no_wallet: 'network',
  amount_out_of_range: 'amount',
  price_not_found: 'priceId',
  payment_link_not_found: 'paymentLinkId',
  session_not_found: 'sessionId',
}

/** Display amount, branding and payable options. Errors: spec section 4 and the order of contract section 1. */
export async function readCheckoutInfo(
  deps: ApiDeps,
  body: CheckoutInfoBody,
  origin: string | null,
): Promise<CheckoutInfoObject> {
  const { paidFor } = readPaidFor(body, origin)
  const terms = await readTerms(deps.db, paidFor)
  if (terms.code !== null) failWith(terms.code)
  return {
    mode: terms.mode,
    amount: centsToDecimal(terms.amountCents),
    amountCents: terms.amountCents,
    currency: 'usd',
    sellerName: terms.sellerName,
    branding: terms.branding,
    options: listOptions(deps.config.deployments, terms.mode, terms.walletNetworks, terms),
  }
}

/**
 * Claims a slot for one buyer's attempt and answers the payment. `headers` get the caller's rate. Errors: spec section 4
 * and the order of contract section 1.
 */
export async function createCheckout(
  deps: ApiDeps,
  body: CheckoutBody,
  caller: { origin: string | null; clientIp: string; headers: Record<string, string> },
): Promise<PaymentObject> {
  const order = readPaidFor(body, caller.origin)
  checkCheckoutBody(body)
  return claimPayment(deps, body, order, caller)
}

/** Counts the caller's request and claims, whoever sells and from wherever. Errors: as {@link createCheckout}. */
export async function claimPayment(
  deps: ApiDeps,
  wish: BuyersWish,
  order: Order,
  caller: { clientIp: string; headers: Record<string, string> },
): Promise<PaymentObject> {
  const { mode } = order
  const ip = rateKeyOfIp(caller.clientIp)
  const rate = { rateKey: `checkout:${ip}`, limit: deps.config.rateLimitCheckout }
  refuseBlocked(deps, rate.rateKey, rate.limit)
  const request = toClaimRequest(deps, wish, { ...order, ip })

  const first = await deps.checkouts({ ...request, rate_key: rate.rateKey })
  const count = { ...rate, requestCount: first.requestCount, resetSeconds: first.resetSeconds }
  Object.assign(caller.headers, rateHeaders(count))
  if (first.claim === undefined) blockCaller(deps, rate.rateKey, count)
  const claim = await settleClaim(deps, mode, request, first.claim)
  if (claim.code !== null) failClaim(deps, claim.code, count)
  if (claim.xpub !== null) fillInBackground(deps, claim.xpub, claim.xpubLeft ?? 0)
  return toPaymentObject(deps, mode, request, claim)
}

/** Answers the codes that ask for something else to be done. */
async function settleClaim(
  deps: ApiDeps,
  mode: Mode,
  request: ClaimRequest,
  first: Claim,
): Promise<Claim> {
  let claim = first
  let claimAgain = () => claimCheckout(deps.db, request, deps.config)
  if (claim.code === 'unsettled') claim = await claimAgain()
  if (claim.code === 'recurring') {
    claimAgain = () => openSubscriptionCheckout(deps, mode, request)
    claim = await claimAgain()
  }
  return claimFromPool<Claim>(deps, claim, claimAgain)
}

function readPaidFor(body: CheckoutInfoBody, origin: string | null): Order {
  const named = REFERENCES.filter((name) => body[name] !== undefined)
  if (named.length !== 1) {
    fail('invalid_request', {
      message: `Send exactly one of ${REFERENCES.join(', ')}.`,
      param: named[1] ?? 'priceId',
    })
  }
  const parsed = parseOriginHost(origin)
  const originHost = 'host' in parsed ? parsed.host : null
  const keyMode = KEY.exec(body.publishableKey)?.[1]
  return {
    // A key of the wrong form is looked for all the same, and not found: its rank among the errors is not here.
    mode: keyMode === 'live' ? 'live' : 'test',
    originHost,
    paidFor: {
      keyHash: hashSecret(body.publishableKey),
      originHosts: originHost === null ? null : rejectingHosts(originHost),
      priceId: body.priceId ?? null,
      paymentLinkId: body.paymentLinkId ?? null,
      sessionId: body.sessionId ?? null,
      amountCents: body.amount ?? null,
    },
  }
}

/** What the schema cannot say of the body. */
function checkCheckoutBody({ amount, currency, metadata, buyerEmail }: CheckoutBody): void {
  if (currency !== undefined && amount === undefined) {
    fail('invalid_request', { message: 'A currency goes with an amount only.', param: 'currency' })
  }
  if (metadata !== undefined && byteLength(JSON.stringify(metadata)) > METADATA_BYTES_MAX) {
    failMetadata()
  }
  if (buyerEmail !== undefined && parseMailAddress(buyerEmail) === undefined) {
    fail('invalid_request', { message: 'This should be one mail address.', param: 'buyerEmail' })
  }
}

function toClaimRequest(
  deps: ApiDeps,
  wish: BuyersWish,
  known: Order & { ip: string },
): ClaimRequest {
  const { config } = deps
  const { network, token } = wish
  const facts = resolveNetwork(config.deployments, known.mode, network, token)
  const isKnown = 'deployment' in facts
  const deployment = config.deployments.get(deploymentName(network, known.mode))
  const { keyHash, originHosts, priceId, paymentLinkId, sessionId, amountCents } = known.paidFor
  return {
    key_hash: keyHash === null ? null : Buffer.from(keyHash).toString('hex'),
    ...{ origin_hosts: originHosts, price_id: priceId, payment_link_id: paymentLinkId },
    ...{ session_id: sessionId, amount_cents: amountCents },
    payment_id: newId('pay'),
    ...{ network, token },
    network_code: isKnown ? null : facts.code,
    ...(isKnown
      ? {
          deployment: facts.deployment,
          contract: facts.contract,
          decimals: facts.decimals,
          clock: facts.clock,
          confirmations_required: facts.confirmationsRequired,
        }
      : {}),
    reference_key: isKnown && deployment ? newReferenceKey(deployment.family) : null,
    metadata: wish.metadata ?? null,
    origin_host: known.originHost,
    buyer_email: wish.buyerEmail === undefined ? null : (parseMailAddress(wish.buyerEmail) ?? null),
    ttl_minutes: wish.ttlMinutes ?? TTL_MINUTES_DEFAULT,
    client_ip: known.ip,
  }
}

/** Answers what a claim answered instead of a slot. `count` is the caller’s rate. */
export function failClaim(deps: ApiDeps, code: string, count: RateCount): never {
  switch (code) {
    case 'metadata_too_large':
      return failMetadata()
    case 'pool_empty':
      return fail('slots_exhausted')
    case 'rate_limited':
      return fail('rate_limited', {
        message: 'Too many payments of yours are open here. Pay or cancel one, or wait.',
        retryAfterSeconds: OPEN_PAYMENTS_RETRY_S,
        headers: rateHeaders({
          limit: deps.config.openPaymentsPerIp,
          requestCount: deps.config.openPaymentsPerIp,
          resetSeconds: Math.max(OPEN_PAYMENTS_RETRY_S, count.resetSeconds),
        }),
      })
    default:
      return failWith(code)
  }
}

function failWith(code: string): never {
  assert(isErrorCode(code), `the database answered the unknown code ${code}`)
  const param = PARAMS[code]
  return fail(code, param === undefined ? {} : { param })
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code)
}

function failMetadata(): never {
  return fail('invalid_request', {
    message: 'Metadata holds at most 20 keys and 2,048 bytes of JSON, the seller’s own included.',
    param: 'metadata',
  })
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/** The payment just claimed, without reading it again. */
function toPaymentObject(
  deps: ApiDeps,
  mode: Mode,
  request: ClaimRequest,
  claim: Claim,
): PaymentObject {
  return paymentView(
    {
      paymentId: request.payment_id,
      mode,
      network: request.network,
      token: request.token,
      deployment: request.deployment ?? '',
      contract: request.contract ?? '',
      decimals: request.decimals ?? 0,
      address: claim.address,
      amountCents: claim.amountCents,
      amountBaseUnits: claim.amountBaseUnits,
      status: 'PENDING',
      txHash: null,
      blockNumber: null,
      isSimulated: false,
      confirmationsRequired: request.confirmations_required ?? 0,
      referenceKey: request.reference_key,
      createdAt: claim.createdAt,
      expiresAt: claim.expiresAt,
      branding: claim.branding,
      position: null,
      now: claim.createdAt,
    },
    deps.view,
  )
}
