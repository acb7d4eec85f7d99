import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { isCsvAccepted } from './csv.ts'
import { SinglePaymentObject, StorePaymentObject, StorePaymentQuery, TraceObject } from './model.ts'
import { exportPayments, listPayments, showStorePayment, tracePayment } from './service.ts'

export const listStorePayments = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/payments',
  auth: 'store',
  summary:
    'List payments, newest first; with Accept: text/csv all of them as a file. createdFrom and createdTo are inclusive. A filtered page may be short, even empty, while hasMore is true: go on with nextCursor',
  schemas: { query: StorePaymentQuery },
  response: pageSchema(StorePaymentObject),
  media: ['application/json', 'text/csv'],
  handle: (deps, { caller, query, request, headers }) => {
    headers['Vary'] = 'Accept'
    return isCsvAccepted(request.headers.get('accept'))
      ? exportPayments(deps, caller, query)
      : listPayments(deps, caller, query)
  },
})

export const getStorePayment = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/payments/:paymentId',
  auth: 'store',
  summary: 'Read a payment with its transfers',
  response: SinglePaymentObject,
  fails: ['payment_not_found'],
  handle: (deps, { caller, params }) => showStorePayment(deps, caller, params.paymentId),
})

export const getPaymentTrace = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/payments/:paymentId/trace',
  auth: 'store',
  summary: 'Explain a payment: its slot, every transfer considered, every move, every delivery',
  response: TraceObject,
  fails: ['payment_not_found'],
  handle: (deps, { caller, params }) => tracePayment(deps, caller, params.paymentId),
})
