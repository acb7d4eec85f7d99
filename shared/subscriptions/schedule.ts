import type { Interval, SubscriptionStatus } from '#shared/subscriptions/events.ts'
import type { SubscriptionTrigger } from '#shared/subscriptions/machine.ts'

/** How often something is due: every `intervalCount` intervals. */
export type Recurrence = { interval: Interval; intervalCount: number }

/** What a store decided about reminders and grace, in days of 24 hours. */
export type Terms = { reminderDays: readonly number[]; graceDays: number }

/** Where a subscription stands in its calendar. */
export type Standing = { status: SubscriptionStatus; nextDueAt: Date | null }

/** Something that has fallen due. Whole days until the due date go with a reminder. */
export type DueAction =
  | { trigger: Extract<SubscriptionTrigger, 'reminderDue'>; daysUntilDue: number }
  | { trigger: Extract<SubscriptionTrigger, 'dueDatePassed' | 'graceRanOut'> }

const DAY_MS = 86_400_000
/** The last time that four digits of a year can write: whoever pays thousands of years ahead is paid up until here. */
const CALENDAR_END_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const DAYS: { readonly [I in Interval]?: number } = { DAY: 1, WEEK: 7 }
const MONTHS: { readonly [I in Interval]?: number } = { MONTH: 1, YEAR: 12 }

/**
 * The due date after `periodCount` paid periods, in UTC. Counted from the first one, never from the one before: 31 January
 * is followed by 28 (or 29) February and then by 31 March. The time of day stays the first one's. Beyond the calendar's end
 * there is no date but its end: no payment, and no block with many others, may fail for it.
 */
export function dueDate(
  anchorAt: Date,
  { interval, intervalCount }: Recurrence,
  periodCount: number,
): Date {
  const steps = intervalCount * periodCount
  const days = DAYS[interval]
  const date =
    days === undefined
      ? addMonths(anchorAt, steps * (MONTHS[interval] ?? 0))
      : new Date(anchorAt.getTime() + steps * days * DAY_MS)
  return date.getTime() <= CALENDAR_END_MS ? date : new Date(CALENDAR_END_MS)
}

/** The next time after `after` at which something falls due; null when nothing does any more. */
export function nextActionAt(
  { status, nextDueAt }: Standing,
  after: Date,
  terms: Terms,
): Date | null {
  if (nextDueAt === null) return null
  switch (status) {
    case 'ACTIVE': {
      const reminders = reminderTimes(nextDueAt, terms).filter((ms) => ms > after.getTime())
      // The due date itself may have passed: one period paid, where several are owed.
      return new Date(Math.min(...reminders, nextDueAt.getTime()))
    }
    case 'PAST_DUE':
      return graceEnd(nextDueAt, terms)
    case 'PENDING':
    case 'EXPIRED':
    case 'CANCELED':
      return null
  }
}

/**
 * What has fallen due since the stored time of the next action, or undefined when nothing has (because the store changed
 * its reminder days, say). After downtime several reminders are one: the latest, told with the days that are really left.
 * Once the due date has passed none is told, since "due in 1 day" would be untrue.
 */
export function dueAction(
  standing: Standing & { nextActionAt: Date | null },
  now: Date,
  terms: Terms,
): DueAction | undefined {
  const { status, nextDueAt } = standing
  if (nextDueAt === null || standing.nextActionAt === null || standing.nextActionAt > now) {
    return undefined
  }
  switch (status) {
    case 'ACTIVE': {
      if (now >= nextDueAt) return { trigger: 'dueDatePassed' }
      const fromMs = standing.nextActionAt.getTime()
      const isReminded = reminderTimes(nextDueAt, terms).some(
        (ms) => ms >= fromMs && ms <= now.getTime(),
      )
      // Rounded up, so that a late reminder never takes the number of the next one.
      const daysUntilDue = Math.ceil((nextDueAt.getTime() - now.getTime()) / DAY_MS)
      return isReminded ? { trigger: 'reminderDue', daysUntilDue } : undefined
    }
    case 'PAST_DUE':
      return now >= graceEnd(nextDueAt, terms) ? { trigger: 'graceRanOut' } : undefined
    case 'PENDING':
    case 'EXPIRED':
    case 'CANCELED':
      return undefined
  }
}

/** The calendar after a paid period: the first one sets the anchor, each one is an interval on. */
export function paidCalendar(
  before: Recurrence & { anchorAt: Date | null; periodCount: number },
  now: Date,
): { anchorAt: Date; periodCount: number; nextDueAt: Date } {
  const anchorAt = before.anchorAt ?? now
  const periodCount = before.periodCount + 1
  return { anchorAt, periodCount, nextDueAt: dueDate(anchorAt, before, periodCount) }
}

function reminderTimes(nextDueAt: Date, { reminderDays }: Terms): number[] {
  return reminderDays.map((days) => nextDueAt.getTime() - days * DAY_MS)
}

/** When grace is over, for who has not paid by the due date. */
export function graceEnd(nextDueAt: Date, { graceDays }: Terms): Date {
  return new Date(nextDueAt.getTime() + graceDays * DAY_MS)
}

/** The same day so many months on, or that month's last. */
function addMonths(date: Date, months: number): Date {
  const month = date.getUTCMonth() + months
  const later = new Date(date)
  // Day 1 first: 31 January with the month set to February would be in March.
  later.setUTCFullYear(date.getUTCFullYear(), month, 1)
  const lastDay = new Date(later)
  lastDay.setUTCMonth(later.getUTCMonth() + 1, 0)
  later.setUTCDate(Math.min(date.getUTCDate(), lastDay.getUTCDate()))
  return later
}
