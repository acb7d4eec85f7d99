import { assert } from '#shared/assert.ts'
import { type Tx, withTransaction } from '#shared/db.ts'
import { insertEvent } from '#shared/events.ts'
import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { type SubscriptionFacts, subscriptionEvent } from '#shared/subscriptions/events.ts'
import { newRenewToken, type RenewToken, renewUrl } from '#shared/subscriptions/renew-token.ts'
import { announce } from '../announce.ts'
import type { ApiDeps } from '../deps.ts'
import { type ClaimRequest, claimCheckout, type FullClaim } from './queries.ts'

/**
 * A checkout against a recurring price: the slot, the `PENDING` subscription it opens and `subscription.created`, in one
 * transaction. Answers the claim, with a code and nothing written when there was no slot.
 */
export async function openSubscriptionCheckout(
  deps: ApiDeps,
  mode: Mode,
  request: ClaimRequest,
): Promise<FullClaim> {
  const subscriptionId = newId('sub')
  const draft = { ...request, subscription_id: subscriptionId }
  const claim = await withTransaction(deps.db, async (tx) => {
    const made = await claimCheckout(tx, draft, deps.config)
    if (made.code === null) {
      await insertSubscription(deps, tx, toFacts(subscriptionId, mode, request, made), made, draft)
    }
    return made
  })
  if (claim.code === null) announce(deps, [draft.payment_id])
  return claim
}

async function insertSubscription(
  deps: ApiDeps,
  tx: Tx,
  facts: SubscriptionFacts,
  claim: FullClaim,
  { origin_host }: ClaimRequest,
): Promise<void> {
  const token = newRenewToken(deps.keyring, facts.subscriptionId)
  const createdAt = await insertRow(tx, facts, claim.everyCount, token, origin_host)
  const event = subscriptionEvent(facts, 'subscription.created', {
    eventId: `${facts.subscriptionId}:subscription.created`,
    createdAt,
    renewUrl: renewUrl(deps.config.publicUrl, token.token),
  })
  await insertEvent(tx, event)
}

async function insertRow(
  tx: Tx,
  facts: SubscriptionFacts,
  intervalCount: number,
  token: RenewToken,
  originHost: string | null,
): Promise<Date> {
  const rows = await tx<{ createdAt: Date }[]>`
    insert into subscriptions (subscription_id, store_id, account_id, mode, price_id, status, network, token,
      amount_cents, interval, interval_count, buyer_email, metadata, origin_host, renew_token_hash,
      renew_token_ciphertext)
    values (${facts.subscriptionId}, ${facts.storeId}, ${facts.accountId}, ${facts.mode}, ${facts.priceId},
      ${facts.status}, ${facts.network}, ${facts.token}, ${facts.amountCents}, ${facts.interval},
      ${intervalCount}, ${facts.buyerEmail}, ${facts.metadata === null ? null : tx.json(facts.metadata)},
      ${originHost}, ${token.hash}, ${token.ciphertext})
    returning created_at`
  const [row] = rows
  assert(row !== undefined, 'an insert returns its row')
  return row.createdAt
}

function toFacts(
  subscriptionId: string,
  mode: Mode,
  request: ClaimRequest,
  claim: FullClaim,
): SubscriptionFacts {
  assert(claim.everyInterval !== null, 'only a recurring price opens a subscription')
  return {
    ...{ subscriptionId, mode, status: 'PENDING', nextDueAt: null },
    storeId: claim.storeId,
    accountId: claim.accountId,
    priceId: claim.priceId,
    network: request.network,
    token: request.token,
    amountCents: claim.amountCents,
    interval: claim.everyInterval,
    buyerEmail: claim.buyerEmail,
    metadata: claim.metadata,
  }
}
