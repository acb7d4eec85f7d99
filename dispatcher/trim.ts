import type { Db } from '#shared/db.ts'

/** How long a finished request is kept, in days: a mail's row keeps the same mail from being sent again, and an
 * operator may ask what a rescan found. Nothing asks for the mail of a due date, or of any day, a year later. */
export const REQUEST_KEPT_DAYS = 400
/** How long a count of somebody's requests is kept after its window began, in hours: the longest window is a day. */
export const RATE_WINDOW_KEPT_HOURS = 48
/** Rows removed in one statement, a count. */
const TRIM_BATCH_MAX = 1_000

/** Removes requests that were finished long ago, whatever they asked for; answers how many, up to a batch. */
export async function trimRequests(db: Db): Promise<number> {
  const { count } = await db`
    delete from requests
    where request_id in (
      select request_id
      from requests
      where done_at < service_now() - make_interval(days => ${REQUEST_KEPT_DAYS}::integer)
      order by done_at
      limit ${TRIM_BATCH_MAX}
      for update skip locked
    )`
  return count
}

/** Forgets callers who have not come for long; answers how many, up to a batch. */
export async function trimRateWindows(db: Db): Promise<number> {
  const { count } = await db`
    delete from rate_windows
    where ctid = any (array(
      select ctid
      from rate_windows
      where started_at < service_now() - make_interval(hours => ${RATE_WINDOW_KEPT_HOURS}::integer)
      limit ${TRIM_BATCH_MAX}
      for update skip locked
    ))`
  return count
}
