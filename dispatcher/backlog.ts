import type { Rooms } from './queries.ts'
import { STORE_WINDOW_MAX, WIDE_STORE_WINDOW_MAX } from './relay.ts'

/** A wide window is filled again when so many are left in hand, a count: a look at it costs the same however few are new. */
const REFILL_BELOW = WIDE_STORE_WINDOW_MAX / 2

/** In hand of a store with a backlog, a count: beside its window as many first attempts, which need not wait until what is
 * late has been worked off. */
const BACKLOGGED_IN_HAND_MAX = 2 * WIDE_STORE_WINDOW_MAX

/** Stores whose room is told one by one, a count; of more, none has room: the promotion looks at each. */
const BUSY_COUNT_MAX = 5_000

/**
 * What this process believes of the stores' work in hand: about how many deliveries of each it has
 * queued and not yet seen the end of, and which stores have more due than their window shows. Other
 * processes may take and end deliveries unseen, so counts are forgotten once their promotions are over:
 * a wrong one costs a look at the database, or lets a few more into the queue.
 */
export type Backlog = {
  /** So many deliveries of each store went into the queue. */
  queued(counts: ReadonlyMap<string, number>): void
  /** A delivery of each of these stores ended its attempt; a store named twice had two. */
  ended(storeIds: readonly string[]): void
  /** More of these stores may be due than is known. */
  suspect(storeIds: readonly string[]): void
  /** How many deliveries of each store may be queued without a look at what it has waiting. */
  rooms(): Rooms
  /** Stores with a backlog: their window is wide. */
  storeIds(): string[]
  /** Takes the stores whose window should be filled again. */
  takeRefill(): string[]
  /** Whether `takeRefill` would give any. */
  needsRefill(): boolean
  /** What filling their windows queued: stores it queued nothing of, and of which little is in hand, have no backlog. */
  refilled(asked: readonly string[], counts: ReadonlyMap<string, number>): void
}

/** Makes a backlog in which nothing is in hand. */
export function createBacklog(deps: {
  readonly forgetAfterMs: number
  readonly monotonicMs: () => number
  readonly isSlow: (storeId: string) => boolean
  readonly slowStoreIds: () => readonly string[]
}): Backlog {
  const inHand = new Map<string, number>()
  const backlogged = new Set<string>()
  const toRefill = new Set<string>()
  let forgetAtMs = deps.monotonicMs() + deps.forgetAfterMs

  function forgetOld(): void {
    const nowMs = deps.monotonicMs()
    if (nowMs < forgetAtMs) return
    inHand.clear()
    forgetAtMs = nowMs + deps.forgetAfterMs
  }
  function add(storeId: string, count: number): number {
    const sum = (inHand.get(storeId) ?? 0) + count
    if (sum > 0) inHand.set(storeId, sum)
    else inHand.delete(storeId)
    return sum
  }
  function queued(counts: ReadonlyMap<string, number>): void {
    forgetOld()
    for (const [storeId, count] of counts) {
      const isFull = add(storeId, count) >= STORE_WINDOW_MAX
      if (isFull && !deps.isSlow(storeId)) backlogged.add(storeId)
    }
  }
  return {
    queued,
    ended(storeIds) {
      forgetOld()
      for (const storeId of storeIds) {
        const left = add(storeId, -1)
        if (backlogged.has(storeId) && left <= REFILL_BELOW) toRefill.add(storeId)
      }
    },
    suspect(storeIds) {
      for (const storeId of storeIds) toRefill.add(storeId)
    },
    rooms() {
      const rooms = new Map<string, number>()
      for (const [storeId, count] of inHand) {
        const inHandMax = backlogged.has(storeId) ? BACKLOGGED_IN_HAND_MAX : STORE_WINDOW_MAX
        rooms.set(storeId, Math.min(STORE_WINDOW_MAX, Math.max(0, inHandMax - count)))
      }
      for (const storeId of deps.slowStoreIds()) rooms.set(storeId, 0)
      if (rooms.size > BUSY_COUNT_MAX) return { roomCount: 0, others: {} }
      return { roomCount: STORE_WINDOW_MAX, others: Object.fromEntries(rooms) }
    },
    storeIds: () => [...backlogged],
    takeRefill() {
      const storeIds = [...toRefill]
      toRefill.clear()
      return storeIds
    },
    needsRefill: () => toRefill.size > 0,
    refilled(asked, counts) {
      for (const storeId of asked) {
        // With a window in hand there was nothing to add: whether more waits behind it was not seen.
        const isShown = (inHand.get(storeId) ?? 0) < STORE_WINDOW_MAX
        if (isShown && !counts.has(storeId)) backlogged.delete(storeId)
      }
      queued(counts)
    },
  }
}
