import { DELIVERY_WINDOW_HOURS } from '#shared/delivery-window.ts'

/** Wait after the first failure; each further failure doubles it. Contract section 7. */
export const RETRY_FIRST_MS = 10_000
/** Longest wait between two attempts, before jitter. Contract section 7. */
export const RETRY_INTERVAL_MS_MAX = 3_600_000
/** Jitter on each wait, as a share of it, to either side. Contract section 7. */
export const RETRY_JITTER_SHARE = 0.2
/** How long after the event attempts are made. */
export const RETRY_WINDOW_MS = DELIVERY_WINDOW_HOURS * 3_600_000
/** Longest `Retry-After` that is honoured. Contract section 7. */
export const RETRY_AFTER_MS_MAX = 3_600_000
/**
 * So many attempts may come sooner than the schedule because the endpoint's `Retry-After` says so.
 * Beyond it the schedule is the floor: otherwise `Retry-After: 1` would mean 259,200 attempts.
 */
export const RETRY_AFTER_SOONER_COUNT_MAX = 20

/** What happens to a delivery whose latest attempt failed. */
export type NextStep = { readonly kind: 'RETRY'; readonly at: Date } | { readonly kind: 'DEAD' }

/** One failed attempt, as the schedule sees it. */
export type Failure = {
  /** Attempts made so far, this one included; at least 1. */
  readonly attemptCount: number
  /** End of the delivery's window: RETRY_WINDOW_MS after its event, or after a seller's resend. */
  readonly deadlineAt: Date
  readonly now: Date
  /** A random number from 0 (inclusive) to 1 (exclusive) that decides the jitter. */
  readonly random: number
  /** Wait that the endpoint asked for, from `retryAfterMs`; null when it asked for none. */
  readonly retryAfterMs: number | null
}

/**
 * Says when a failed delivery is tried again, or that it is dead.
 *
 * A wait that would end after the window is cut to the window's end: a delivery dies by an attempt
 * made at 72 hours, never by a guess an hour earlier.
 */
export function nextStep(failure: Failure): NextStep {
  const windowEndsAt = failure.deadlineAt.getTime()
  const now = failure.now.getTime()
  if (now >= windowEndsAt) return { kind: 'DEAD' }
  return { kind: 'RETRY', at: new Date(Math.min(now + waitMs(failure), windowEndsAt)) }
}

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3: seconds or an HTTP date) of a 429 or 503 answer.
 *
 * @returns the wait in milliseconds, at most one hour; null when the status is another one, the
 *   header is missing or malformed, or the time it names is not ahead
 */
export function retryAfterMs(status: number, header: string | null, now: Date): number | null {
  if ((status !== 429 && status !== 503) || header === null) return null
  const text = header.trim()
  const askedMs = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : httpDate(text) - now.getTime()
  if (Number.isNaN(askedMs) || askedMs <= 0) return null
  return Math.min(askedMs, RETRY_AFTER_MS_MAX)
}

function waitMs(failure: Failure): number {
  const doublings = Math.max(0, failure.attemptCount - 1)
  const wholeMs = Math.min(RETRY_FIRST_MS * 2 ** doublings, RETRY_INTERVAL_MS_MAX)
  const jitter = 1 - RETRY_JITTER_SHARE + 2 * RETRY_JITTER_SHARE * failure.random
  const scheduledMs = Math.round(wholeMs * jitter)
  if (failure.retryAfterMs === null) return scheduledMs
  if (failure.attemptCount <= RETRY_AFTER_SOONER_COUNT_MAX) return failure.retryAfterMs
  return Math.max(failure.retryAfterMs, scheduledMs)
}

const FIX_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const RFC850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/** The three HTTP date forms of RFC 9110 section 5.6.7 in milliseconds since 1970, else NaN. */
function httpDate(text: string): number {
  if (FIX_DATE.test(text)) return Date.parse(text)
  if (RFC850_DATE.test(text)) return Date.parse(text.replace(/-/g, ' '))
  if (ASCTIME_DATE.test(text)) return Date.parse(`${text} GMT`)
  return Number.NaN
}
