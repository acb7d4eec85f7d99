import { hashSecret, maskKey, newSecret } from '#shared/crypto.ts'
import type { SqlLike, Tx } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { MODES } from '#shared/networks/names.ts'
import type { Mode } from '#shared/networks/registry.ts'

/** What a key is for: the seller's server, or pages that everybody can read. */
export const KEY_KINDS = ['SECRET', 'PUBLISHABLE'] as const
export type KeyKind = (typeof KEY_KINDS)[number]

/** A key that was just made; `key` is in plain and, when secret, never known again. */
export type NewKey = { keyId: string; kind: KeyKind; mode: Mode; key: string; createdAt: Date }

/** A store's row, less what belongs to its webhook. */
export type StoreRow = {
  storeId: string
  accountId: string
  name: string
  branding: Record<string, string>
  reminderDays: number[]
  graceDays: number
  topUpUntilExpiry: boolean
  guessOnSharedAddress: boolean
  createdAt: Date
}

/** Makes a store with its four keys: each kind in each mode. */
export async function createStore(
  tx: Tx,
  { accountId, name }: { accountId: string; name: string },
): Promise<{ store: StoreRow; keys: NewKey[] }> {
  const [store] = await tx<StoreRow[]>`
    insert into stores (store_id, account_id, name)
    values (${newId('store')}, ${accountId}, ${name})
    returning store_id, account_id, name, branding, reminder_days, grace_days, top_up_until_expiry,
      guess_on_shared_address, created_at`
  if (store === undefined) throw new Error('an inserted store was not returned')
  const keys: NewKey[] = []
  for (const mode of MODES) {
    for (const kind of KEY_KINDS) keys.push(await createKey(tx, store.storeId, { kind, mode }))
  }
  return { store, keys }
}

/** Mints a key. Of a secret one only the hash is stored, and what may be shown of it. */
export async function createKey(
  sql: SqlLike,
  storeId: string,
  { kind, mode }: { kind: KeyKind; mode: Mode },
): Promise<NewKey> {
  const isPublic = kind === 'PUBLISHABLE'
  const key = newSecret(isPublic ? `pk_${mode}` : `sk_${mode}`)
  const keyId = newId('key')
  const [row] = await sql<{ createdAt: Date }[]>`
    insert into keys (key_id, store_id, mode, kind, key_hash, publishable_key, masked_key)
    values (${keyId}, ${storeId}, ${mode}, ${kind}, ${hashSecret(key)}, ${isPublic ? key : null},
      ${isPublic ? key : maskKey(key)})
    returning created_at`
  if (row === undefined) throw new Error('an inserted key was not returned')
  return { keyId, kind, mode, key, createdAt: row.createdAt }
}
