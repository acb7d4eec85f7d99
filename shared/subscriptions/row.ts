import type { SubscriptionFacts } from '#shared/subscriptions/events.ts'
import type { Terms } from '#shared/subscriptions/schedule.ts'

/** A row of `subscriptions`; times are Postgres's. */
export type SubscriptionRow = SubscriptionFacts & {
  intervalCount: number
  originHost: string | null
  renewTokenCiphertext: Uint8Array
  /** The first due date's start, from which all others are counted; null until the first payment. */
  anchorAt: Date | null
  /** Periods paid so far. */
  periodCount: number
  createdAt: Date
  endedAt: Date | null
}

/** A subscription locked for update. All its times are by its own clock, which is ours but for a test subscription. */
export type LockedSubscription = SubscriptionRow &
  Terms & {
    /** When the calendar has to look again; null when it does not. */
    nextActionAt: Date | null
    /** The subscription's clock. */
    now: Date
    /** The service's clock. */
    serviceNow: Date
  }
