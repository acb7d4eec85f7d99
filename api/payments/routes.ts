import { endpoint } from '../endpoint.ts'
import { PaymentObject, SimulateBody } from './model.ts'
import { cancelAndShow, showPayment, simulateAndShow } from './service.ts'
import { streamPayment } from './stream.ts'

export const getPayment = endpoint({
  method: 'GET',
  path: '/v1/payments/:id',
  auth: 'capability',
  summary: 'Read a payment',
  response: PaymentObject,
  fails: ['payment_not_found'],
  handle: (deps, { params }) => showPayment(deps, params.id),
})

export const cancelPayment = endpoint({
  method: 'POST',
  path: '/v1/payments/:id/cancel',
  auth: 'capability',
  summary: 'Cancel a payment that is still pending',
  response: PaymentObject,
  fails: ['payment_not_found'],
  handle: (deps, { params }) => cancelAndShow(deps, params.id),
})

export const simulatePayment = endpoint({
  method: 'POST',
  path: '/v1/test/payments/:id/simulate',
  auth: 'capability',
  summary: 'Drive a test payment to an outcome, without a chain',
  schemas: { body: SimulateBody },
  isBodyOptional: true,
  response: PaymentObject,
  fails: ['payment_not_found', 'not_test_mode', 'not_open'],
  handle: (deps, { params, body }) =>
    simulateAndShow(deps, params.id, body?.outcome ?? 'CONFIRMED'),
})

export const getPaymentStream = endpoint({
  method: 'GET',
  path: '/v1/payments/:id/stream',
  auth: 'capability',
  summary:
    'Watch a payment: server-sent events with the payment object, at once and at each change',
  media: ['text/event-stream'],
  fails: ['payment_not_found', 'rate_limited'],
  handle: (deps, { request, params, clientIp }) =>
    streamPayment(deps, params.id, { clientIp: clientIp(), method: request.method }),
})
