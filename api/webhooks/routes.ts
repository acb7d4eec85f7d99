import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { replayEvents, resendDelivery, showDeliveries, showDelivery } from './deliveries.ts'
import {
  DeliveriesQuery,
  DeliveryObject,
  PutWebhookBody,
  ReplayAnswer,
  ReplayBody,
  RotateBody,
  TestAnswer,
  WebhookObject,
} from './model.ts'
import { dropWebhook, putWebhook, rotateSecret, sendTest, showWebhook } from './service.ts'

export const getWebhook = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/webhook',
  auth: 'store',
  summary: 'Read where events go, null when nowhere, and which secrets sign them, masked',
  response: WebhookObject,
  handle: (deps, { caller }) => showWebhook(deps, caller),
})

export const putWebhookUrl = endpoint({
  method: 'PUT',
  path: '/v1/stores/:storeId/webhook',
  auth: 'store',
  summary: 'Set where events go; the first time, the signing secret is shown this once',
  schemas: { body: PutWebhookBody },
  response: WebhookObject,
  fails: ['mode_mismatch'],
  handle: (deps, { caller, body }) => putWebhook(deps, caller, body.url),
})

export const deleteWebhook = endpoint({
  method: 'DELETE',
  path: '/v1/stores/:storeId/webhook',
  auth: 'store',
  summary: 'Send events nowhere; what is pending is parked',
  status: 204,
  fails: ['mode_mismatch'],
  handle: (deps, { caller }) => dropWebhook(deps, caller),
})

export const postWebhookRotate = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/webhook/rotate',
  auth: 'store',
  summary: 'Make a new signing secret, shown this once; the one in use signs beside it for a while',
  schemas: { body: RotateBody },
  isBodyOptional: true,
  response: WebhookObject,
  fails: ['mode_mismatch'],
  handle: (deps, { caller, body }) => rotateSecret(deps, caller, body?.overlapHours),
})

export const postWebhookTest = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/webhook/test',
  auth: 'store',
  summary: 'Send a webhook.test event; answers its envelope',
  response: TestAnswer,
  handle: (deps, { caller }) => sendTest(deps, caller),
})

export const getDeliveries = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/webhook/deliveries',
  auth: 'store',
  summary: 'List deliveries of events to the webhook with their attempts, newest first',
  schemas: { query: DeliveriesQuery },
  response: pageSchema(DeliveryObject),
  handle: (deps, { caller, query }) => showDeliveries(deps, caller, query),
})

export const getDelivery = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/webhook/deliveries/:deliveryId',
  auth: 'store',
  summary: 'Read a delivery with its attempts, oldest first',
  response: DeliveryObject,
  fails: ['delivery_not_found'],
  handle: (deps, { caller, params }) => showDelivery(deps, caller, params.deliveryId),
})

export const postDeliveryResend = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/webhook/deliveries/:deliveryId/resend',
  auth: 'store',
  summary: 'Deliver again, at once and for up to 72 hours, under the same event id',
  response: DeliveryObject,
  fails: ['delivery_not_found'],
  handle: (deps, { caller, params }) => resendDelivery(deps, caller, params.deliveryId),
})

export const postWebhookReplay = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/webhook/replay',
  auth: 'store',
  summary: 'Deliver the events of a time range again, under the same event ids',
  description:
    'Those of the key’s mode from `from` until before `to`, in their order, also those from a time when the store had no ' +
    'URL. At most 5,000 at a time: replay a longer time in several ranges.',
  schemas: { body: ReplayBody },
  response: ReplayAnswer,
  handle: (deps, { caller, body }) => replayEvents(deps, caller, body),
})
