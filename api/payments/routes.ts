import { endpoint } from '../endpoint.ts'
import { PaymentObject } from './model.ts'
import { showPayment } from './service.ts'

export const getPayment = endpoint({
  method: 'GET',
  path: '/v1/payments/:id',
  auth: 'capability',
  summary: 'Read a payment',
  response: PaymentObject,
  fails: ['payment_not_found'],
  handle: (deps, { params }) => showPayment(deps, params.id),
})
