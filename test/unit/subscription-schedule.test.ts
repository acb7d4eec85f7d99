import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interval } from '#shared/subscriptions/events.ts'
import { dueAction, dueDate, nextActionAt, paidCalendar } from '#shared/subscriptions/schedule.ts'

const at = (text: string) => new Date(text.length === 10 ? `${text}T12:34:56.789Z` : text)

/** Anchor, interval, count, and the due dates that follow. */
const CALENDARS: [string, Interval, number, string[]][] = [
  ['2026-01-31', 'MONTH', 1, ['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31']],
  ['2028-01-31', 'MONTH', 1, ['2028-02-29', '2028-03-31']],
  ['2026-01-30', 'MONTH', 1, ['2026-02-28', '2026-03-30']],
  ['2026-01-15', 'MONTH', 1, ['2026-02-15', '2026-03-15']],
  ['2026-11-30', 'MONTH', 3, ['2027-02-28', '2027-05-30', '2027-08-30', '2027-11-30']],
  ['2026-12-31', 'MONTH', 2, ['2027-02-28', '2027-04-30', '2027-06-30', '2027-08-31']],
  ['2026-08-31', 'MONTH', 18, ['2028-02-29', '2029-08-31']],
  ['2028-02-29', 'YEAR', 1, ['2029-02-28', '2030-02-28', '2031-02-28', '2032-02-29']],
  ['2096-02-29', 'YEAR', 4, ['2100-02-28', '2104-02-29']],
  ['2026-06-01', 'YEAR', 2, ['2028-06-01', '2030-06-01']],
  ['2026-02-28', 'DAY', 1, ['2026-03-01', '2026-03-02']],
  ['2028-02-28', 'DAY', 1, ['2028-02-29', '2028-03-01']],
  ['2026-12-25', 'DAY', 10, ['2027-01-04', '2027-01-14']],
  ['2026-12-28', 'WEEK', 1, ['2027-01-04', '2027-01-11']],
  ['2026-03-22', 'WEEK', 2, ['2026-04-05', '2026-04-19']],
]
for (const [anchor, interval, intervalCount, dates] of CALENDARS) {
  test(`every ${intervalCount} ${interval} from ${anchor}: ${dates.join(', ')}`, () => {
    const seen = dates.map((_, index) =>
      dueDate(at(anchor), { interval, intervalCount }, index + 1).toISOString(),
    )
    assert.deepEqual(
      seen,
      dates.map((date) => at(date).toISOString()),
    )
  })
}

test('a due date keeps the time of day of the first payment, in UTC', () => {
  const anchor = at('2026-03-28T23:59:59.999Z')
  const due = dueDate(anchor, { interval: 'MONTH', intervalCount: 1 }, 12)
  assert.equal(due.toISOString(), '2027-03-28T23:59:59.999Z')
})

test('beyond year 9999, which Postgres could not read, a due date is the calendar’s last', () => {
  for (const [intervalCount, periodCount] of [
    [3, 2_658],
    [3, 1e6],
    [300_000, 1e12],
  ] as const) {
    const due = dueDate(at('2026-01-01'), { interval: 'YEAR', intervalCount }, periodCount)
    assert.equal(due.toISOString(), '9999-12-31T23:59:59.999Z')
  }
  const last = dueDate(at('2026-01-01'), { interval: 'YEAR', intervalCount: 3 }, 2_657)
  assert.equal(last.getUTCFullYear(), 9997)
})

const DUE = at('2026-05-31T10:00:00Z')
const TERMS = { reminderDays: [7, 3, 1], graceDays: 7 }
const active = { status: 'ACTIVE', nextDueAt: DUE } as const
const pastDue = { status: 'PAST_DUE', nextDueAt: DUE } as const

/** What comes next after a time. */
const NEXT: [string, Parameters<typeof nextActionAt>, string | null][] = [
  ['the first reminder', [active, at('2026-05-01'), TERMS], '2026-05-24T10:00:00.000Z'],
  [
    'the second one after the first',
    [active, at('2026-05-24T10:00:00Z'), TERMS],
    '2026-05-28T10:00:00.000Z',
  ],
  ['the last one', [active, at('2026-05-29'), TERMS], '2026-05-30T10:00:00.000Z'],
  ['the due date', [active, at('2026-05-30T10:00:00Z'), TERMS], '2026-05-31T10:00:00.000Z'],
  ['a due date already passed', [active, at('2026-06-02'), TERMS], '2026-05-31T10:00:00.000Z'],
  [
    'the due date without reminders',
    [active, at('2026-05-01'), { ...TERMS, reminderDays: [] }],
    '2026-05-31T10:00:00.000Z',
  ],
  [
    'unsorted reminder days, sorted',
    [active, at('2026-05-01'), { ...TERMS, reminderDays: [1, 20] }],
    '2026-05-11T10:00:00.000Z',
  ],
  ['the end of grace', [pastDue, at('2026-05-31T10:00:00Z'), TERMS], '2026-06-07T10:00:00.000Z'],
  [
    'no grace at all',
    [pastDue, at('2026-05-31T10:00:00Z'), { ...TERMS, graceDays: 0 }],
    '2026-05-31T10:00:00.000Z',
  ],
  [
    'nothing while PENDING',
    [{ status: 'PENDING', nextDueAt: null }, at('2026-05-01'), TERMS],
    null,
  ],
  [
    'nothing once CANCELED',
    [{ status: 'CANCELED', nextDueAt: DUE }, at('2026-05-01'), TERMS],
    null,
  ],
  ['nothing once EXPIRED', [{ status: 'EXPIRED', nextDueAt: DUE }, at('2026-05-01'), TERMS], null],
]
for (const [name, args, expected] of NEXT) {
  test(`next comes ${name}`, () => {
    assert.equal(nextActionAt(...args)?.toISOString() ?? null, expected)
  })
}

test('a reminder at or before the payment that set the due date is none of it', () => {
  const standing = { status: 'ACTIVE', nextDueAt: at('2026-05-08T10:00:00Z') } as const
  assert.equal(
    nextActionAt(standing, at('2026-05-01T10:00:00Z'), TERMS)?.toISOString(),
    '2026-05-05T10:00:00.000Z',
  )
})

type Standing = Parameters<typeof dueAction>[0]
const waiting = (standing: Omit<Standing, 'nextActionAt'>, nextAction: string): Standing => ({
  ...standing,
  nextActionAt: at(nextAction),
})
/** What is due, by the stored time of the next action and the clock. */
const DUES: [string, Standing, string, string][] = [
  [
    'a reminder, on time',
    waiting(active, '2026-05-24T10:00:00Z'),
    '2026-05-24T10:00:00Z',
    'reminderDue 7',
  ],
  [
    'a reminder, seconds late',
    waiting(active, '2026-05-24T10:00:00Z'),
    '2026-05-24T10:00:05Z',
    'reminderDue 7',
  ],
  [
    'a reminder, a day late, with the days that are left',
    waiting(active, '2026-05-24T10:00:00Z'),
    '2026-05-25T10:00:01Z',
    'reminderDue 6',
  ],
  [
    'the latest of three missed',
    waiting(active, '2026-05-24T10:00:00Z'),
    '2026-05-30T11:00:00Z',
    'reminderDue 1',
  ],
  [
    'no reminder once the due date has passed',
    waiting(active, '2026-05-24T10:00:00Z'),
    '2026-06-01T00:00:00Z',
    'dueDatePassed',
  ],
  [
    'the due date, to the millisecond',
    waiting(active, '2026-05-31T10:00:00Z'),
    '2026-05-31T10:00:00Z',
    'dueDatePassed',
  ],
  [
    'nothing before its time',
    waiting(active, '2026-05-24T10:00:00Z'),
    '2026-05-24T09:59:59.999Z',
    'nothing',
  ],
  [
    'nothing at a time the store no longer reminds at',
    waiting(active, '2026-05-20T10:00:00Z'),
    '2026-05-20T10:00:00Z',
    'nothing',
  ],
  [
    'the end of grace',
    waiting(pastDue, '2026-06-07T10:00:00Z'),
    '2026-06-07T10:00:00Z',
    'graceRanOut',
  ],
  [
    'not before grace, which the store made longer',
    waiting(pastDue, '2026-06-03T10:00:00Z'),
    '2026-06-03T10:00:00Z',
    'nothing',
  ],
]
for (const [name, standing, now, expected] of DUES) {
  test(`due is ${name}`, () => {
    const action = dueAction(standing, at(now), TERMS)
    const seen =
      action === undefined
        ? 'nothing'
        : [action.trigger, ...('daysUntilDue' in action ? [action.daysUntilDue] : [])].join(' ')
    assert.equal(seen, expected)
  })
}

test('a late reminder never takes the number of the next one', () => {
  const standing = waiting(active, '2026-05-24T10:00:00Z')
  const action = dueAction(standing, at('2026-05-28T09:59:59.999Z'), TERMS)
  assert.deepEqual(action, { trigger: 'reminderDue', daysUntilDue: 4 })
})

test('paid periods count on from the first payment, however early or late they are paid', () => {
  const monthly = { interval: 'MONTH', intervalCount: 1 } as const
  const first = paidCalendar({ ...monthly, anchorAt: null, periodCount: 0 }, at('2026-01-31'))
  assert.deepEqual(first, {
    anchorAt: at('2026-01-31'),
    periodCount: 1,
    nextDueAt: at('2026-02-28'),
  })
  const early = paidCalendar({ ...monthly, ...first }, at('2026-02-01'))
  assert.deepEqual(early.nextDueAt, at('2026-03-31'))
  const twice = paidCalendar({ ...monthly, ...early }, at('2026-02-01'))
  assert.deepEqual(twice.nextDueAt, at('2026-04-30'))
  const late = paidCalendar({ ...monthly, ...first }, at('2026-03-05'))
  assert.deepEqual(late.nextDueAt, at('2026-03-31'))
})
