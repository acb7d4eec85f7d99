import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isTerminal,
  nextPaymentMove,
  PAYMENT_STATUSES,
  PAYMENT_TRIGGERS,
  type PaymentStatus,
  type PaymentTrigger,
} from '#shared/payments/machine.ts'

/** Written from spec section 3 and contract section 3, independently of the table. */
const EXPECTED: [PaymentStatus, PaymentTrigger, PaymentStatus, string | undefined][] = [
  ['PENDING', 'transferSeen', 'DETECTED', 'payment.detected'],
  ['PENDING', 'windowClosed', 'EXPIRED', 'payment.expired'],
  ['PENDING', 'canceled', 'CANCELED', 'payment.canceled'],
  ['PENDING', 'simulatedConfirmed', 'CONFIRMED', 'payment.confirmed'],
  ['PENDING', 'simulatedUnderpaid', 'UNDERPAID', 'payment.underpaid'],
  ['PENDING', 'simulatedOverpaid', 'OVERPAID', 'payment.overpaid'],
  ['PENDING', 'simulatedExpired', 'EXPIRED', 'payment.expired'],
  ['DETECTED', 'exactAtDepth', 'CONFIRMED', 'payment.confirmed'],
  ['DETECTED', 'moreAtDepth', 'OVERPAID', 'payment.overpaid'],
  ['DETECTED', 'lessAtDepth', 'UNDERPAID', 'payment.underpaid'],
  ['DETECTED', 'retracted', 'PENDING', undefined],
  ['DETECTED', 'simulatedConfirmed', 'CONFIRMED', 'payment.confirmed'],
  ['DETECTED', 'simulatedUnderpaid', 'UNDERPAID', 'payment.underpaid'],
  ['DETECTED', 'simulatedOverpaid', 'OVERPAID', 'payment.overpaid'],
]

for (const status of PAYMENT_STATUSES) {
  for (const trigger of PAYMENT_TRIGGERS) {
    const expected = EXPECTED.find(([from, why]) => from === status && why === trigger)
    const outcome = expected ? `moves to ${expected[2]}` : 'is ignored'
    test(`${status} + ${trigger} ${outcome}`, () => {
      const move = nextPaymentMove(status, trigger)
      assert.deepEqual(move && [move.to, move.event], expected && [expected[2], expected[3]])
    })
  }
}

test('no terminal status is ever left', () => {
  const left = PAYMENT_STATUSES.filter(isTerminal).filter((status) =>
    PAYMENT_TRIGGERS.some((trigger) => nextPaymentMove(status, trigger)),
  )
  assert.deepEqual(left, [])
})
