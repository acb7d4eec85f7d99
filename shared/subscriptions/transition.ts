import { DecryptError, type Keyring } from '#shared/crypto.ts'
import type { Tx } from '#shared/db.ts'
import { type EventDraft, insertEvents, type SubscriptionEventType } from '#shared/events.ts'
import { requestSubscriptionMails, type SubscriptionNews } from '#shared/mail-requests.ts'
import { subscriptionEvent } from '#shared/subscriptions/events.ts'
import {
  isEnded,
  isOncePerPeriod,
  nextSubscriptionMove,
  type SubscriptionTrigger,
} from '#shared/subscriptions/machine.ts'
import { openRenewToken, renewUrl } from '#shared/subscriptions/renew-token.ts'
import type { LockedSubscription } from '#shared/subscriptions/row.ts'
import { nextActionAt } from '#shared/subscriptions/schedule.ts'

/** What a trigger brings along. Absent fields stay as they are. */
export type SubscriptionStep = {
  anchorAt?: Date
  periodCount?: number
  nextDueAt?: Date
  /** Whole days until the due date, for a reminder. */
  daysUntilDue?: number
}

/** What events are told with. */
export type SubscriptionContext = {
  /** Without a trailing slash. */
  publicUrl: string
  /** Opens the renew token, which events carry in `renewUrl`. */
  keyring: Keyring
}

/** A decided move of a locked subscription, yet to be written. */
export type SubscriptionMoved = {
  after: LockedSubscription
  event?: EventDraft
  news?: SubscriptionNews
}

/**
 * The one door through which a subscription's status changes. `subscription` must be locked by this transaction
 * (`lockSubscription`). Asks the machine, writes status, calendar, event and the request for the buyer's mail. Answers
 * the subscription after the move, or undefined when the trigger is ignored in its status, in which case nothing is
 * written.
 */
export async function moveSubscription(
  tx: Tx,
  subscription: LockedSubscription,
  trigger: SubscriptionTrigger,
  step: SubscriptionStep,
  context: SubscriptionContext,
): Promise<LockedSubscription | undefined> {
  const moved = decideSubscription(subscription, trigger, step, context)
  if (!moved) return undefined
  await writeSubscriptions(tx, [moved])
  return moved.after
}

/** The first half of the door: what the machine says, and what is told of it. Writes nothing. */
export function decideSubscription(
  subscription: LockedSubscription,
  trigger: SubscriptionTrigger,
  step: SubscriptionStep,
  context: SubscriptionContext,
): SubscriptionMoved | undefined {
  const move = nextSubscriptionMove(subscription.status, trigger)
  if (!move) return undefined
  const { daysUntilDue, ...calendar } = step
  const after: LockedSubscription = { ...subscription, ...calendar, status: move.to }
  after.nextActionAt = nextActionAt(after, after.now, after)
  if (isEnded(after.status)) after.endedAt = after.now
  if (move.event === undefined) return { after }
  const eventId = subscriptionEventId(subscription, move.event, daysUntilDue)
  const days = daysUntilDue === undefined ? {} : { daysUntilDue }
  const event = subscriptionEvent(after, move.event, {
    ...{ eventId, createdAt: after.now, ...days },
    renewUrl: renewUrlOf(after, context),
  })
  return {
    after,
    // A test subscription's clock runs ahead; that of deliveries, which are counted from the row, does not.
    event: { ...event, storedAt: after.serviceNow },
    news: { subscription: after, type: move.event, eventId, ...days },
  }
}

/** The second half: writes what was decided, in order. Of a subscription that moved twice the last state stays. */
export async function writeSubscriptions(
  tx: Tx,
  moves: readonly SubscriptionMoved[],
): Promise<void> {
  if (moves.length === 0) return
  const last = new Map(moves.map(({ after }) => [after.subscriptionId, after]))
  await writeStates(tx, [...last.values()])
  const events = moves.flatMap(({ event }) => event ?? [])
  if (events.length > 0) await insertEvents(tx, events)
  await requestSubscriptionMails(
    tx,
    moves.flatMap(({ news }) => news ?? []),
  )
}

/**
 * The link that events carry; undefined when its token was sealed with a key that this process does not have. Then the
 * event goes without it: a payment, and every other one of its block, must not wait for a link. Whoever shows or mails the
 * link fails loudly.
 */
function renewUrlOf(
  { subscriptionId, renewTokenCiphertext }: LockedSubscription,
  { keyring, publicUrl }: SubscriptionContext,
): string | undefined {
  try {
    return renewUrl(publicUrl, openRenewToken(keyring, subscriptionId, renewTokenCiphertext))
  } catch (error) {
    if (error instanceof DecryptError) return undefined
    throw error
  }
}

/**
 * `<subscriptionId>:<type>` for what happens once; `:<due date>` behind it for what happens every period, the date
 * (UTC) being that of the period the event is about, so the one before the move; `:<days>` behind that for a reminder.
 */
export function subscriptionEventId(
  before: { subscriptionId: string; nextDueAt: Date | null },
  type: SubscriptionEventType,
  daysUntilDue?: number,
): string {
  const id = `${before.subscriptionId}:${type}`
  if (!isOncePerPeriod(type) || before.nextDueAt === null) return id
  const dueDate = before.nextDueAt.toISOString().slice(0, 'YYYY-MM-DD'.length)
  return `${id}:${dueDate}${daysUntilDue === undefined ? '' : `:${daysUntilDue}`}`
}

async function writeStates(tx: Tx, states: readonly LockedSubscription[]): Promise<void> {
  const rows = states.map((after) => ({
    subscription_id: after.subscriptionId,
    status: after.status,
    anchor_at: after.anchorAt?.toISOString() ?? null,
    period_count: after.periodCount,
    next_due_at: after.nextDueAt?.toISOString() ?? null,
    next_action_at: after.nextActionAt?.toISOString() ?? null,
    ended_at: after.endedAt?.toISOString() ?? null,
  }))
  await tx`
    update subscriptions s set
      status = g.status,
      anchor_at = g.anchor_at,
      period_count = g.period_count,
      next_due_at = g.next_due_at,
      next_action_at = g.next_action_at - s.clock_offset,
      ended_at = g.ended_at
    from jsonb_populate_recordset(null::subscriptions, ${tx.json(rows)}) g
    where s.subscription_id = g.subscription_id`
}
