import type { SqlLike, Tx } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { LockedSubscription, SubscriptionRow } from '#shared/subscriptions/row.ts'

/** A store's subscription, in one of these modes; undefined when there is none. */
export async function readSubscription(
  sql: SqlLike,
  { storeId, modes }: { storeId: string; modes: readonly Mode[] },
  subscriptionId: string,
): Promise<SubscriptionRow | undefined> {
  const rows = await sql<SubscriptionRow[]>`
    select s.*
    from subscriptions s
    where s.subscription_id = ${subscriptionId} and s.store_id = ${storeId} and s.mode = any (${[...modes]})`
  return rows[0]
}

/**
 * Locks a subscription for a change; undefined when there is none. Whoever locks its payments as well locks those
 * first.
 */
export async function lockSubscription(
  tx: Tx,
  subscriptionId: string,
): Promise<LockedSubscription | undefined> {
  const rows = await tx<LockedSubscription[]>`
    select s.*, service_now() as now
    from subscriptions s
    where s.subscription_id = ${subscriptionId}
    for update of s`
  return rows[0]
}
