import { assert } from '#shared/assert.ts'
import type { Tx } from '#shared/db.ts'
import {
  hasOpenPaymentBegunBefore,
  lockSubscriptions,
  readWithOpenPayment,
  writeNextAction,
} from '#shared/subscriptions/queries.ts'
import type { LockedSubscription } from '#shared/subscriptions/row.ts'
import { dueAction, graceEnd, nextActionAt, paidCalendar } from '#shared/subscriptions/schedule.ts'
import {
  decideSubscription,
  moveSubscription,
  type SubscriptionContext,
  type SubscriptionMoved,
  writeSubscriptions,
} from '#shared/subscriptions/transition.ts'

/** Steps of one subscription in one go, a count: each reminder, the due date, the end of grace, with room to spare. */
const STEPS_MAX = 100
/** How often the end of a subscription is looked at again that waits for a payment on its way, in milliseconds. */
const LOOK_AGAIN_MS = 60_000

/** A subscription of which a payment has ended, and whether it was paid in full. */
export type EndedPayment = { subscriptionId: string; isPaid: boolean }

/**
 * Payments of subscriptions ended. One credited in full activates its subscription, or pays one more period, whenever it
 * comes; of one that has ended nothing changes: the money is the seller's, to keep or to give back. A subscription that
 * was never active ends with its last open payment. The payments are locked by this transaction already, and written.
 */
export async function settleSubscriptions(
  tx: Tx,
  ended: readonly EndedPayment[],
  context: SubscriptionContext,
): Promise<void> {
  if (ended.length === 0) return
  const locked = await lockSubscriptions(
    tx,
    ended.map(({ subscriptionId }) => subscriptionId),
  )
  const get = (subscriptionId: string): LockedSubscription => {
    const subscription = locked.get(subscriptionId)
    assert(subscription !== undefined, 'a payment names a subscription that exists')
    return subscription
  }
  const moves: SubscriptionMoved[] = []
  const move = (subscriptionId: string, trigger: 'paid' | 'firstPaymentLapsed') => {
    const subscription = get(subscriptionId)
    const step = trigger === 'paid' ? paidCalendar(subscription, subscription.now) : {}
    const moved = decideSubscription(subscription, trigger, step, context)
    if (!moved) return
    locked.set(subscriptionId, moved.after)
    moves.push(moved)
  }
  // What is paid comes first: of two payments that end at once, one paid, the subscription must not lapse.
  for (const { subscriptionId, isPaid } of ended) if (isPaid) move(subscriptionId, 'paid')
  const unpaid = ended.flatMap(({ subscriptionId, isPaid }) => {
    return !isPaid && get(subscriptionId).status === 'PENDING' ? [subscriptionId] : []
  })
  // Asked under the lock: of two payments that end at once in two transactions the second sees the first.
  const waiting = await readWithOpenPayment(tx, unpaid)
  for (const id of unpaid) if (!waiting.has(id)) move(id, 'firstPaymentLapsed')
  await writeSubscriptions(tx, moves)
}

/**
 * Does what has fallen due until now, late as it may be. One does not end while a payment that was begun in grace may
 * still be paid, or has been and waits for its depth: the buyer was given that window, and money that was sent in time
 * must not arrive at a subscription that has ended. The subscription must be locked.
 */
export async function runDue(
  tx: Tx,
  subscription: LockedSubscription,
  context: SubscriptionContext,
): Promise<void> {
  let current = subscription
  for (let step = 0; step < STEPS_MAX && isDue(current, current.now); step += 1) {
    if (await mayBePaidYet(tx, current)) {
      const lookAgainAt = new Date(current.now.getTime() + LOOK_AGAIN_MS)
      return writeNextAction(tx, current.subscriptionId, lookAgainAt)
    }
    current = await runStep(tx, current, context)
  }
}

/** Whether grace has run out while a payment that was begun in it is open. */
async function mayBePaidYet(tx: Tx, subscription: LockedSubscription): Promise<boolean> {
  const { nextDueAt, now, serviceNow } = subscription
  const action = dueAction(subscription, now, subscription)
  if (action?.trigger !== 'graceRanOut' || nextDueAt === null) return false
  const aheadMs = now.getTime() - serviceNow.getTime()
  const end = new Date(graceEnd(nextDueAt, subscription).getTime() - aheadMs)
  return hasOpenPaymentBegunBefore(tx, subscription.subscriptionId, end)
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
