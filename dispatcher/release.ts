/** Least time between two looks for waiting deliveries of a store, in milliseconds. */
export const RELEASE_LOOK_MS = 1_000
/** Wait after a release before the next one of the same store; doubles with each in a row. */
export const RELEASE_GAP_MS = 10_000
/** Longest such wait, in milliseconds. */
export const RELEASE_GAP_MS_MAX = 3_600_000
/** Stores remembered, a count. */
const GATE_COUNT_MAX = 50_000

/**
 * Decides which stores' waiting deliveries a success makes due at once. A success that follows
 * failures should release them, every time, whichever process saw the failures: so each success asks
 * the database, at most once a second. But an endpoint that takes all events except one would have
 * that one sent again at every success: so releases of one store keep a growing distance.
 */
export type ReleaseGate = {
  /** Of these stores, the ones to release now. */
  due(storeIds: readonly string[], nowMs: number): string[]
  /** What the release of those found: number of deliveries by store, absent for none. */
  released(storeIds: readonly string[], counts: ReadonlyMap<string, number>, nowMs: number): void
}

/** Makes a gate that has seen nothing. Times are milliseconds of any one clock. */
export function createReleaseGate(): ReleaseGate {
  const gates = new Map<string, { openAtMs: number; step: number }>()
  return {
    due: (storeIds, nowMs) =>
      storeIds.filter((storeId) => nowMs >= (gates.get(storeId)?.openAtMs ?? 0)),
    released(storeIds, counts, nowMs) {
      for (const storeId of storeIds) {
        const wasReleased = (counts.get(storeId) ?? 0) > 0
        const step = wasReleased ? (gates.get(storeId)?.step ?? 0) + 1 : 0
        const gapMs = wasReleased
          ? Math.min(RELEASE_GAP_MS * 2 ** (step - 1), RELEASE_GAP_MS_MAX)
          : RELEASE_LOOK_MS
        // Set anew, it stands last: the first ones are those longest unused.
        gates.delete(storeId)
        gates.set(storeId, { openAtMs: nowMs + gapMs, step })
      }
      for (const storeId of gates.keys()) {
        if (gates.size <= GATE_COUNT_MAX) break
        gates.delete(storeId)
      }
    },
  }
}
