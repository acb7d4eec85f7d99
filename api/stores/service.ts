import { createStore } from '#shared/accounts/stores.ts'
import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { lookAnew, type Place } from '#shared/subscriptions/queries.ts'
import type { Caller, StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { refuseMoreStores } from '../limits.ts'
import { guardLiveStore } from '../live-guard.ts'
import { readPage, toPage } from '../pagination.ts'
import { keyView, storeView } from '../store-object.ts'
import { LAST_ID } from '../words.ts'
import { normalizeBranding, type PatchStoreBody } from './model.ts'
import { listStores, readStore, updateStore } from './queries.ts'

/** Subscriptions of a store that are looked at anew in one statement, a count: far below its deadline. */
const LOOK_COUNT_MAX = 5_000

/** The stores that the caller reaches: a key its own, a login all of its account. */
export async function showStores(
  deps: ApiDeps,
  { accountId, storeId }: Caller,
  query: { limit?: number; cursor?: string },
) {
  const page = readPage(query, { list: 'stores', accountId, storeId })
  const rows = await listStores(deps.db, accountId, storeId, page.before ?? LAST_ID, page.limit + 1)
  return toPage(page, rows, (row) => row.storeId, storeView)
}

/** Errors: mode_mismatch, for a test key: a store comes with live keys. invalid_request, for one too many. */
export async function openStore(deps: ApiDeps, caller: Caller, name: string) {
  if (caller.kind === 'KEY' && caller.mode === 'test') {
    fail('mode_mismatch', {
      message: 'A store comes with live keys, so it takes a live key or a login to make one.',
    })
  }
  const { accountId } = caller
  const { store, keys } = await withTransaction(deps.db, async (tx) => {
    await refuseMoreStores(tx, accountId)
    return createStore(tx, { accountId, name })
  })
  return { store: storeView(store), keys: keys.map(keyView) }
}

export async function showStore(deps: ApiDeps, { storeId }: StoreCaller) {
  return storeView((await readStore(deps.db, storeId)) ?? fail('store_not_found'))
}

/** Errors: invalid_request, mode_mismatch. */
export async function changeStore(deps: ApiDeps, caller: StoreCaller, patch: PatchStoreBody) {
  const { branding, reminderDays, ...rest } = patch
  const normal = {
    ...rest,
    ...(branding === undefined ? {} : { branding: normalizeBranding(branding) }),
    ...(reminderDays === undefined
      ? {}
      : { reminderDays: [...reminderDays].sort((one, other) => other - one) }),
  }
  await guardLiveStore(deps.db, caller)
  const row = await updateStore(deps.db, caller.storeId, normal)
  if (row === undefined) fail('store_not_found')
  if (patch.reminderDays !== undefined || patch.graceDays !== undefined) {
    await recountSubscriptions(deps, caller.storeId)
  }
  return storeView(row)
}

/** What subscriptions do next was counted by the days before. */
async function recountSubscriptions({ db }: ApiDeps, storeId: string): Promise<void> {
  let place: Place | undefined = { mode: '', subscriptionId: '' }
  while (place !== undefined) place = await lookAnew(db, storeId, place, LOOK_COUNT_MAX)
}
