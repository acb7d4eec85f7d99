import { createKey, type KeyKind } from '#shared/accounts/stores.ts'
import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { modesOf, type StoreCaller } from '../auth.ts'
import type { ApiDeps } from '../deps.ts'
import { refuseMoreKeys } from '../limits.ts'
import { readPage, toPage } from '../pagination.ts'
import { keyView } from '../store-object.ts'
import { LAST_ID } from '../words.ts'
import { listKeys, revokeKey } from './queries.ts'

/** Error: mode_mismatch. */
export async function showKeys(
  deps: ApiDeps,
  caller: StoreCaller,
  query: { limit?: number; cursor?: string; mode?: Mode },
) {
  const modes = modesOf(caller, query.mode)
  const { storeId } = caller
  const page = readPage(query, { list: 'keys', storeId, modes })
  const rows = await listKeys(deps.db, storeId, modes, page.before ?? LAST_ID, page.limit + 1)
  return toPage(page, rows, (row) => row.keyId, keyView)
}

/** Error: invalid_request, for one too many. */
export async function mintKey(deps: ApiDeps, { storeId, mode }: StoreCaller, kind: KeyKind) {
  const key = await withTransaction(deps.db, async (tx) => {
    await refuseMoreKeys(tx, storeId, mode)
    return createKey(tx, storeId, { kind, mode })
  })
  return keyView(key)
}

/** Error: key_not_found. */
export async function endKey(
  deps: ApiDeps,
  { storeId, mode }: StoreCaller,
  keyId: string,
): Promise<void> {
  const wasRevoked = isId('key', keyId) && (await revokeKey(deps.db, storeId, mode, keyId))
  if (!wasRevoked) fail('key_not_found')
}
