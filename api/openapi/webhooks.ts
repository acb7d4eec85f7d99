import type { TSchema } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { API_VERSION, EVENT_TYPES, type EventType } from '#shared/events.ts'
import {
  PaymentEventData,
  ReminderEventData,
  SubscriptionEventData,
  TestEventData,
  UnequalPaymentEventData,
} from '../event-data.ts'
import { Time } from '../words.ts'
import { type JsonObject, toJsonSchema } from './schema.ts'

/** What each event tells, and when it is sent. */
const EVENTS: Record<EventType, readonly [data: TSchema, when: string]> = {
  'payment.detected': [PaymentEventData, 'A matching transfer was first seen on the chain.'],
  'payment.confirmed': [
    PaymentEventData,
    'The transfer reached the chain’s confirmation depth: the money is the seller’s. Fulfil the order now.',
  ],
  'payment.underpaid': [UnequalPaymentEventData, 'Less than the amount due was received.'],
  'payment.overpaid': [
    UnequalPaymentEventData,
    'More than the amount due was received. The payment is credited; no payment.confirmed follows.',
  ],
  'payment.expired': [PaymentEventData, 'The window closed with nothing received.'],
  'payment.canceled': [PaymentEventData, 'The buyer canceled.'],
  'subscription.created': [
    SubscriptionEventData,
    'A checkout against a recurring price opened it.',
  ],
  'subscription.activated': [SubscriptionEventData, 'Its first payment was credited.'],
  'subscription.reminder': [ReminderEventData, 'A due date is near: the buyer was mailed.'],
  'subscription.renewed': [SubscriptionEventData, 'The next period was paid.'],
  'subscription.past_due': [SubscriptionEventData, 'The due date passed unpaid.'],
  'subscription.expired': [SubscriptionEventData, 'The days of grace ran out.'],
  'subscription.canceled': [SubscriptionEventData, 'Buyer or seller canceled.'],
  'webhook.test': [TestEventData, 'The seller asked for it; it tells of nothing.'],
}

/** The envelope of spec section 2 for one type of event. */
export function envelopeOf(type: EventType) {
  return Type.Object({
    id: Type.String(),
    type: Type.Literal(type),
    createdAt: Time,
    apiVersion: Type.Literal(API_VERSION),
    data: EVENTS[type][0],
  })
}

/** What sellers' endpoints are sent. */
export function webhookOperations(): JsonObject {
  return Object.fromEntries(
    EVENT_TYPES.map((type) => [
      type,
      {
        post: {
          operationId: type.replace(/[._](\w)/g, (_, letter: string) => letter.toUpperCase()),
          tags: ['webhook events'],
          summary: EVENTS[type][1],
          description: DELIVERY_NOTE,
          parameters: ['ServiceEvent', 'ServiceDelivery', 'ServiceSignature'].map((name) => ({
            $ref: `#/components/parameters/${name}`,
          })),
          requestBody: {
            required: true,
            content: { 'application/json': { schema: toJsonSchema(envelopeOf(type)) } },
          },
          responses: {
            '2XX': { description: 'Taken: this delivery is done.' },
            default: {
              description:
                'Anything else, a redirect included, or no answer within 15 seconds: tried again after 10 s, 20 s, 40 s … up to hourly, until 72 hours after the event.',
            },
          },
        },
      },
    ]),
  )
}

const DELIVERY_NOTE =
  'Verify before parsing: recompute HMAC-SHA256 over `<t>.<raw body>` with the store’s `whsec_` secret, accept when any `v1` of X-Service-Signature equals it, and refuse when `t` is more than 300 seconds off your clock. Deduplicate by `id`: an event is delivered at least once, and two of one moment may arrive in either order.'

/** The headers of every delivery (spec section 6). */
export const DELIVERY_PARAMETERS: JsonObject = {
  ServiceEvent: header('X-Service-Event', 'The event’s type.', 'payment.confirmed'),
  ServiceDelivery: header(
    'X-Service-Delivery',
    'The event’s id: the same on every attempt, and inside the signed body.',
    'pay_01k2m4x8y0q3z5w7v9t1r6p8n2:payment.confirmed',
  ),
  ServiceSignature: header(
    'X-Service-Signature',
    '`t=<unix seconds>,v1=<hex>[,v1=<hex>…]`: when it was signed, and a signature per active secret.',
    't=1782990245,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
  ),
}

function header(name: string, description: string, example: string): JsonObject {
  return {
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string', examples: [example] },
  }
}
