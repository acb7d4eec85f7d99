/** Milliseconds, or less when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
  })
}

/** A bell that one loop waits at. Rung while nobody waits, it is heard at the next wait. */
export type Bell = {
  ring(): void
  /** Resolves when it rings, after so many milliseconds, or when the signal fires. Answers whether it rang. */
  wait(timeoutMs: number, signal: AbortSignal): Promise<boolean>
}

/** Makes a bell. */
export function createBell(): Bell {
  let hasRung = false
  let wake: (() => void) | null = null
  return {
    ring() {
      hasRung = true
      wake?.()
    },
    async wait(timeoutMs, signal) {
      if (!hasRung && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const finish = () => {
            clearTimeout(timer)
            signal.removeEventListener('abort', finish)
            wake = null
            resolve()
          }
          const timer = setTimeout(finish, timeoutMs)
          signal.addEventListener('abort', finish)
          wake = finish
        })
      }
      const wasRung = hasRung
      hasRung = false
      return wasRung
    },
  }
}
