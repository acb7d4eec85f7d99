import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { SubscriptionObject, SubscriptionQuery } from './model.ts'
import * as subscriptions from './service.ts'

export const listSubscriptions = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/subscriptions',
  auth: 'store',
  summary: 'List subscriptions, newest first',
  schemas: { query: SubscriptionQuery },
  response: pageSchema(SubscriptionObject),
  handle: (deps, { caller, query }) => subscriptions.listSubscriptions(deps, caller, query),
})

export const getSubscription = endpoint({
  method: 'GET',
  path: '/v1/stores/:storeId/subscriptions/:subscriptionId',
  auth: 'store',
  summary: 'Read a subscription',
  response: SubscriptionObject,
  fails: ['subscription_not_found'],
  handle: (deps, { caller, params }) =>
    subscriptions.showSubscription(deps, caller, params.subscriptionId),
})

export const postSubscriptionCancel = endpoint({
  method: 'POST',
  path: '/v1/stores/:storeId/subscriptions/:subscriptionId/cancel',
  auth: 'store',
  summary: 'Cancel a subscription; one that has ended is answered as it is',
  response: SubscriptionObject,
  fails: ['subscription_not_found'],
  handle: (deps, { caller, params }) =>
    subscriptions.cancelSubscription(deps, caller, params.subscriptionId),
})
