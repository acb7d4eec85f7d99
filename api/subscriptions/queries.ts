import type { Db } from '#shared/db.ts'
import type { SubscriptionStatus } from '#shared/subscriptions/events.ts'
import type { SubscriptionRow } from '#shared/subscriptions/row.ts'
import type { Caller } from '../auth.ts'
import { SCANNED_MAX, type Stretch } from '../list.ts'

export async function listSubscriptionRows(
  db: Db,
  storeId: string,
  status: SubscriptionStatus | undefined,
  { mode, from, before, limit }: Stretch,
): Promise<SubscriptionRow[]> {
  return db<SubscriptionRow[]>`
    select * from (
      select * from subscriptions
      where (store_id, mode, subscription_id) >= (${storeId}, ${mode}, ${from})
        and (store_id, mode, subscription_id) < (${storeId}, ${mode}, ${before})
      order by store_id desc, mode desc, subscription_id desc
      limit ${SCANNED_MAX}
    ) scanned
    where status = coalesce(${status ?? null}, status)
    order by store_id desc, mode desc, subscription_id desc
    limit ${limit}`
}

export async function readSubscriptionScanEnd(
  db: Db,
  storeId: string,
  { mode, from, before }: Stretch,
): Promise<string | undefined> {
  const rows = await db<{ subscriptionId: string }[]>`
    select subscription_id from subscriptions
    where (store_id, mode, subscription_id) >= (${storeId}, ${mode}, ${from})
      and (store_id, mode, subscription_id) < (${storeId}, ${mode}, ${before})
    order by store_id desc, mode desc, subscription_id desc
    offset ${SCANNED_MAX - 1} limit 1`
  return rows[0]?.subscriptionId
}

/** The store of a subscription that the caller may change; undefined when it is none of theirs, or of the other mode. */
export async function findSubscriptionStore(
  db: Db,
  { accountId, storeId, mode }: Caller,
  subscriptionId: string,
): Promise<string | undefined> {
  const rows = await db<{ storeId: string }[]>`
    select store_id
    from subscriptions
    where subscription_id = ${subscriptionId} and account_id = ${accountId} and mode = ${mode}
      and store_id = coalesce(${storeId ?? null}, store_id)`
  return rows[0]?.storeId
}
