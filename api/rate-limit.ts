import type { Db } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import type { ApiDeps } from './deps.ts'

/** One caller's requests in the window that began with the first of them. */
export type RateCount = { limit: number; requestCount: number; resetSeconds: number }

/**
 * Callers who are over their limit, until their window ends. Kept by each process, so that a flood costs the database
 * nothing more once it is known.
 */
export type BlockCache = Map<string, number>

/** Seconds of a caller's window of checkouts and renewals, which are counted together (contract section 1, "Checkout rate"). */
export const CHECKOUT_WINDOW_S = 60
/** Callers remembered by a process; over it the longest-known one is asked about again. */
const BLOCKED_MAX = 10_000

/** Throws `rate_limited` for a caller already known to be over the limit; asks nobody. */
export function refuseBlocked(deps: ApiDeps, rateKey: string, limit: number): void {
  const untilMs = deps.blocked.get(rateKey)
  if (untilMs === undefined) return
  const leftMs = untilMs - deps.nowMs()
  if (leftMs > 0) failRateLimited({ limit, requestCount: limit, resetSeconds: toSeconds(leftMs) })
  deps.blocked.delete(rateKey)
}

/** Remembers a caller who is over the limit, and throws `rate_limited`. */
export function blockCaller(deps: ApiDeps, rateKey: string, count: RateCount): never {
  for (const oldest of deps.blocked.keys()) {
    if (deps.blocked.size < BLOCKED_MAX) break
    deps.blocked.delete(oldest)
  }
  deps.blocked.set(rateKey, deps.nowMs() + count.resetSeconds * 1000)
  return failRateLimited(count)
}

/**
 * Counts a request of `rateKey` (`signup:203.0.113.7`) and throws `rate_limited` when it is one too many in the
 * window. `headers` get how many are left.
 */
export async function limitRate(
  deps: ApiDeps,
  headers: Record<string, string>,
  rateKey: string,
  { limit, windowSeconds }: { limit: number; windowSeconds: number },
): Promise<void> {
  refuseBlocked(deps, rateKey, limit)
  const count = { limit, ...(await countRequest(deps.db, rateKey, windowSeconds)) }
  if (count.requestCount > limit) blockCaller(deps, rateKey, count)
  Object.assign(headers, rateHeaders(count))
}

/** `RateLimit-Limit`, `-Remaining` and `-Reset` (seconds). */
export function rateHeaders(count: RateCount): Record<string, string> {
  return {
    'RateLimit-Limit': String(count.limit),
    'RateLimit-Remaining': String(Math.max(0, count.limit - count.requestCount)),
    'RateLimit-Reset': String(count.resetSeconds),
  }
}

async function countRequest(
  db: Db,
  rateKey: string,
  windowSeconds: number,
): Promise<{ requestCount: number; resetSeconds: number }> {
  const [row] = await db<{ requestCount: number; resetSeconds: number }[]>`
    select request_count, reset_seconds from count_request(${rateKey}, ${windowSeconds})`
  if (row === undefined) throw new Error('count_request answered no row')
  return row
}

function failRateLimited(count: RateCount): never {
  return fail('rate_limited', {
    retryAfterSeconds: count.resetSeconds,
    headers: rateHeaders({ ...count, requestCount: count.limit }),
  })
}

function toSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
