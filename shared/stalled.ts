/**
 * Milliseconds without a new head after which a chain counts as stalled. With the 5 s for which shown numbers may be old
 * it is visible everywhere within 30 s.
 */
const STALLED_AFTER_MS = 25_000
/** Where blocks come so slowly that this takes longer: two blocks' time. */
const STALLED_AFTER_BLOCKS = 2

/** Milliseconds without a new head after which a chain whose blocks are this far apart counts as stalled. */
export function stalledAfterMs(blockTimeMs: number): number {
  return Math.max(STALLED_AFTER_MS, STALLED_AFTER_BLOCKS * blockTimeMs)
}
