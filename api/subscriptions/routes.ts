import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { AdvanceBody, SubscriptionObject, SubscriptionQuery } from './model.ts'
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

export const postSubscriptionAdvance = endpoint({
  method: 'POST',
  path: '/v1/test/subscriptions/:subscriptionId/advance',
  auth: 'seller',
  summary: 'Move a test subscription’s clock and do everything that falls due on the way, in order',
  description:
    'With a test key. Reminders, due dates and the end of grace happen at their own times, as if somebody had watched; ' +
    'a first payment whose window is over by then lapses. The clock runs on from the time it was set to.',
  schemas: { body: AdvanceBody },
  response: SubscriptionObject,
  fails: ['subscription_not_found', 'not_test_mode'],
  handle: (deps, { caller, params, body }) =>
    subscriptions.advance(deps, caller, params.subscriptionId, body.to),
})
