import type { WakeReason } from './drivers/driver.ts'
import type { FollowDeps } from './place.ts'
import { readIsOpen } from './recipients.ts'

/** How often a leader looks: at once when it rings and somebody waits, thriftily when nobody does. */
export type Pace = {
  /** For the driver's doorbell. */
  ring(reason: WakeReason): void
  /** Spares calls from now on, until somebody waits: then everything goes on at once. Or no longer. */
  spare(isSparing: boolean): void
  /** Returns when the next pass is due, or `isStopped`. */
  rest(pass: { isBehind: boolean }, isStopped: () => boolean): Promise<void>
  stop(): void
}

/** Milliseconds between looks at the head when the doorbell works, and when it does not. */
const POLL_MS = 4_000
const POLL_WITHOUT_SOCKET_MS = 1_000
/** Chains with faster blocks are looked at once in this many milliseconds. */
const PASS_MS_MIN = 1_000
/** The same while calls are spared: well below what makes a head look stalled, though a pass may take longer than this then. */
const POLL_SPARING_MS = 8_000
/** Milliseconds between two looks, in the database, whether somebody waits now. */
const SPARING_LOOK_MS = 1_000

/**
 * With nobody waiting on a deployment its calls are spared, however its blocks come. A new payment ends that within
 * {@link SPARING_LOOK_MS}, in the middle of a pass too, long before its transfer can be mined and deep.
 */
export function createPace({ driver, doorbell, deployment, db, log, nowMs }: FollowDeps): Pace {
  const isFast = deployment.blockTimeMs < PASS_MS_MIN
  let startedAtMs = nowMs()
  let timer: ReturnType<typeof setInterval> | undefined
  let isLooking = false

  const spare = (isSparing: boolean) => {
    driver.spare(isSparing)
    if (isSparing) timer ??= setInterval(() => void look(), SPARING_LOOK_MS)
    else clearInterval(timer)
    if (!isSparing) timer = undefined
  }
  const look = async () => {
    if (isLooking) return
    isLooking = true
    try {
      const isOpen = await readIsOpen(db, deployment.deployment)
      if (!isOpen || !timer) return
      spare(false)
      doorbell.ring()
    } catch (error) {
      log.debug('cannot see whether anybody waits; the next pass meets the same', { error })
    } finally {
      isLooking = false
    }
  }
  return {
    ring(reason) {
      if (!isFast || reason !== 'head') doorbell.ring()
    },
    spare,
    async rest({ isBehind }, isStopped) {
      const dueAtMs = startedAtMs + POLL_SPARING_MS
      if (timer) {
        // Heads ring here too; they are no reason to look now.
        while (timer && !isStopped() && nowMs() < dueAtMs) await doorbell.wait(dueAtMs - nowMs())
      } else if (!isBehind) {
        const pollMs = driver.health().socketAlive ? POLL_MS : POLL_WITHOUT_SOCKET_MS
        await doorbell.wait(isFast ? PASS_MS_MIN : pollMs)
      }
      startedAtMs = nowMs()
    },
    stop: () => spare(false),
  }
}
