import type { Db } from '#shared/db.ts'

export const ORIGIN_STATUSES = ['PENDING', 'APPROVED', 'REJECTED'] as const
export type OriginStatus = (typeof ORIGIN_STATUSES)[number]

export type OriginRow = {
  host: string
  status: OriginStatus
  firstConfirmedAt: Date | null
  createdAt: Date
  /** Sorts by time, then in a fixed order: an origin has no id that does. */
  originKey: string
}

/** A store's origins, newest first, from a key downwards. A store has few: a host costs a confirmed payment. */
export async function listOrigins(
  db: Db,
  storeId: string,
  status: OriginStatus | undefined,
  before: string,
  limit: number,
): Promise<OriginRow[]> {
  return db`
    select host, status, first_confirmed_at, created_at, origin_key
    from (
      select host, status, first_confirmed_at, created_at,
        to_char(created_at at time zone 'UTC', 'YYYYMMDDHH24MISSUS') || md5(host) collate "C" as origin_key
      from origins
      where store_id = ${storeId} ${status === undefined ? db`` : db`and status = ${status}`}
    ) keyed
    where origin_key < ${before}
    order by origin_key desc
    limit ${limit}`
}

export async function putOriginStatus(
  db: Db,
  storeId: string,
  host: string,
  status: OriginStatus,
): Promise<Omit<OriginRow, 'originKey'>> {
  const [row] = await db<Omit<OriginRow, 'originKey'>[]>`
    insert into origins (store_id, host, status)
    values (${storeId}, ${host}, ${status})
    on conflict (store_id, host) do update set status = excluded.status
    returning host, status, first_confirmed_at, created_at`
  if (row === undefined) throw new Error('a written origin was not returned')
  return row
}
