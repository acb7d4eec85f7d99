import { endpoint } from '../endpoint.ts'
import { PaymentObject } from '../payments/model.ts'
import { CheckoutBody, CheckoutInfoBody, CheckoutInfoObject } from './model.ts'
import { createCheckout, readCheckoutInfo } from './service.ts'

export const postCheckoutInfo = endpoint({
  method: 'POST',
  path: '/v1/checkout/info',
  auth: 'publishable',
  summary: 'Read what is to be paid, and what with',
  schemas: { body: CheckoutInfoBody },
  response: CheckoutInfoObject,
  fails: [
    'price_not_found',
    'payment_link_not_found',
    'session_not_found',
    'session_closed',
    'link_inactive',
    'price_inactive',
    'open_amount_disabled',
    'amount_out_of_range',
  ],
  handle: (deps, { request, body }) => readCheckoutInfo(deps, body, request.headers.get('origin')),
})

export const postCheckout = endpoint({
  method: 'POST',
  path: '/v1/checkout',
  auth: 'publishable',
  summary: 'Claim a payment slot: the address and the exact amount to pay',
  status: 201,
  schemas: { body: CheckoutBody },
  response: PaymentObject,
  fails: [
    'rate_limited',
    'price_not_found',
    'payment_link_not_found',
    'session_not_found',
    'session_closed',
    'link_inactive',
    'price_inactive',
    'open_amount_disabled',
    'amount_out_of_range',
    'network_not_accepted',
    'token_not_accepted',
    'no_wallet',
    'volume_cap_reached',
    'slots_exhausted',
  ],
  handle: (deps, { request, body, headers, clientIp }) =>
    createCheckout(deps, body, {
      origin: request.headers.get('origin'),
      clientIp: clientIp(),
      headers,
    }),
})
