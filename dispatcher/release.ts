/** Least time between two looks for waiting deliveries of a store, in milliseconds. */
export const RELEASE_LOOK_MS = 1_000
/** Wait after a release before the next one of the same store; doubles with each in a row. */
export const RELEASE_GAP_MS = 10_000
/** Longest such wait, in milliseconds. */
export const RELEASE_GAP_MS_MAX = 3_600_000
/** Deliveries released in one transaction, a count: some 50 ms, where a day's arrears at once would
 * outlast the deadline of a statement, and the success that released them were never recorded. */
export const RELEASE_COUNT_MAX = 2_000
/** Stores remembered, a count. */
const GATE_COUNT_MAX = 50_000
/** Before every delivery's time. */
const BEGINNING = '-infinity'

/** A store whose waiting deliveries are to be released, and from which time of the schedule on. */
export type Release = {
  readonly storeId: string
  /** As Postgres writes it, with its microseconds. */
  readonly from: string
}

/** What was released of a store: how many, and the latest time of the schedule among them. */
export type Released = { readonly storeId: string; readonly count: number; readonly until: string }

/**
 * Decides which stores' waiting deliveries a success makes due at once. A success that follows
 * failures should release them, every time, whichever process saw the failures: so each success asks
 * the database, at most once a second. But an endpoint that takes all events except one would have
 * that one sent again at every success: so releases of one store keep a growing distance. A release of
 * very many is done in parts, along the schedule: each success goes on where the last one ended.
 */
export type ReleaseGate = {
  /** Of these stores, the ones to release now. */
  due(storeIds: readonly string[], nowMs: number): Release[]
  /** What the release of those found, where none of them got more than `countMax`. */
  released(
    asked: readonly Release[],
    found: readonly Released[],
    countMax: number,
    nowMs: number,
  ): void
}

/** Makes a gate that has seen nothing. Times are milliseconds of any one clock. */
export function createReleaseGate(): ReleaseGate {
  const gates = new Map<string, { openAtMs: number; step: number; from: string }>()
  return {
    due: (storeIds, nowMs) =>
      storeIds
        .filter((storeId) => nowMs >= (gates.get(storeId)?.openAtMs ?? 0))
        .map((storeId) => ({ storeId, from: gates.get(storeId)?.from ?? BEGINNING })),
    released(asked, found, countMax, nowMs) {
      const parts = new Map(found.map((part) => [part.storeId, part]))
      for (const { storeId, from } of asked) {
        const part = parts.get(storeId)
        const step = gates.get(storeId)?.step ?? 0
        // Set anew, it stands last: the first ones are those longest unused.
        gates.delete(storeId)
        if (part !== undefined && part.count >= countMax) {
          gates.set(storeId, { openAtMs: nowMs, step, from: part.until })
        } else {
          const wasReleased = part !== undefined || from !== BEGINNING
          gates.set(storeId, closed(wasReleased ? step + 1 : 0, nowMs))
        }
      }
      for (const storeId of gates.keys()) {
        if (gates.size <= GATE_COUNT_MAX) break
        gates.delete(storeId)
      }
    },
  }
}

/** A gate after so many releases in a row, none for a look that found nothing. */
function closed(step: number, nowMs: number) {
  const gapMs =
    step === 0 ? RELEASE_LOOK_MS : Math.min(RELEASE_GAP_MS * 2 ** (step - 1), RELEASE_GAP_MS_MAX)
  return { openAtMs: nowMs + gapMs, step, from: BEGINNING }
}
