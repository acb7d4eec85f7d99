import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { PaymentReading } from '#shared/payments/row.ts'
import { RECHECK_KIND, REQUESTS_CHANNEL } from '#shared/requests.ts'

/** Asks indexers to look at the chain sooner than they would. */
export type Rechecks = {
  /** Asks for one on the payment's behalf when it is open, followed by a chain, and not asked for lately. Never waits. */
  ask(payment: Pick<PaymentReading, 'paymentId' | 'deployment' | 'status' | 'clock'>): void
}

/** Milliseconds between two checks on behalf of one payment (spec section 8). */
const PAYMENT_EVERY_MS = 12_000
/** Milliseconds between two checks of one deployment: a check serves all of its payments. */
const DEPLOYMENT_EVERY_MS = 1_000
/** Payments remembered; over it the longest-known one may be asked for again. */
const REMEMBERED_MAX = 50_000

/** Bounds are per process: what they let through once too often costs one row, and a row asks once while it is open. */
export function createRechecks(ports: { db: Db; log: Log; nowMs: () => number }): Rechecks {
  const askedMs = new Map<string, number>()
  const deploymentAskedMs = new Map<string, number>()
  return {
    ask({ paymentId, deployment, status, clock }) {
      if (clock !== 'CHAIN' || (status !== 'PENDING' && status !== 'DETECTED')) return
      const nowMs = ports.nowMs()
      if (isWithin(askedMs.get(paymentId), nowMs, PAYMENT_EVERY_MS)) return
      remember(askedMs, paymentId, nowMs)
      if (isWithin(deploymentAskedMs.get(deployment), nowMs, DEPLOYMENT_EVERY_MS)) return
      deploymentAskedMs.set(deployment, nowMs)
      insertRequest(ports.db, deployment).catch((error: unknown) => {
        ports.log.debug('a fresh check could not be asked for', { cause: error })
      })
    },
  }
}

function isWithin(thenMs: number | undefined, nowMs: number, everyMs: number): boolean {
  return thenMs !== undefined && nowMs - thenMs < everyMs
}

function remember(askedMs: Map<string, number>, paymentId: string, nowMs: number): void {
  askedMs.delete(paymentId)
  askedMs.set(paymentId, nowMs)
  if (askedMs.size <= REMEMBERED_MAX) return
  for (const oldest of askedMs.keys()) {
    askedMs.delete(oldest)
    return
  }
}

async function insertRequest(db: Db, deployment: string): Promise<void> {
  await db`
    with asked as (
      insert into requests (request_id, kind, subject)
      values (${newId('req')}, ${RECHECK_KIND}, ${deployment})
      on conflict (kind, subject) where done_at is null do nothing
      returning subject
    )
    select pg_notify(${REQUESTS_CHANNEL}, subject) from asked`
}
