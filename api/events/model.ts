import { type Static, Type } from '@sinclair/typebox'
import { EVENT_TYPES } from '#shared/events.ts'
import {
  PaymentEventData,
  ReminderEventData,
  SubscriptionEventData,
  TestEventData,
  UnequalPaymentEventData,
} from '../event-data.ts'
import { PAGE_QUERY } from '../pagination.ts'
import { ModeWord, oneOf, Reference, Time } from '../words.ts'

export const EventsQuery = Type.Object(
  {
    ...PAGE_QUERY,
    mode: Type.Optional(ModeWord),
    type: Type.Optional(oneOf(EVENT_TYPES)),
    paymentId: Type.Optional(Reference),
    after: Type.Optional(
      Type.Integer({ minimum: 0, description: 'A sequence: what came after it, oldest first' }),
    ),
  },
  { additionalProperties: false },
)
export type EventsQuery = Static<typeof EventsQuery>

/** The envelope of spec section 2, with where it stands among the store's events of its mode. */
export const EventObject = Type.Object({
  id: Type.String(),
  type: oneOf(EVENT_TYPES),
  createdAt: Time,
  apiVersion: Type.String(),
  data: Type.Union([
    PaymentEventData,
    UnequalPaymentEventData,
    SubscriptionEventData,
    ReminderEventData,
    TestEventData,
  ]),
  mode: ModeWord,
  sequence: Type.Integer(),
})
