import type { Db } from '#shared/db.ts'
import { EVENTS_CHANNEL, PAYMENTS_CHANNEL } from '#shared/events.ts'

/** Postgres refuses payloads of 8,000 bytes and more. */
const PAYLOAD_CHARACTERS_MAX = 7_500

/**
 * Tells the other processes, after a commit, that these payments moved: the relay looks for events, streams look at the
 * payments. Only a wake-up: whoever misses it finds the rows at the next poll, so a failure is no error.
 */
export async function announcePayments(db: Db, paymentIds: readonly string[]): Promise<void> {
  const payload = paymentIds.join(',')
  await db`
    select pg_notify(${EVENTS_CHANNEL}, ''),
      pg_notify(${PAYMENTS_CHANNEL}, ${payload.length <= PAYLOAD_CHARACTERS_MAX ? payload : ''})`
}

/** Tells the relay, after a commit, that there are events. Like {@link announcePayments} no more than a wake-up. */
export async function announceEvents(db: Db): Promise<void> {
  await db`select pg_notify(${EVENTS_CHANNEL}, '')`
}
