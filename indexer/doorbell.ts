/** Wakes one sleeper. A ring while nobody sleeps is kept for the next sleep, so that none is lost. */
export type Doorbell = {
  ring(): void
  /** Resolves at the next ring, or after `timeoutMs`: whether it rang. */
  wait(timeoutMs: number): Promise<boolean>
}

export function createDoorbell(): Doorbell {
  let hasRung = false
  let wakeUp: (() => void) | undefined
  return {
    ring() {
      hasRung = true
      wakeUp?.()
    },
    async wait(timeoutMs) {
      if (!hasRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs)
          wakeUp = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        wakeUp = undefined
      }
      const isRung = hasRung
      hasRung = false
      return isRung
    },
  }
}
