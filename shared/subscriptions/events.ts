import type { EventDraft, SubscriptionEventType } from '#shared/events.ts'
import { centsToDecimal } from '#shared/money.ts'
import type { Mode } from '#shared/networks/registry.ts'

/** Spec section 3 leaves them open; contract section 1 names them. */
export const SUBSCRIPTION_STATUSES = [
  'PENDING',
  'ACTIVE',
  'PAST_DUE',
  'EXPIRED',
  'CANCELED',
] as const
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number]

/** How often a recurring price is due; `intervalCount` of them make a period. */
export const INTERVALS = ['DAY', 'WEEK', 'MONTH', 'YEAR'] as const
export type Interval = (typeof INTERVALS)[number]

/** What an event tells of a subscription, as it is after the change. */
export type SubscriptionFacts = {
  subscriptionId: string
  storeId: string
  accountId: string
  mode: Mode
  priceId: string
  status: SubscriptionStatus
  network: string
  token: string
  amountCents: number
  interval: Interval
  buyerEmail: string | null
  metadata: Record<string, string> | null
  nextDueAt: Date | null
}

/**
 * An event of a subscription. `eventId` says how often it can be: `<subscriptionId>:<type>` for what happens once, with
 * `:<due date>` behind it for what happens every period (contract section 4).
 */
export function subscriptionEvent(
  subscription: SubscriptionFacts,
  type: SubscriptionEventType,
  facts: {
    eventId: string
    createdAt: Date
    renewUrl: string | undefined
    daysUntilDue?: number
  },
): EventDraft {
  const { subscriptionId, storeId, accountId, mode, buyerEmail, metadata, nextDueAt } = subscription
  const { eventId, createdAt, renewUrl, daysUntilDue } = facts
  return {
    ...{ eventId, type, storeId, accountId, mode, subscriptionId, createdAt },
    data: {
      ...{ subscriptionId, storeId, mode },
      priceId: subscription.priceId,
      status: subscription.status,
      network: subscription.network,
      token: subscription.token,
      amount: centsToDecimal(subscription.amountCents),
      interval: subscription.interval,
      ...(buyerEmail === null ? {} : { buyerEmail }),
      ...(nextDueAt === null ? {} : { nextDueAt: nextDueAt.toISOString() }),
      ...(renewUrl === undefined ? {} : { renewUrl }),
      ...(metadata === null ? {} : { metadata }),
      ...(daysUntilDue === undefined ? {} : { daysUntilDue }),
    },
  }
}
