import { readIsOpen } from './cursor.ts'
import type { WakeReason } from './drivers/driver.ts'
import type { FollowDeps } from './place.ts'

/** How often a leader looks: at once when it rings and somebody waits, thriftily when nobody does. */
export type Pace = {
  /** For the driver's doorbell. */
  ring(reason: WakeReason): void
  /** Returns when the next pass is due, or `isStopped`. */
  rest(pass: { isIdle: boolean; isBehind: boolean }, isStopped: () => boolean): Promise<void>
}

/** Milliseconds between looks at the head when the doorbell works, and when it does not. */
const POLL_MS = 4_000
const POLL_WITHOUT_SOCKET_MS = 1_000
/** Chains with faster blocks are looked at once in this many milliseconds. */
const PASS_MS_MIN = 1_000
/**
 * With nobody waiting, milliseconds that one call is paid with: twice its share of the budget, since a pass spends its calls
 * at once and is rested off only afterwards. And the longest rest: the head must not look stalled.
 */
const IDLE_MS_PER_CALL = 2_000
const IDLE_REST_MS_MAX = 16_000
/** Milliseconds between two looks, in the database, whether somebody waits now. */
const IDLE_LOOK_MS = 1_000

/**
 * With nobody waiting on a deployment it spends at most a call a second, however its blocks come: what a pass cost is rested off.
 * A new payment ends the rest within {@link IDLE_LOOK_MS}, long before its transfer can be mined and deep.
 */
export function createPace(deps: FollowDeps): Pace {
  const { driver, doorbell, deployment, nowMs } = deps
  const isFast = deployment.blockTimeMs < PASS_MS_MIN
  let startedAtMs = nowMs()
  let callCount = driver.health().callCount
  let debtMs = 0

  const restIdle = async (untilMs: number, isStopped: () => boolean) => {
    while (!isStopped() && nowMs() < untilMs) {
      const lookAtMs = Math.min(untilMs, nowMs() + IDLE_LOOK_MS)
      // Heads ring here too; they are no reason to look now.
      while (!isStopped() && nowMs() < lookAtMs) await doorbell.wait(lookAtMs - nowMs())
      if (await readIsOpen(deps.db, deployment.deployment)) return
    }
  }
  return {
    ring(reason) {
      if (!isFast || reason !== 'head') doorbell.ring()
    },
    async rest({ isIdle, isBehind }, isStopped) {
      const calls = driver.health().callCount
      const isThrifty = isIdle && !isBehind
      debtMs = isThrifty ? debtMs + (calls - callCount) * IDLE_MS_PER_CALL : 0
      const pollMs = driver.health().socketAlive ? POLL_MS : POLL_WITHOUT_SOCKET_MS
      if (isThrifty) {
        const restMs = Math.min(IDLE_REST_MS_MAX, Math.max(pollMs, debtMs))
        await restIdle(startedAtMs + restMs, isStopped)
      } else if (!isBehind) {
        await doorbell.wait(isFast ? PASS_MS_MIN : pollMs)
      }
      debtMs = Math.max(0, debtMs - (nowMs() - startedAtMs))
      startedAtMs = nowMs()
      callCount = calls
    },
  }
}
