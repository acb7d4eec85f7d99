import type { Db } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import type { Caller } from './auth.ts'

/**
 * What both modes of a store share (webhook, account, origins, settings) is not a test key's to change once the store
 * takes real money. A login is a person and may. Error: mode_mismatch.
 */
export async function guardLiveStore(db: Db, caller: Caller & { storeId: string }): Promise<void> {
  if (!isTestKey(caller)) return
  const [row] = await db<[{ isLive: boolean }]>`
    select exists (
      select from wallets
      where store_id = ${caller.storeId} and mode = 'live' and removed_at is null
    ) as is_live`
  if (row.isLive) refuse()
}

/** The same for what all stores of an account share. Error: mode_mismatch. */
export async function guardLiveAccount(db: Db, caller: Caller): Promise<void> {
  if (!isTestKey(caller)) return
  const [row] = await db<[{ isLive: boolean }]>`
    select exists (
      select from stores s
      join wallets w on w.store_id = s.store_id
      where s.account_id = ${caller.accountId} and w.mode = 'live' and w.removed_at is null
    ) as is_live`
  if (row.isLive) refuse()
}

function isTestKey({ kind, mode }: Caller): boolean {
  return kind === 'KEY' && mode === 'test'
}

function refuse(): never {
  return fail('mode_mismatch', {
    message: 'The store has a live wallet, so only a live key or a login may change this.',
  })
}
