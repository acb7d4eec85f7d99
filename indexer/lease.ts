import type { Db } from '#shared/db.ts'
import { REQUESTS_CHANNEL } from '#shared/requests.ts'

/** Seconds a leader may be silent before another process takes over (contract: within 10 s). */
export const LEASE_SECONDS = 7

/**
 * Takes the lease when it is free, over, or ours already; answers the epoch, or undefined while another leads.
 */
export async function takeLease(
  db: Db,
  deployment: string,
  leader: string,
): Promise<number | undefined> {
  const rows = await db<{ epoch: number }[]>`
    update deployments set
      leader = ${leader},
      epoch = epoch + 1,
      lease_until = service_now() + make_interval(secs => ${LEASE_SECONDS})
    where deployment = ${deployment}
      and (leader is null or leader = ${leader} or lease_until < service_now())
    returning epoch`
  return rows[0]?.epoch
}

/** Keeps the lease; false when it was lost. */
export async function renewLease(db: Db, deployment: string, epoch: number): Promise<boolean> {
  const rows = await db`
    update deployments set lease_until = service_now() + make_interval(secs => ${LEASE_SECONDS})
    where deployment = ${deployment} and epoch = ${epoch} and leader is not null
    returning 1`
  return rows.length === 1
}

/** Gives the lease back, and wakes the standbys, so that one takes over at once. */
export async function releaseLease(db: Db, deployment: string, epoch: number): Promise<void> {
  await db`
    with released as (
      update deployments set leader = null, lease_until = null
      where deployment = ${deployment} and epoch = ${epoch}
      returning deployment
    )
    select pg_notify(${REQUESTS_CHANNEL}, deployment) from released`
}
