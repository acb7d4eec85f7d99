import { Type } from '@sinclair/typebox'
import { PAYMENT_STATUSES } from '#shared/payments/machine.ts'
import { INTERVALS, SUBSCRIPTION_STATUSES } from '#shared/subscriptions/events.ts'
import { Metadata } from './fields.ts'
import { ModeWord, oneOf, Time } from './words.ts'

const Text = Type.Optional(Type.String())

/** What every event of a payment tells (spec section 2). */
const PAYMENT_DATA = {
  paymentId: Type.String(),
  accountId: Type.String(),
  storeId: Type.String(),
  mode: ModeWord,
  network: Type.String(),
  token: Type.String(),
  address: Type.String({ description: 'The seller’s receiving address.' }),
  amount: Type.String(),
  amountBaseUnits: Type.String(),
  decimals: Type.Integer(),
  status: oneOf(PAYMENT_STATUSES),
  txHash: Type.Optional(Type.String({ description: 'Absent until a transfer was seen.' })),
  blockNumber: Type.Optional(Type.Integer({ description: 'Absent until a transfer was seen.' })),
  confirmations: Type.Optional(Type.Integer()),
  originHost: Text,
  metadata: Type.Optional(Metadata),
}

export const PaymentEventData = Type.Object(PAYMENT_DATA)

/** Underpaid and overpaid also say what was due and what came. */
export const UnequalPaymentEventData = Type.Object({
  ...PAYMENT_DATA,
  expectedAmount: Type.String(),
  receivedAmount: Type.String(),
  receivedAmountBaseUnits: Type.String(),
})

const SUBSCRIPTION_DATA = {
  subscriptionId: Type.String(),
  storeId: Type.String(),
  mode: ModeWord,
  priceId: Type.String(),
  status: oneOf(SUBSCRIPTION_STATUSES),
  network: Type.String(),
  token: Type.String(),
  amount: Type.String(),
  interval: oneOf(INTERVALS),
  buyerEmail: Text,
  nextDueAt: Type.Optional(Time),
  renewUrl: Type.String(),
  metadata: Type.Optional(Metadata),
}

export const SubscriptionEventData = Type.Object(SUBSCRIPTION_DATA)

export const ReminderEventData = Type.Object({
  ...SUBSCRIPTION_DATA,
  daysUntilDue: Type.Integer(),
})

export const TestEventData = Type.Object({
  storeId: Type.String(),
  accountId: Type.String(),
  mode: ModeWord,
})
