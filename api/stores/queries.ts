import type { StoreRow } from '#shared/accounts/stores.ts'
import type { Db } from '#shared/db.ts'
import type { PatchStoreBody } from './model.ts'

/** Stores of an account, or the one of them that a key belongs to; newest first, from an id downwards. */
export async function listStores(
  db: Db,
  accountId: string,
  storeId: string | undefined,
  before: string,
  limit: number,
): Promise<StoreRow[]> {
  return db`
    select store_id, account_id, name, branding, reminder_days, grace_days, top_up_until_expiry,
      guess_on_shared_address, created_at
    from stores
    where account_id = ${accountId} and store_id < ${before}
      ${storeId === undefined ? db`` : db`and store_id = ${storeId}`}
    order by store_id desc
    limit ${limit}`
}

export async function readStore(db: Db, storeId: string): Promise<StoreRow | undefined> {
  const [row] = await db<StoreRow[]>`
    select store_id, account_id, name, branding, reminder_days, grace_days, top_up_until_expiry,
      guess_on_shared_address, created_at
    from stores
    where store_id = ${storeId}`
  return row
}

export async function updateStore(
  db: Db,
  storeId: string,
  patch: PatchStoreBody,
): Promise<StoreRow | undefined> {
  const branding = patch.branding === undefined ? null : db.json(patch.branding)
  const [row] = await db<StoreRow[]>`
    update stores set
      name = coalesce(${patch.name ?? null}, name),
      branding = coalesce(${branding}::jsonb, branding),
      reminder_days = coalesce(${patch.reminderDays ?? null}::integer[], reminder_days),
      grace_days = coalesce(${patch.graceDays ?? null}, grace_days),
      top_up_until_expiry = coalesce(${patch.topUpUntilExpiry ?? null}, top_up_until_expiry),
      guess_on_shared_address = coalesce(${patch.guessOnSharedAddress ?? null}, guess_on_shared_address)
    where store_id = ${storeId}
    returning store_id, account_id, name, branding, reminder_days, grace_days, top_up_until_expiry,
      guess_on_shared_address, created_at`
  return row
}
