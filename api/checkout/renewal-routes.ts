import { endpoint } from '../endpoint.ts'
import { PaymentObject } from '../payments/model.ts'
import { cancelRenewal, checkOutRenewal, showRenewal } from './renewal.ts'
import { RenewalCheckoutBody, RenewalObject } from './renewal-model.ts'

export const getRenewal = endpoint({
  method: 'GET',
  path: '/v1/renewals/:token',
  auth: 'capability',
  summary: 'Read what a renew link renews',
  response: RenewalObject,
  fails: ['renewal_not_found'],
  handle: (deps, { params }) => showRenewal(deps, params.token),
})

export const postRenewalCheckout = endpoint({
  method: 'POST',
  path: '/v1/renewals/:token/checkout',
  auth: 'capability',
  summary: 'Claim a payment slot for the next period',
  status: 201,
  schemas: { body: RenewalCheckoutBody },
  response: PaymentObject,
  fails: [
    'rate_limited',
    'renewal_not_found',
    'not_open',
    'account_disabled',
    'email_unverified',
    'network_not_accepted',
    'token_not_accepted',
    'no_wallet',
    'volume_cap_reached',
    'slots_exhausted',
  ],
  handle: (deps, { params, body, headers, clientIp }) =>
    checkOutRenewal(deps, params.token, body, { clientIp: clientIp(), headers }),
})

export const postRenewalCancel = endpoint({
  method: 'POST',
  path: '/v1/renewals/:token/cancel',
  auth: 'capability',
  summary: 'Cancel the subscription for its buyer; one that has ended is answered as it is',
  response: RenewalObject,
  fails: ['renewal_not_found'],
  handle: (deps, { params }) => cancelRenewal(deps, params.token),
})
