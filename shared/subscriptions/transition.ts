import { DecryptError, type Keyring } from '#shared/crypto.ts'
import type { Tx } from '#shared/db.ts'
import { insertEvent, type SubscriptionEventType } from '#shared/events.ts'
import { requestSubscriptionMail } from '#shared/mail-requests.ts'
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

/**
 * The one door through which a subscription's status changes. `subscription` must be locked by this transaction
 * (`lockSubscription`). Asks the machine, writes status, calendar, event and the request for the buyer's mail. Answers the subscription after the move, or
 * undefined when the trigger is ignored in its status, in which case nothing is written.
 */
export async function moveSubscription(
  tx: Tx,
  subscription: LockedSubscription,
  trigger: SubscriptionTrigger,
  step: SubscriptionStep,
  context: SubscriptionContext,
): Promise<LockedSubscription | undefined> {
  const move = nextSubscriptionMove(subscription.status, trigger)
  if (!move) return undefined
  const { daysUntilDue, ...calendar } = step
  const moved: LockedSubscription = { ...subscription, ...calendar, status: move.to }
  moved.nextActionAt = nextActionAt(moved, moved.now, moved)
  if (isEnded(moved.status)) moved.endedAt = moved.now
  await writeSubscription(tx, moved)
  if (move.event === undefined) return moved
  const eventId = subscriptionEventId(subscription, move.event, daysUntilDue)
  const days = daysUntilDue === undefined ? {} : { daysUntilDue }
  const event = subscriptionEvent(moved, move.event, {
    ...{ eventId, createdAt: moved.now, ...days },
    renewUrl: renewUrlOf(moved, context),
  })
  // A test subscription's clock runs ahead; that of deliveries, which are counted from the row, does not.
  await insertEvent(tx, { ...event, storedAt: moved.serviceNow })
  await requestSubscriptionMail(tx, moved, move.event, { eventId, ...days })
  return moved
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

async function writeSubscription(tx: Tx, after: LockedSubscription): Promise<void> {
  await tx`
    update subscriptions set
      status = ${after.status},
      anchor_at = ${after.anchorAt},
      period_count = ${after.periodCount},
      next_due_at = ${after.nextDueAt},
      next_action_at = ${after.nextActionAt}::timestamptz - clock_offset,
      ended_at = ${after.endedAt}
    where subscription_id = ${after.subscriptionId}`
}
