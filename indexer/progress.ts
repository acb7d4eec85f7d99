import type { Log } from '#shared/log.ts'

/** How a catch-up goes, told now and then instead of with every range. */
export type Progress = {
  /** Notes where the cursor is; answers the rate in blocks per second when it was told, else undefined. */
  note(block: number, behind: number): number | undefined
}

/** Milliseconds between two lines about a catch-up. */
const TELL_EVERY_MS = 5_000

export function createProgress({ nowMs, log }: { nowMs(): number; log: Log }): Progress {
  let since: { atMs: number; block: number } | undefined
  return {
    note(block, behind) {
      const now = nowMs()
      since ??= { atMs: now, block }
      const elapsedMs = now - since.atMs
      if (elapsedMs < TELL_EVERY_MS) return undefined
      const blocksPerSecond = ((block - since.block) * 1_000) / elapsedMs
      since = { atMs: now, block }
      const etaSeconds = blocksPerSecond > 0 ? Math.ceil(behind / blocksPerSecond) : undefined
      const rate = Math.round(blocksPerSecond * 10) / 10
      log.info('catching up', {
        ...{ block, behind, blocksPerSecond: rate },
        ...(etaSeconds === undefined ? {} : { etaSeconds }),
      })
      return blocksPerSecond
    },
  }
}
