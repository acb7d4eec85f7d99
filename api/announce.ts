import { announcePayments } from '#shared/wake.ts'
import type { ApiDeps } from './deps.ts'

/**
 * Wakes relay and streams after a commit, without making the caller wait. Should it fail they find the rows at their next
 * poll.
 */
export function announce(deps: ApiDeps, paymentIds: readonly string[]): void {
  announcePayments(deps.db, paymentIds).catch((error: unknown) => {
    deps.log.debug('a wake-up was not sent', { cause: error })
  })
}
