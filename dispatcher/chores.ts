import { withTransaction } from '#shared/db.ts'
import { requestDeadMail } from '#shared/mail-requests.ts'
import { type Bell, pause } from './bell.ts'
import type { DispatcherDeps, Timing } from './dispatcher.ts'
import { expirePayments, releaseSlots } from './expire.ts'
import { sendMails } from './mail.ts'
import type { Numbers } from './numbers.ts'
import { endParked, preferIndexes } from './queries.ts'
import { REMIND_PAUSE_MS, remindSubscriptions } from './remind.ts'
import { trimRateWindows, trimRequests } from './trim.ts'

/** Rows of one kind tidied at once, a count. */
const TIDY_BATCH_MAX = 1_000

/**
 * What a dispatcher does besides delivering, each in a loop of its own so that none waits for another: one turn of each,
 * which ends with the pause until the next.
 */
export function createChores(
  deps: DispatcherDeps,
  timing: Timing,
  { numbers, mailBell, giveBackLate }: ChoreParts,
  signal: AbortSignal,
): Readonly<Record<string, () => Promise<void>>> {
  return {
    async windows() {
      const movedCount = await expirePayments(deps)
      numbers.expired(movedCount)
      if (movedCount === 0) await pause(timing.windowMs, signal)
    },
    async subscriptions() {
      const { rowCount } = await remindSubscriptions(deps)
      if (rowCount > 0) mailBell.ring()
      await pause(rowCount === 0 ? timing.windowMs : REMIND_PAUSE_MS, signal)
    },
    async mail() {
      const { mailer } = deps
      const { publicUrl } = deps.door.subscriptions
      const isIdle =
        mailer === undefined ||
        (await sendMails({ ...deps, mailer, publicUrl }, signal)).rowCount === 0
      if (isIdle) await mailBell.wait(timing.windowMs, signal)
    },
    async tidy() {
      giveBackLate()
      await releaseSlots(deps.db)
      await pause(timing.tidyMs, signal)
    },
    async parked() {
      await withTransaction(deps.db, async (tx) => {
        await preferIndexes(tx)
        await requestDeadMail(tx, await endParked(tx, TIDY_BATCH_MAX))
      })
      await pause(timing.parkedMs, signal)
    },
    async trim() {
      const rowCount = (await trimRequests(deps.db)) + (await trimRateWindows(deps.db))
      if (rowCount === 0) await pause(timing.trimMs, signal)
    },
  }
}

type ChoreParts = {
  numbers: Numbers
  mailBell: Bell
  /** Gives back deliveries that waited too long for their endpoint. */
  giveBackLate(): void
}
