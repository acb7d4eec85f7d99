import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SUBSCRIPTION_STATUSES } from '#shared/subscriptions/events.ts'
import {
  isEnded,
  nextSubscriptionMove,
  SUBSCRIPTION_TRIGGERS,
} from '#shared/subscriptions/machine.ts'
import { subscriptionEventId } from '#shared/subscriptions/transition.ts'

/** Contract section 4: every cell that does something; all others are ignored. */
const MOVES: Record<string, string> = {
  'PENDING + paid': 'ACTIVE subscription.activated',
  'PENDING + firstPaymentLapsed': 'EXPIRED quietly',
  'PENDING + canceled': 'CANCELED subscription.canceled',
  'ACTIVE + paid': 'ACTIVE subscription.renewed',
  'ACTIVE + reminderDue': 'ACTIVE subscription.reminder',
  'ACTIVE + dueDatePassed': 'PAST_DUE subscription.past_due',
  'ACTIVE + canceled': 'CANCELED subscription.canceled',
  'PAST_DUE + paid': 'ACTIVE subscription.renewed',
  'PAST_DUE + graceRanOut': 'EXPIRED subscription.expired',
  'PAST_DUE + canceled': 'CANCELED subscription.canceled',
}

for (const status of SUBSCRIPTION_STATUSES) {
  for (const trigger of SUBSCRIPTION_TRIGGERS) {
    const cell = `${status} + ${trigger}`
    test(`${cell} moves to ${MOVES[cell] ?? 'nothing'}`, () => {
      const move = nextSubscriptionMove(status, trigger)
      const seen = move && `${move.to} ${move.event ?? 'quietly'}`
      assert.equal(seen, MOVES[cell])
    })
  }
}

test('only EXPIRED and CANCELED are the end', () => {
  assert.deepEqual(SUBSCRIPTION_STATUSES.filter(isEnded), ['EXPIRED', 'CANCELED'])
})

test('event ids hold the due date for what happens every period, and the days of a reminder', () => {
  const before = { subscriptionId: 'sub_1', nextDueAt: new Date('2026-02-28T23:59:59Z') }
  const id = (
    ...rest: Parameters<typeof subscriptionEventId> extends [unknown, ...infer R] ? R : never
  ) => subscriptionEventId(before, ...rest)
  assert.equal(id('subscription.created'), 'sub_1:subscription.created')
  assert.equal(id('subscription.activated'), 'sub_1:subscription.activated')
  assert.equal(id('subscription.expired'), 'sub_1:subscription.expired')
  assert.equal(id('subscription.canceled'), 'sub_1:subscription.canceled')
  assert.equal(id('subscription.renewed'), 'sub_1:subscription.renewed:2026-02-28')
  assert.equal(id('subscription.past_due'), 'sub_1:subscription.past_due:2026-02-28')
  assert.equal(id('subscription.reminder', 3), 'sub_1:subscription.reminder:2026-02-28:3')
})
