import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { advanceSubscription } from '#shared/subscriptions/advance.ts'
import { lockSubscription, readSubscription } from '#shared/subscriptions/queries.ts'
import { openRenewToken, renewUrl } from '#shared/subscriptions/renew-token.ts'
import type { SubscriptionRow } from '#shared/subscriptions/row.ts'
import { moveSubscription } from '#shared/subscriptions/transition.ts'
import { type SubscriptionObject, subscriptionView } from '#shared/subscriptions/view.ts'
import { announceEvents } from '#shared/wake.ts'
import { type Caller, modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { checkId } from '../fields.ts'
import { type List, readSlice, sliceToPage } from '../list.ts'
import { readPage } from '../pagination.ts'
import { parseTime } from '../words.ts'
import type { SubscriptionQuery } from './model.ts'
import { findSubscriptionStore, listSubscriptionRows, readSubscriptionScanEnd } from './queries.ts'

/** How far ahead of ours a test subscription's clock may be set, in milliseconds: a century. */
const ADVANCE_MS_MAX = 100 * 366 * 86_400_000

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
  if (isMoved) wakeRelay(deps)
  return showSubscription(deps, { storeId, modes: [mode] }, subscriptionId)
}

/**
 * Moves a test subscription's clock. Errors: subscription_not_found, not_test_mode, invalid_request (a time in its past,
 * or beyond a century).
 */
export async function advance(
  deps: ApiDeps,
  caller: Caller,
  subscriptionId: string,
  toText: string,
): Promise<SubscriptionObject> {
  const to = parseTime(toText, 'to')
  checkId('sub', subscriptionId, 'subscription_not_found')
  const storeId = await findSubscriptionStore(deps.db, caller, subscriptionId)
  if (storeId === undefined) fail('subscription_not_found')
  if (caller.mode !== 'test') {
    fail('not_test_mode', { message: 'Only the clock of a test subscription can be moved.' })
  }
  const advanced = await withTransaction(deps.db, async (tx) => {
    const [{ now }] = await tx<[{ now: Date }]>`select service_now() as now`
    if (to.getTime() - now.getTime() > ADVANCE_MS_MAX) return 'beyond'
    return advanceSubscription(tx, subscriptionId, to, deps.door)
  })
  if (advanced === 'past') refuseTime('The subscription’s clock shows a later time already.')
  if (advanced === 'beyond') refuseTime('This should be a time within a century.')
  wakeRelay(deps)
  return showSubscription(deps, { storeId, modes: ['test'] }, subscriptionId)
}

function refuseTime(message: string): never {
  return fail('invalid_request', { message, param: 'to' })
}

/** After a commit, without making the caller wait. */
function wakeRelay(deps: ApiDeps): void {
  announceEvents(deps.db).catch((error: unknown) => {
    deps.log.debug('a wake-up was not sent', { cause: error })
  })
}

function toObject(deps: ApiDeps, row: SubscriptionRow): SubscriptionObject {
  const token = openRenewToken(deps.keyring, row.subscriptionId, row.renewTokenCiphertext)
  return subscriptionView(row, renewUrl(deps.config.publicUrl, token))
}
