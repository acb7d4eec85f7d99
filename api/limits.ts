import type { SqlLike, Tx } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import type { Mode } from '#shared/networks/registry.ts'

/** What one seller may have at a time: far more than a shop needs, and little enough that nobody fills our tables. */
const STORES_PER_ACCOUNT_MAX = 100
/** Keys that work, in each mode. */
const KEYS_PER_STORE_MAX = 100
/** Wallets in use, in each mode. */
const WALLETS_PER_STORE_MAX = 100

/** Locks the account: who else adds a store to it waits, so that no two are counted as one. Error: invalid_request. */
export async function refuseMoreStores(tx: Tx, accountId: string): Promise<void> {
  await tx`select from accounts where account_id = ${accountId} for no key update`
  const count = countOf(
    await tx`select count(*)::integer as count from stores where account_id = ${accountId}`,
  )
  refuseFrom(
    STORES_PER_ACCOUNT_MAX,
    count,
    `An account has at most ${STORES_PER_ACCOUNT_MAX} stores.`,
  )
}

/** Locks the store, as {@link refuseMoreStores} does the account. Error: invalid_request. */
export async function refuseMoreKeys(tx: Tx, storeId: string, mode: Mode): Promise<void> {
  await lockStore(tx, storeId)
  const count = countOf(
    await tx`
      select count(*)::integer as count from keys
      where store_id = ${storeId} and mode = ${mode} and revoked_at is null`,
  )
  const advice = `A store has at most ${KEYS_PER_STORE_MAX} keys that work in a mode. Revoke one first.`
  refuseFrom(KEYS_PER_STORE_MAX, count, advice)
}

/**
 * Within a transaction locks the store, as {@link refuseMoreStores} does the account; outside of one it is but a first
 * look. Error: invalid_request.
 */
export async function refuseMoreWallets(sql: SqlLike, storeId: string, mode: Mode): Promise<void> {
  await lockStore(sql, storeId)
  const count = countOf(
    await sql`
      select count(*)::integer as count from wallets
      where store_id = ${storeId} and mode = ${mode} and removed_at is null`,
  )
  const advice = `A store has at most ${WALLETS_PER_STORE_MAX} wallets in a mode. Remove one first.`
  refuseFrom(WALLETS_PER_STORE_MAX, count, advice)
}

async function lockStore(sql: SqlLike, storeId: string): Promise<void> {
  await sql`select from stores where store_id = ${storeId} for no key update`
}

function countOf(rows: readonly Record<string, unknown>[]): number {
  return Number(rows[0]?.['count'])
}

function refuseFrom(countMax: number, count: number, message: string): void {
  if (count >= countMax) fail('invalid_request', { message })
}
