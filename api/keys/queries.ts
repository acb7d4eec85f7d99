import type { NewKey } from '#shared/accounts/stores.ts'
import type { Db } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'

/** Keys that work, as they may be shown; newest first, from an id downwards. */
export async function listKeys(
  db: Db,
  storeId: string,
  modes: readonly Mode[],
  before: string,
  limit: number,
): Promise<NewKey[]> {
  return db`
    select key_id, kind, mode, masked_key as key, created_at
    from keys
    where store_id = ${storeId} and mode = any (${[...modes]}) and revoked_at is null
      and key_id < ${before}
    order by key_id desc
    limit ${limit}`
}

/** Answers whether there was such a key that worked. Every process asks for a key by hash, so it ends at once. */
export async function revokeKey(
  db: Db,
  storeId: string,
  mode: Mode,
  keyId: string,
): Promise<boolean> {
  const revoked = await db`
    update keys set revoked_at = service_now()
    where key_id = ${keyId} and store_id = ${storeId} and mode = ${mode} and revoked_at is null`
  return revoked.count === 1
}
