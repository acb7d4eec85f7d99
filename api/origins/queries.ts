import type { Db } from '#shared/db.ts'

export const ORIGIN_STATUSES = ['PENDING', 'APPROVED', 'REJECTED'] as const
export type OriginStatus = (typeof ORIGIN_STATUSES)[number]

export type OriginRow = {
  host: string
  status: OriginStatus
  firstConfirmedAt: Date | null
  createdAt: Date
  /** Microseconds since 1970 and the host's hash: an origin's place in its list. */
  createdMicros: number
  hostHash: string
}

/** What the wire shows of it. */
export type ShownOrigin = Omit<OriginRow, 'createdMicros' | 'hostHash'>

/** Where a page begins: below this place. Undefined at the top. */
export type OriginPlace = { createdMicros: number; hostHash: string }

/** A stretch of a store's origins, newest first. */
export async function listOrigins(
  db: Db,
  storeId: string,
  status: OriginStatus | undefined,
  before: OriginPlace | undefined,
  limit: number,
): Promise<OriginRow[]> {
  return db`
    select host, status, first_confirmed_at, created_at, md5(host) as host_hash,
      (extract(epoch from created_at) * 1000000)::bigint as created_micros
    from origins
    where store_id = ${storeId}
      ${status === undefined ? db`` : db`and status = ${status}`}
      ${before === undefined ? db`` : below(db, before)}
    order by store_id desc, created_at desc, md5(host) desc
    limit ${limit}`
}

function below(db: Db, { createdMicros, hostHash }: OriginPlace) {
  return db`
    and (created_at, md5(host)) <
      (timestamptz 'epoch' + ${createdMicros}::bigint * interval '1 microsecond', ${hostHash})`
}

export async function putOriginStatus(
  db: Db,
  storeId: string,
  host: string,
  status: OriginStatus,
): Promise<ShownOrigin> {
  const [row] = await db<ShownOrigin[]>`
    insert into origins (store_id, host, status)
    values (${storeId}, ${host}, ${status})
    on conflict (store_id, host) do update set status = excluded.status
    returning host, status, first_confirmed_at, created_at`
  if (row === undefined) throw new Error('a written origin was not returned')
  return row
}
