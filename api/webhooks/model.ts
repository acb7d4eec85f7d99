import { type Static, Type } from '@sinclair/typebox'
import { EVENT_TYPES } from '#shared/events.ts'
import { WEBHOOK_URL_LENGTH_MAX } from '#shared/outbound-address.ts'
import { TestEventData } from '../event-data.ts'
import { PAGE_QUERY } from '../pagination.ts'
import { ModeWord, oneOf, Reference, Time, TimeInput, TimeOrNull } from '../words.ts'
import type { AttemptRow, DeliveryRow } from './queries.ts'

export const DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'DEAD'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Hours two secrets sign side by side: a week is long enough for any deployment. */
const OVERLAP_HOURS_MAX = 168
const closed = { additionalProperties: false }
const EventTypeWord = oneOf(EVENT_TYPES)

export const PutWebhookBody = Type.Object(
  { url: Type.String({ minLength: 1, maxLength: WEBHOOK_URL_LENGTH_MAX }) },
  closed,
)
export const RotateBody = Type.Object(
  {
    overlapHours: Type.Optional(
      Type.Integer({ minimum: 0, maximum: OVERLAP_HOURS_MAX, description: 'Default 24' }),
    ),
  },
  closed,
)
export const ReplayBody = Type.Object(
  {
    from: TimeInput,
    to: TimeInput,
    types: Type.Optional(
      Type.Array(EventTypeWord, { minItems: 1, maxItems: EVENT_TYPES.length, uniqueItems: true }),
    ),
  },
  closed,
)
export type ReplayBody = Static<typeof ReplayBody>

export const DeliveriesQuery = Type.Object(
  {
    ...PAGE_QUERY,
    mode: Type.Optional(ModeWord),
    status: Type.Optional(oneOf(DELIVERY_STATUSES)),
    eventType: Type.Optional(EventTypeWord),
    paymentId: Type.Optional(Reference),
  },
  closed,
)
export type DeliveriesQuery = Static<typeof DeliveriesQuery>

/** `secret` is there only in the answer that made it; `secrets` are those that sign, newest first, masked. */
export const WebhookObject = Type.Object({
  storeId: Type.String(),
  url: Type.Union([Type.String(), Type.Null()]),
  secrets: Type.Array(
    Type.Object({ secret: Type.String(), createdAt: Time, expiresAt: TimeOrNull }),
  ),
  secret: Type.Optional(Type.String()),
})

export const TestAnswer = Type.Object({
  id: Type.String(),
  type: Type.Literal('webhook.test'),
  createdAt: Time,
  apiVersion: Type.String(),
  data: TestEventData,
})

export const ReplayAnswer = Type.Object({ replayedCount: Type.Integer() })

export const DeliveryObject = Type.Object({
  deliveryId: Type.String(),
  eventId: Type.String(),
  eventType: Type.String(),
  paymentId: Type.Optional(Type.String()),
  mode: ModeWord,
  url: Type.Union([Type.String(), Type.Null()], {
    description: 'Where it goes, as the store’s URL is now; once it has ended, where it went last',
  }),
  status: oneOf(DELIVERY_STATUSES),
  attemptCount: Type.Integer(),
  nextAttemptAt: Type.Union([Time, Type.Null()], {
    description: 'Null once it has ended, and while it is parked because the store has no URL',
  }),
  createdAt: Time,
  deliveredAt: TimeOrNull,
  attempts: Type.Array(
    Type.Object({
      at: Time,
      durationMs: Type.Integer(),
      url: Type.String(),
      responseStatus: Type.Union([Type.Integer(), Type.Null()]),
      responseBody: Type.Union([Type.String(), Type.Null()]),
      error: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})

/** What is pending goes to the store's URL as it is now; without one it is parked, and nothing is next. */
export function deliveryView(
  row: DeliveryRow,
  attempts: readonly AttemptRow[] | undefined,
  storeUrl: string | null,
): Static<typeof DeliveryObject> {
  const isPending = row.status === 'PENDING'
  const isParked = isPending && storeUrl === null
  return {
    deliveryId: row.deliveryId,
    eventId: row.eventId,
    eventType: row.eventType,
    ...(row.paymentId === null ? {} : { paymentId: row.paymentId }),
    mode: row.mode,
    url: isPending ? storeUrl : row.url,
    status: row.status,
    attemptCount: row.attemptCount,
    nextAttemptAt: isParked ? null : (row.nextAttemptAt?.toISOString() ?? null),
    createdAt: row.createdAt.toISOString(),
    deliveredAt: row.deliveredAt?.toISOString() ?? null,
    attempts: (attempts ?? []).map(attemptView),
  }
}

function attemptView(row: AttemptRow) {
  return {
    at: row.at.toISOString(),
    durationMs: row.durationMs,
    url: row.url,
    responseStatus: row.responseStatus,
    responseBody: row.responseBody,
    error: row.error,
  }
}
