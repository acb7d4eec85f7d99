import { type Db, isUnavailable, type Tx, withTransaction } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import {
  deferSubscription,
  lockDueSubscriptions,
  lockSubscription,
} from '#shared/subscriptions/queries.ts'
import { runDue } from '#shared/subscriptions/service.ts'
import { announceEvents } from '#shared/wake.ts'

/** Subscriptions in one transaction, a count: some tens of milliseconds of one connection. */
export const REMIND_BATCH_MAX = 50
/**
 * Milliseconds between two batches: with it hundreds of subscriptions a second fall due at most, so that an hour's
 * 100,000 leave the database and the relay to deliveries most of the time.
 */
export const REMIND_PAUSE_MS = 50
/** Milliseconds after which a subscription is tried again whose step failed. */
const DEFER_MS = 600_000

/**
 * Does what has fallen due in subscriptions: reminders, due dates, the end of grace; up to a batch. What was missed while
 * nothing ran is done now, reminders as one. Answers how many subscriptions were looked at.
 */
export async function remindSubscriptions(deps: {
  readonly db: Db
  readonly door: DoorSettings
  readonly log: Log
}): Promise<{ rowCount: number }> {
  const rowCount = await withTransaction(deps.db, async (tx) => {
    const ids = await lockDueSubscriptions(tx, REMIND_BATCH_MAX)
    for (const subscriptionId of ids) await remindOne(deps, tx, subscriptionId)
    return ids.length
  })
  if (rowCount > 0) await announceEvents(deps.db)
  return { rowCount }
}

/** One that cannot be moved must not hold up the others. */
async function remindOne(
  { door, log }: { readonly door: DoorSettings; readonly log: Log },
  tx: Tx,
  subscriptionId: string,
): Promise<void> {
  try {
    await tx.savepoint(async (inner) => {
      const locked = await lockSubscription(inner as Tx, subscriptionId)
      if (locked !== undefined) await runDue(inner as Tx, locked, door.subscriptions)
    })
  } catch (error) {
    if (isUnavailable(error)) throw error
    log.error('a subscription cannot be moved, trying again later', { subscriptionId, error })
    await deferSubscription(tx, subscriptionId, DEFER_MS)
  }
}
