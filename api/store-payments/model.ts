import { type Static, Type } from '@sinclair/typebox'
import { PAYMENT_STATUSES, PAYMENT_TRIGGERS } from '#shared/payments/machine.ts'
import { Metadata, TokenName } from '../fields.ts'
import { PAGE_QUERY } from '../pagination.ts'
import { PaymentObject } from '../payments/model.ts'
import { TRANSFER_STATES, TransferObject } from '../transfer-object.ts'
import { ModeWord, oneOf, Time, TimeInput } from '../words.ts'

const NETWORK_LENGTH_MAX = 50

export const StorePaymentQuery = Type.Object(
  {
    ...PAGE_QUERY,
    mode: Type.Optional(ModeWord),
    status: Type.Optional(oneOf(PAYMENT_STATUSES)),
    network: Type.Optional(Type.String({ maxLength: NETWORK_LENGTH_MAX })),
    token: Type.Optional(TokenName),
    createdFrom: Type.Optional(TimeInput),
    createdTo: Type.Optional(TimeInput),
  },
  { additionalProperties: false },
)
export type StorePaymentQuery = Static<typeof StorePaymentQuery>

const Text = Type.Optional(Type.String())

/** The payment object with what its seller may know besides (contract section 2). */
export const StorePaymentObject = Type.Composite([
  PaymentObject,
  Type.Object({
    storeId: Type.String(),
    expectedAmount: Type.String({ description: 'What is due, tail included: exact' }),
    receivedAmount: Type.String({ description: 'What was seen so far: exact' }),
    receivedAmountBaseUnits: Type.String(),
    blockNumber: Type.Optional(Type.Integer()),
    metadata: Type.Optional(Metadata),
    originHost: Text,
    priceId: Text,
    paymentLinkId: Text,
    sessionId: Text,
    subscriptionId: Text,
    detectedAt: Type.Optional(Time),
    settledAt: Type.Optional(Time),
  }),
])

export const SinglePaymentObject = Type.Composite([
  StorePaymentObject,
  Type.Object({ transfers: Type.Array(TransferObject) }),
])

const TracedTransfer = Type.Composite([
  Type.Omit(TransferObject, ['state']),
  Type.Object({
    state: oneOf([...TRANSFER_STATES, 'RETRACTED']),
    rule: Type.String(),
    isFinal: Type.Boolean({ description: 'At depth, read twice and counted' }),
    isHeld: Type.Boolean({ description: 'Two readings of its block differ: not counted' }),
    explanation: Type.String(),
  }),
])

/** Why a payment is where it is (contract section 2). */
export const TraceObject = Type.Object({
  paymentId: Type.String(),
  mode: ModeWord,
  status: oneOf(PAYMENT_STATUSES),
  slot: Type.Object({
    network: Type.String(),
    token: Type.String(),
    address: Type.String(),
    amount: Type.String({ description: 'The exact amount held, tail included' }),
    amountBaseUnits: Type.String(),
    decimals: Type.Integer(),
    isExclusive: Type.Boolean({ description: 'The address is this payment’s alone' }),
    isHeld: Type.Boolean(),
    isReused: Type.Boolean({ description: 'Taken over within its last holder’s quarantine' }),
    clock: oneOf(['CHAIN', 'OURS']),
    positionBlock: Type.Optional(Type.Integer()),
    claimedAt: Time,
    expiresAt: Time,
    endedAt: Type.Optional(Time),
    releaseAt: Type.Optional(Time),
  }),
  transfers: Type.Array(TracedTransfer),
  moves: Type.Array(
    Type.Object({
      at: Time,
      from: oneOf(PAYMENT_STATUSES),
      to: oneOf(PAYMENT_STATUSES),
      trigger: oneOf(PAYMENT_TRIGGERS),
      explanation: Type.String(),
    }),
  ),
  deliveries: Type.Array(
    Type.Object({
      deliveryId: Type.String(),
      eventId: Type.String(),
      eventType: Type.String(),
      url: Type.String(),
      status: oneOf(['PENDING', 'DELIVERED', 'DEAD']),
      attemptCount: Type.Integer(),
      nextAttemptAt: Type.Optional(Time),
      createdAt: Time,
      deliveredAt: Type.Optional(Time),
      lastResponseStatus: Type.Optional(Type.Integer()),
      lastError: Text,
    }),
  ),
})
export type TraceObject = Static<typeof TraceObject>
