import type { Tx } from '#shared/db.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import { lockPayments } from '#shared/payments/queries.ts'
import { closeWindows } from '#shared/payments/service.ts'
import { lockSubscription, readClosedWindows, writeClock } from '#shared/subscriptions/queries.ts'
import { runUntil } from '#shared/subscriptions/service.ts'

/** What came of moving a clock: `past` when it shows a later time already. */
export type Advanced = 'advanced' | 'past' | 'unknown'

/**
 * Moves a test subscription's clock to a time and does everything that falls due on the way, in order. While it was never
 * paid that is the end of its first payment's window. The clock runs on from there; everybody else's is left alone.
 * Throws a `ServiceError` only as the payment door does.
 */
export async function advanceSubscription(
  tx: Tx,
  subscriptionId: string,
  to: Date,
  settings: DoorSettings,
): Promise<Advanced> {
  // Payments are locked before their subscription, here as everywhere.
  const windows = await lockPayments(tx, await readClosedWindows(tx, subscriptionId, to))
  const before = await lockSubscription(tx, subscriptionId)
  if (before === undefined || before.mode !== 'test') return 'unknown'
  if (to < before.now) return 'past'
  await closeWindows(tx, [...windows.values()], settings)
  const subscription = (await lockSubscription(tx, subscriptionId)) ?? before
  await runUntil(tx, subscription, to, settings.subscriptions)
  await writeClock(tx, subscriptionId, to)
  return 'advanced'
}
