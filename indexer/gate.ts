/** What calls to a deployment's nodes pass one after the other: at once, or, while it spares them, as a budget allows. */
export type Gate = {
  readonly isSparing: boolean
  /** Spares calls from now on; or no longer, and then those that wait pass at once. */
  spare(isSparing: boolean): void
  /** How many of so many calls that belong together may be made at once. */
  take(count: number): number
  /** Resolves when it is the turn of so many calls, or `signal` is aborted. */
  pass(count: number, signal: AbortSignal): Promise<void>
}

/** Milliseconds that pay for one call while calls are spared. */
const MS_PER_CALL = 1_400
/**
 * Calls made at once while calls are spared: a range's logs go with the headers of its ends. With what a call costs, no eleven
 * seconds see more calls than seconds.
 */
const CALLS_AT_ONCE = 3

/** A gate that is open, by a clock in milliseconds. Calls are paid before they are made, in the order in which they came. */
export function createGate(nowMs: () => number = () => performance.now()): Gate {
  let isSparing = false
  /** Time up to here is spent; later than now when calls wait. */
  let spentToMs = 0
  const waiting = new Set<() => void>()
  return {
    get isSparing() {
      return isSparing
    },
    spare(next) {
      if (next && !isSparing) spentToMs = nowMs()
      isSparing = next
      if (!next) for (const go of waiting) go()
    },
    take: (count) => (isSparing ? Math.min(count, CALLS_AT_ONCE) : count),
    async pass(count, signal) {
      if (!isSparing) return
      const now = nowMs()
      // Of the time in which nothing was asked, what pays for the next calls is kept, and no more.
      spentToMs = Math.max(spentToMs, now - CALLS_AT_ONCE * MS_PER_CALL) + count * MS_PER_CALL
      const waitMs = spentToMs - now
      if (waitMs <= 0 || signal.aborted) return
      await new Promise<void>((resolve) => {
        const go = () => {
          clearTimeout(timer)
          waiting.delete(go)
          signal.removeEventListener('abort', go)
          resolve()
        }
        const timer = setTimeout(go, waitMs)
        waiting.add(go)
        signal.addEventListener('abort', go)
      })
    },
  }
}
