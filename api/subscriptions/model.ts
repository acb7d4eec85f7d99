import { type Static, Type } from '@sinclair/typebox'
import { INTERVALS, SUBSCRIPTION_STATUSES } from '#shared/subscriptions/events.ts'
import { Metadata } from '../fields.ts'
import { PAGE_QUERY } from '../pagination.ts'
import { ModeWord, oneOf, Time, TimeInput } from '../words.ts'

export const SubscriptionQuery = Type.Object(
  {
    ...PAGE_QUERY,
    mode: Type.Optional(ModeWord),
    status: Type.Optional(oneOf(SUBSCRIPTION_STATUSES)),
  },
  { additionalProperties: false },
)
export type SubscriptionQuery = Static<typeof SubscriptionQuery>

export const AdvanceBody = Type.Object({ to: TimeInput }, { additionalProperties: false })

export const SubscriptionObject = Type.Object({
  subscriptionId: Type.String(),
  storeId: Type.String(),
  mode: ModeWord,
  status: oneOf(SUBSCRIPTION_STATUSES),
  priceId: Type.String(),
  network: Type.String(),
  token: Type.String(),
  amount: Type.String(),
  amountCents: Type.Integer(),
  interval: oneOf(INTERVALS),
  intervalCount: Type.Integer(),
  buyerEmail: Type.Optional(Type.String()),
  metadata: Type.Optional(Metadata),
  originHost: Type.Optional(Type.String()),
  nextDueAt: Type.Optional(Time),
  renewUrl: Type.String({
    description: 'The hosted page on which the buyer pays the next period or cancels',
  }),
  createdAt: Time,
  endedAt: Type.Optional(Time),
})
