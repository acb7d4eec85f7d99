import { assert } from '#shared/assert.ts'
import type { Tx } from '#shared/db.ts'
import { hasOpenPayment, lockSubscription, writeNextAction } from '#shared/subscriptions/queries.ts'
import type { LockedSubscription } from '#shared/subscriptions/row.ts'
import { dueAction, nextActionAt, paidCalendar } from '#shared/subscriptions/schedule.ts'
import { moveSubscription, type SubscriptionContext } from '#shared/subscriptions/transition.ts'

/** Steps of one subscription in one go, a count: each reminder, the due date, the end of grace, with room to spare. */
const STEPS_MAX = 100

/**
 * A payment of the subscription was credited in full: it is activated, or one more period is paid, whenever the payment
 * comes. Of one that has ended nothing changes: the money is the seller's, to keep or to give back.
 * The payment is locked by this transaction already.
 */
export async function creditSubscription(
  tx: Tx,
  subscriptionId: string,
  context: SubscriptionContext,
): Promise<void> {
  const subscription = await lockSubscription(tx, subscriptionId)
  assert(subscription !== undefined, 'a payment names a subscription that exists')
  const step = paidCalendar(subscription, subscription.now)
  await moveSubscription(tx, subscription, 'paid', step, context)
}

/** A payment of the subscription ended without paying it: one that was never active ends with its last open payment. */
export async function lapseSubscription(
  tx: Tx,
  subscriptionId: string,
  context: SubscriptionContext,
): Promise<void> {
  const subscription = await lockSubscription(tx, subscriptionId)
  assert(subscription !== undefined, 'a payment names a subscription that exists')
  // Asked under the lock: of two payments that end at once the second sees the first.
  if (subscription.status !== 'PENDING' || (await hasOpenPayment(tx, subscriptionId))) return
  await moveSubscription(tx, subscription, 'firstPaymentLapsed', {}, context)
}

/** Does what has fallen due until now, late as it may be. The subscription must be locked. */
export async function runDue(
  tx: Tx,
  subscription: LockedSubscription,
  context: SubscriptionContext,
): Promise<void> {
  let current = subscription
  for (let step = 0; step < STEPS_MAX && isDue(current, current.now); step += 1) {
    current = await runStep(tx, current, context)
  }
}

/**
 * Does everything that falls due until `to`, each thing at its own time and in order, as if somebody had watched. Answers
 * the subscription after it; its clock is the caller's to set. The subscription must be locked.
 */
export async function runUntil(
  tx: Tx,
  subscription: LockedSubscription,
  to: Date,
  context: SubscriptionContext,
): Promise<LockedSubscription> {
  let current = subscription
  for (let step = 0; current.nextActionAt !== null && current.nextActionAt <= to; step += 1) {
    assert(step < STEPS_MAX, 'without a payment a subscription comes to its end')
    current = await runStep(tx, { ...current, now: current.nextActionAt }, context)
  }
  return current
}

function isDue({ nextActionAt: at }: LockedSubscription, now: Date): boolean {
  return at !== null && at <= now
}

async function runStep(
  tx: Tx,
  subscription: LockedSubscription,
  context: SubscriptionContext,
): Promise<LockedSubscription> {
  const action = dueAction(subscription, subscription.now, subscription)
  if (action !== undefined) {
    const { trigger, ...step } = action
    const moved = await moveSubscription(tx, subscription, trigger, step, context)
    assert(moved !== undefined, 'the calendar asks for moves that the machine knows')
    return moved
  }
  const next = nextActionAt(subscription, subscription.now, subscription)
  await writeNextAction(tx, subscription.subscriptionId, next)
  return { ...subscription, nextActionAt: next }
}
