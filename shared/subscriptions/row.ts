import type { SubscriptionFacts } from '#shared/subscriptions/events.ts'

/** A row of `subscriptions`; times are Postgres's. */
export type SubscriptionRow = SubscriptionFacts & {
  intervalCount: number
  originHost: string | null
  renewTokenCiphertext: Uint8Array
  /** The first due date's start, from which all others are counted; null until the first payment. */
  anchorAt: Date | null
  /** Periods paid so far. */
  periodCount: number
  /** When the calendar has to look again; null when it does not. */
  nextActionAt: Date | null
  createdAt: Date
  endedAt: Date | null
}

/** A subscription locked for update, with the transaction's time. */
export type LockedSubscription = SubscriptionRow & { now: Date }
