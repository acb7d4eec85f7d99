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
  return (await lockSubscriptions(tx, [subscriptionId])).get(subscriptionId)
}

/** {@link lockSubscription} for many, in id order so that two transactions never wait for each other in a circle. */
export async function lockSubscriptions(
  tx: Tx,
  subscriptionIds: readonly string[],
): Promise<Map<string, LockedSubscription>> {
  const rows = await tx<LockedSubscription[]>`
    select s.*, s.next_action_at + s.clock_offset as next_action_at, t.reminder_days, t.grace_days,
      service_now() + s.clock_offset as now, service_now() as service_now
    from subscriptions s
    join stores t on t.store_id = s.store_id
    where s.subscription_id = any (${[...new Set(subscriptionIds)]})
    order by s.subscription_id
    for update of s`
  return new Map(rows.map((row) => [row.subscriptionId, row]))
}

/** Locks a batch of subscriptions in which something is due; those that another process holds are left to it. */
export async function lockDueSubscriptions(tx: Tx, countMax: number): Promise<string[]> {
  const rows = await tx<{ subscriptionId: string }[]>`
    select subscription_id
    from subscriptions
    where next_action_at <= service_now()
    order by next_action_at
    limit ${countMax}
    for update skip locked`
  return rows.map((row) => row.subscriptionId)
}

/** Writes when the calendar looks again (by the subscription's clock), and nothing else. */
export async function writeNextAction(
  tx: Tx,
  subscriptionId: string,
  nextActionAt: Date | null,
): Promise<void> {
  await tx`
    update subscriptions set next_action_at = ${nextActionAt}::timestamptz - clock_offset
    where subscription_id = ${subscriptionId}`
}

/** A place in the order in which a store's subscriptions are gone through. */
export type Place = { mode: string; subscriptionId: string }

/**
 * Lets the calendar look now at a store's subscriptions that have something ahead: at the next so many of them after a
 * place. What has fallen due already keeps its time. Answers the place it came to, undefined at the end.
 */
export async function lookAnew(
  sql: SqlLike,
  storeId: string,
  after: Place,
  countMax: number,
): Promise<Place | undefined> {
  const [last] = await sql<Place[]>`
    with ahead as materialized (
      select mode, subscription_id
      from subscriptions
      where store_id = ${storeId} and (mode, subscription_id) > (${after.mode}, ${after.subscriptionId})
        and next_action_at > service_now()
      order by mode, subscription_id
      limit ${countMax}
      for update
    ), moved as (
      update subscriptions s set next_action_at = service_now()
      from ahead a
      where s.subscription_id = a.subscription_id
    )
    select mode, subscription_id from ahead order by mode desc, subscription_id desc limit 1`
  return last
}

/** Puts a subscription off whose step failed, in the service's time. */
export async function deferSubscription(
  tx: Tx,
  subscriptionId: string,
  delayMs: number,
): Promise<void> {
  await tx`
    update subscriptions set next_action_at = service_now() + make_interval(secs => ${delayMs / 1000})
    where subscription_id = ${subscriptionId}`
}

/**
 * Sets a test subscription's clock; what is due next stays where it is by that clock. The offset is made of seconds, not
 * of days, which some time zones make shorter.
 */
export async function writeClock(tx: Tx, subscriptionId: string, now: Date): Promise<void> {
  await tx`
    update subscriptions s set
      clock_offset = c.clock_offset,
      next_action_at = s.next_action_at + s.clock_offset - c.clock_offset
    from (
      select make_interval(secs => extract(epoch from ${now}::timestamptz - service_now())) as clock_offset
    ) c
    where s.subscription_id = ${subscriptionId}`
}

/** Those of these subscriptions of which a payment may still be paid. */
export async function readWithOpenPayment(
  tx: Tx,
  subscriptionIds: readonly string[],
): Promise<Set<string>> {
  if (subscriptionIds.length === 0) return new Set()
  const rows = await tx<{ subscriptionId: string }[]>`
    select distinct subscription_id
    from payments
    where subscription_id = any (${[...subscriptionIds]}) and status in ('PENDING', 'DETECTED')`
  return new Set(rows.map((row) => row.subscriptionId))
}

/** Whether a payment of it that was begun before a time (by the service's clock) may still be paid. */
export async function hasOpenPaymentBegunBefore(
  tx: Tx,
  subscriptionId: string,
  before: Date,
): Promise<boolean> {
  const rows = await tx`
    select
    from payments
    where subscription_id = ${subscriptionId} and status in ('PENDING', 'DETECTED') and created_at < ${before}
    limit 1`
  return rows.length > 0
}

/** Payments that a subscription which was never paid waits for, and whose window is over at that time. */
export async function readClosedWindows(
  tx: Tx,
  subscriptionId: string,
  at: Date,
): Promise<string[]> {
  const rows = await tx<{ paymentId: string }[]>`
    select p.payment_id
    from payments p
    join subscriptions s on s.subscription_id = p.subscription_id
    where p.subscription_id = ${subscriptionId} and p.status = 'PENDING' and p.expires_at <= ${at}
      and s.status = 'PENDING' and s.mode = 'test'`
  return rows.map((row) => row.paymentId)
}
