import { type Db, isUnavailable, type Tx, withTransaction } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import { lockPayments } from '#shared/payments/queries.ts'
import { closeWindows } from '#shared/payments/service.ts'
import { announcePayments } from '#shared/wake.ts'

/** Payments whose window is closed in one transaction, a count. */
export const CLOSE_BATCH_MAX = 100
/** Slots released in one transaction, a count. */
export const RELEASE_BATCH_MAX = 1_000

/** What ending payments works with. */
export type ExpireDeps = { readonly db: Db; readonly door: DoorSettings; readonly log: Log }

/**
 * Ends payments whose window has closed, up to a batch, together; answers how many moved.
 *
 * Ours is not the only clock: a payment that goes by the chain's waits until the deployment's position,
 * read twice, is past `expiresAt`, so that a transfer mined in time counts however late it is read. One
 * that waits for a top-up is left alone while anything of it is on its way or in doubt.
 */
export async function expirePayments(deps: ExpireDeps): Promise<number> {
  const moved = await withTransaction(deps.db, async (tx) => {
    const ids = await lockClosed(tx)
    return ids.length === 0 ? [] : closeOrIsolate(deps, tx, ids)
  })
  if (moved.length > 0) await announcePayments(deps.db, moved)
  return moved.length
}

/** Locks what has closed, longest ago first; what another dispatcher has in hand is left to it. */
async function lockClosed(tx: Tx): Promise<string[]> {
  const closed = await tx<{ paymentId: string }[]>`
    select p.payment_id
    from slots s
    join payments p on p.payment_id = s.payment_id
    left join deployments d on d.deployment = p.deployment
    where s.is_open and s.expires_at <= service_now()
      and (p.clock = 'OURS' or d.audited_time > s.expires_at)
      and (p.status = 'PENDING' or (p.status = 'DETECTED' and not exists (
        select from transfers t
        where t.payment_id = p.payment_id and t.state = 'MATCHED' and (t.is_held or not t.is_final)
      )))
    order by s.expires_at
    limit ${CLOSE_BATCH_MAX}
    for update of p skip locked`
  return closed.map((row) => row.paymentId)
}

/** Closes these windows together, or one by one where that fails: one that cannot be closed must not hold up the others. */
async function closeOrIsolate(
  { door, log }: ExpireDeps,
  tx: Tx,
  ids: readonly string[],
): Promise<string[]> {
  const close = (paymentIds: readonly string[]) => {
    return tx.savepoint(async (inner) => {
      const locked = await lockPayments(inner as Tx, paymentIds)
      return closeWindows(inner as Tx, [...locked.values()], door)
    })
  }
  try {
    return await close(ids)
  } catch (error) {
    if (isUnavailable(error)) throw error
    log.warn('windows cannot be closed together, trying them one by one', { error })
  }
  const moved: string[] = []
  for (const paymentId of ids) {
    try {
      moved.push(...(await close([paymentId])))
    } catch (error) {
      if (isUnavailable(error)) throw error
      log.error('a payment’s window cannot be closed', { paymentId, error })
    }
  }
  return moved
}

/**
 * Lets go of slots whose quarantine is over, up to a batch; answers how many. Where a chain is followed it must have been
 * read past the release as well: a transfer mined within the quarantine is found late, not credited to the next holder.
 */
export async function releaseSlots(db: Db): Promise<number> {
  const released = await db`
    delete from slots
    where payment_id in (
      select s.payment_id
      from slots s
      join payments p on p.payment_id = s.payment_id
      left join deployments d on d.deployment = s.deployment
      where not s.is_open and s.release_at <= service_now()
        and (p.clock = 'OURS' or d.audited_time > s.release_at)
      order by s.release_at
      limit ${RELEASE_BATCH_MAX}
      for update of s skip locked
    )`
  return released.count
}
