import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { lockSubscription, readSubscription } from '#shared/subscriptions/queries.ts'
import { openRenewToken, renewUrl } from '#shared/subscriptions/renew-token.ts'
import type { SubscriptionRow } from '#shared/subscriptions/row.ts'
import { moveSubscription } from '#shared/subscriptions/transition.ts'
import { type SubscriptionObject, subscriptionView } from '#shared/subscriptions/view.ts'
import { announceEvents } from '#shared/wake.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { checkId } from '../fields.ts'
import { type List, readSlice, sliceToPage } from '../list.ts'
import { readPage } from '../pagination.ts'
import type { SubscriptionQuery } from './model.ts'
import { listSubscriptionRows, readSubscriptionScanEnd } from './queries.ts'

/** Errors: invalid_request, mode_mismatch. */
export async function listSubscriptions(
  deps: ApiDeps,
  { storeId, ...caller }: StoreCaller,
  query: SubscriptionQuery,
) {
  const modes = modesOf({ storeId, ...caller }, query.mode)
  const { status } = query
  const start = readPage(query, { what: 'subscriptions', storeId, modes, status })
  const list: List<SubscriptionRow> = {
    read: (stretch) => listSubscriptionRows(deps.db, storeId, status, stretch),
    idOf: (row) => row.subscriptionId,
    ...(status === undefined
      ? {}
      : { readScanEnd: (stretch) => readSubscriptionScanEnd(deps.db, storeId, stretch) }),
  }
  return sliceToPage(start, await readSlice(list, modes, start), (row) => toObject(deps, row))
}

/** Error: subscription_not_found. */
export async function showSubscription(
  deps: ApiDeps,
  scope: Pick<StoreCaller, 'storeId' | 'modes'>,
  subscriptionId: string,
): Promise<SubscriptionObject> {
  checkId('sub', subscriptionId, 'subscription_not_found')
  const row = await readSubscription(deps.db, scope, subscriptionId)
  return toObject(deps, row ?? fail('subscription_not_found'))
}

/** Cancels a subscription; one that has ended is answered as it is. Error: subscription_not_found. */
export async function cancelSubscription(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  subscriptionId: string,
): Promise<SubscriptionObject> {
  checkId('sub', subscriptionId, 'subscription_not_found')
  const isMoved = await withTransaction(deps.db, async (tx) => {
    const own = await readSubscription(tx, { storeId, modes: [mode] }, subscriptionId)
    const locked = own && (await lockSubscription(tx, own.subscriptionId))
    if (locked === undefined) fail('subscription_not_found')
    const { subscriptions } = deps.door
    return (await moveSubscription(tx, locked, 'canceled', {}, subscriptions)) !== undefined
  })
  if (isMoved) {
    announceEvents(deps.db).catch((error: unknown) => {
      deps.log.debug('a wake-up was not sent', { cause: error })
    })
  }
  return showSubscription(deps, { storeId, modes: [mode] }, subscriptionId)
}

function toObject(deps: ApiDeps, row: SubscriptionRow): SubscriptionObject {
  const token = openRenewToken(deps.keyring, row.subscriptionId, row.renewTokenCiphertext)
  return subscriptionView(row, renewUrl(deps.config.publicUrl, token))
}
