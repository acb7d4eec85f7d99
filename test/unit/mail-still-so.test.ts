import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BuyerMailBody, BuyerMailTemplate } from '#shared/mail-requests.ts'
import type { SubscriptionStatus } from '#shared/subscriptions/events.ts'
import { isStillSo } from '../../dispatcher/mail-letters.ts'
import type { BuyerFacts } from '../../dispatcher/mail-queries.ts'

/** A mail may wait for its server while its subscription goes on: what it says has to be true when it goes out. */
const DAY_MS = 86_400_000
const DUE = Date.UTC(2026, 6, 31, 12)
const PERIOD_MS = 30 * DAY_MS

type Case = [
  what: string,
  template: BuyerMailTemplate,
  status: SubscriptionStatus,
  /** Days from the due date that the mail tells. */
  nowDays: number,
  isSent: boolean,
  /** Whether the subscription's due date is the next one by now. */
  facts?: {
    daysUntilDue?: number
    isRenewed?: boolean
    isOwnClock?: boolean
    isAccountActive?: boolean
  },
]

const CASES: Case[] = [
  ['the welcome goes to who is active', 'subscription-opened', 'ACTIVE', -29, true],
  ['and to nobody whose subscription has ended', 'subscription-opened', 'EXPIRED', -29, false],
  ['a reminder goes out before the due date', 'subscription-reminder', 'ACTIVE', -7, true],
  ['the last one to the end', 'subscription-reminder', 'ACTIVE', -0.001, true, { daysUntilDue: 1 }],
  ['not at it', 'subscription-reminder', 'ACTIVE', 0, false, { daysUntilDue: 1 }],
  [
    'not when that period was paid',
    'subscription-reminder',
    'ACTIVE',
    -7,
    false,
    { isRenewed: true },
  ],
  ['not when a later one is due', 'subscription-reminder', 'ACTIVE', -3, false],
  ['a moment before that it does', 'subscription-reminder', 'ACTIVE', -3.001, true],
  ['"past due" goes to who is', 'subscription-past-due', 'PAST_DUE', 1, true],
  [
    'not to who has paid meanwhile',
    'subscription-past-due',
    'ACTIVE',
    1,
    false,
    { isRenewed: true },
  ],
  [
    'not of a period that was paid',
    'subscription-past-due',
    'PAST_DUE',
    31,
    false,
    { isRenewed: true },
  ],
  ['the end is told however late', 'subscription-expired', 'EXPIRED', 60, true],
  ['who canceled hears nothing more', 'subscription-expired', 'CANCELED', 1, false],
  [
    'nor does whoever bought of a banned seller',
    'subscription-expired',
    'EXPIRED',
    8,
    false,
    { isAccountActive: false },
  ],
  [
    'a moved clock tells each thing at its time',
    'subscription-reminder',
    'EXPIRED',
    90,
    true,
    { isOwnClock: true },
  ],
  [
    'but nothing to who canceled',
    'subscription-reminder',
    'CANCELED',
    -7,
    false,
    { isOwnClock: true },
  ],
]

for (const [what, template, status, nowDays, isSent, facts = {}] of CASES) {
  test(`${template}, ${status} ${nowDays} days from the due date: ${what}`, () => {
    const dueAt = new Date(DUE).toISOString()
    const { daysUntilDue = 7 } = facts
    const body: BuyerMailBody = { template, subscriptionId: 'sub_1', dueAt, daysUntilDue }
    const { isRenewed = false, isOwnClock = false, isAccountActive = true } = facts
    const known = {
      ...{ status, isOwnClock, isAccountActive, reminderDays: [7, 3, 1] },
      nextDueAt: new Date(DUE + (isRenewed ? PERIOD_MS : 0)),
    } as BuyerFacts
    assert.equal(isStillSo(body, known, new Date(DUE + nowDays * DAY_MS)), isSent)
  })
}
