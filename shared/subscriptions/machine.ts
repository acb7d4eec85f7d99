import type { SubscriptionEventType } from '#shared/events.ts'
import type { SubscriptionStatus } from '#shared/subscriptions/events.ts'

/** Why a subscription's status might change, or its buyer be told something. */
export const SUBSCRIPTION_TRIGGERS = [
  /** A payment of it was credited in full: CONFIRMED or OVERPAID. One that ended UNDERPAID pays no period. */
  'paid',
  /** The first payment ended unpaid (EXPIRED, CANCELED or UNDERPAID), and no other is open. */
  'firstPaymentLapsed',
  /** One of the store's reminder days before the due date has come. */
  'reminderDue',
  /** The due date has passed without a payment. */
  'dueDatePassed',
  /** The store's grace days after the due date have passed too. */
  'graceRanOut',
  /** Buyer or seller canceled. */
  'canceled',
] as const
export type SubscriptionTrigger = (typeof SUBSCRIPTION_TRIGGERS)[number]

/** A decided change: the next status and the event that tells it, if the seller is told. */
export type SubscriptionMove = { to: SubscriptionStatus; event?: SubscriptionEventType }

const RENEW: SubscriptionMove = { to: 'ACTIVE', event: 'subscription.renewed' }
const CANCEL: SubscriptionMove = { to: 'CANCELED', event: 'subscription.canceled' }

/** Contract section 4, cell by cell. A missing cell means: ignored. */
const MACHINE: Record<SubscriptionStatus, { [trigger in SubscriptionTrigger]?: SubscriptionMove }> =
  {
    PENDING: {
      paid: { to: 'ACTIVE', event: 'subscription.activated' },
      // An underpaid first payment lapses too: the seller was told payment.underpaid, and has the money to give back.
      // Quietly: subscription.expired means that grace ran out, and there was none.
      firstPaymentLapsed: { to: 'EXPIRED' },
      canceled: CANCEL,
    },
    ACTIVE: {
      // Early, or twice: the period after the last one paid is paid too. UNDERPAID changes nothing here or in grace.
      paid: RENEW,
      reminderDue: { to: 'ACTIVE', event: 'subscription.reminder' },
      dueDatePassed: { to: 'PAST_DUE', event: 'subscription.past_due' },
      canceled: CANCEL,
    },
    PAST_DUE: {
      // In grace.
      paid: RENEW,
      graceRanOut: { to: 'EXPIRED', event: 'subscription.expired' },
      canceled: CANCEL,
    },
    // The end: a payment that comes later is the seller's to give back, it opens nothing again.
    EXPIRED: {},
    CANCELED: {},
  }

/** What a trigger does to a subscription of this status; undefined when it is ignored. */
export function nextSubscriptionMove(
  status: SubscriptionStatus,
  trigger: SubscriptionTrigger,
): SubscriptionMove | undefined {
  return MACHINE[status][trigger]
}

/** Whether nothing can change the status any more. */
export function isEnded(status: SubscriptionStatus): boolean {
  return status === 'EXPIRED' || status === 'CANCELED'
}

/** Whether an event happens once in a subscription's life, or once a period (contract section 4, event ids). */
export function isOncePerPeriod(type: SubscriptionEventType): boolean {
  return (
    type === 'subscription.reminder' ||
    type === 'subscription.renewed' ||
    type === 'subscription.past_due'
  )
}
