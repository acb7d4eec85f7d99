/** Posts on their way at once in one process, a count. */
export const IN_FLIGHT_MAX = 1_000
/** Posts on their way to one endpoint at once, a count. The first to an unknown endpoint goes alone. */
export const LANE_IN_FLIGHT_MAX = 8
/** Timeouts in a row after which an endpoint is slow, and gets one post at a time. */
export const SLOW_AFTER_TIMEOUTS = 3
/** Of the posts on their way, how many may be to slow endpoints: the rest is kept for the others. */
export const SLOW_IN_FLIGHT_MAX = 500
/** Slow endpoints remembered, a count; beyond it the longest known are forgotten and prove themselves anew. */
export const SLOW_LANE_COUNT_MAX = 50_000
/** Endpoints remembered to have answered, a count; beyond it all must prove themselves anew. */
export const PROVEN_COUNT_MAX = 50_000

/** How a turn ended: no answer in time, anything else that the endpoint did, or it was not asked at all. */
export type Outcome = 'timeout' | 'other' | 'unasked'

/**
 * Shares the posts that may be on their way among endpoints: each has a lane, lanes take turns. An
 * endpoint that does not answer holds few places, and all such endpoints together at most half.
 * Holds items only; posting them and telling the outcome is the caller's.
 */
export type Lanes<Item> = {
  /** Puts an item at the end of its endpoint's lane. */
  add(laneKey: string, item: Item): void
  /** The next item that may be posted now; null when there is none. `finish` must follow. */
  take(): { laneKey: string; item: Item } | null
  /** An item taken from this lane is done. A timeout counts towards slowness, anything else that the endpoint did ends it. */
  finish(laneKey: string, outcome: Outcome): void
  /** Takes out every waiting item for which this holds. */
  withdraw(isUnwanted: (item: Item) => boolean): Item[]
  waitingCount(): number
  /** Lanes of endpoints that answer, with something to post that only waits for its turn, a count. */
  readyCount(): number
  inFlightCount(): number
  isSlow(laneKey: string): boolean
  /** Keys of the slow endpoints. */
  slowKeys(): string[]
}

type Lane<Item> = {
  readonly key: string
  waiting: Item[]
  inFlightCount: number
  timeoutStreak: number
  isSlow: boolean
  /** Whether its endpoint has answered: until then one gets one place, so that a crowd of dead endpoints cannot take all
   * places at once. */
  isProven: boolean
  /** Whether it stands in one of the two rows of lanes that may go on. */
  isListed: boolean
  /** The one that stands behind it there. */
  next: Lane<Item> | null
}

/** Lanes one behind the other: an array that is taken from at its front moves all its thousand lanes up. */
type Row<Item> = { first: Lane<Item> | null; last: Lane<Item> | null; count: number }

type State<Item> = {
  readonly lanes: Map<string, Lane<Item>>
  /** Those longest known first. */
  readonly slow: Set<Lane<Item>>
  provenCount: number
  /** Lanes with something to post and a place to post it, by turn. */
  readonly ready: Row<Item>
  readonly readySlow: Row<Item>
  waitingCount: number
  inFlightCount: number
  slowInFlightCount: number
}

/** Makes empty lanes. The bounds are the constants of this file unless told otherwise. */
export function createLanes<Item>(
  bounds: { inFlightMax?: number; slowInFlightMax?: number } = {},
): Lanes<Item> {
  const inFlightMax = bounds.inFlightMax ?? IN_FLIGHT_MAX
  const slowInFlightMax = bounds.slowInFlightMax ?? SLOW_IN_FLIGHT_MAX
  const state: State<Item> = {
    lanes: new Map(),
    slow: new Set(),
    provenCount: 0,
    ready: { first: null, last: null, count: 0 },
    readySlow: { first: null, last: null, count: 0 },
    waitingCount: 0,
    inFlightCount: 0,
    slowInFlightCount: 0,
  }
  return {
    add(laneKey, item) {
      const lane = state.lanes.get(laneKey) ?? openLane(state, laneKey)
      lane.waiting.push(item)
      state.waitingCount += 1
      list(state, lane)
    },
    take() {
      if (state.inFlightCount >= inFlightMax) return null
      const lane =
        nextLane(state, state.ready, false) ??
        (state.slowInFlightCount < slowInFlightMax
          ? nextLane(state, state.readySlow, true)
          : null) ??
        // Looking through the slow ones may have found some that recovered.
        nextLane(state, state.ready, false)
      const item = lane?.waiting.shift()
      if (lane === null || item === undefined) return null
      lane.inFlightCount += 1
      state.waitingCount -= 1
      state.inFlightCount += 1
      if (lane.isSlow) state.slowInFlightCount += 1
      list(state, lane)
      return { laneKey: lane.key, item }
    },
    finish(laneKey, outcome) {
      const lane = state.lanes.get(laneKey)
      if (lane === undefined) return
      lane.inFlightCount -= 1
      state.inFlightCount -= 1
      if (lane.isSlow) state.slowInFlightCount -= 1
      if (outcome === 'timeout') lane.timeoutStreak += 1
      if (outcome === 'other') {
        lane.timeoutStreak = 0
        prove(state, lane)
      }
      setSlow(state, lane, lane.timeoutStreak >= SLOW_AFTER_TIMEOUTS)
      list(state, lane)
      closeIfIdle(state, lane)
    },
    withdraw(isUnwanted) {
      const withdrawn: Item[] = []
      for (const lane of state.lanes.values()) {
        if (lane.waiting.length === 0) continue
        const kept: Item[] = []
        for (const item of lane.waiting) (isUnwanted(item) ? withdrawn : kept).push(item)
        lane.waiting = kept
        closeIfIdle(state, lane)
      }
      state.waitingCount -= withdrawn.length
      return withdrawn
    },
    waitingCount: () => state.waitingCount,
    readyCount: () => state.ready.count,
    inFlightCount: () => state.inFlightCount,
    isSlow: (laneKey) => state.lanes.get(laneKey)?.isSlow ?? false,
    slowKeys: () => Array.from(state.slow, (lane) => lane.key),
  }
}

function openLane<Item>(state: State<Item>, key: string): Lane<Item> {
  const lane: Lane<Item> = {
    key,
    waiting: [],
    inFlightCount: 0,
    timeoutStreak: 0,
    isSlow: false,
    isProven: false,
    isListed: false,
    next: null,
  }
  state.lanes.set(key, lane)
  return lane
}

function mayGoOn(lane: Lane<unknown>): boolean {
  return lane.waiting.length > 0 && lane.inFlightCount < (lane.isProven ? LANE_IN_FLIGHT_MAX : 1)
}

/** Puts a lane into the row it belongs to, at the end, unless it stands in one. */
function list<Item>(state: State<Item>, lane: Lane<Item>): void {
  if (lane.isListed || !mayGoOn(lane)) return
  lane.isListed = true
  const row = lane.isSlow ? state.readySlow : state.ready
  if (row.last === null) row.first = lane
  else row.last.next = lane
  row.last = lane
  row.count += 1
}

/** Takes the first lane of a row that still belongs there. */
function nextLane<Item>(state: State<Item>, row: Row<Item>, isSlowRow: boolean): Lane<Item> | null {
  for (let lane = row.first; lane !== null; lane = row.first) {
    row.first = lane.next
    if (row.first === null) row.last = null
    row.count -= 1
    lane.next = null
    lane.isListed = false
    if (!mayGoOn(lane)) continue
    if (lane.isSlow === isSlowRow) return lane
    list(state, lane)
  }
  return null
}

function prove<Item>(state: State<Item>, lane: Lane<Item>): void {
  if (lane.isProven) return
  lane.isProven = true
  state.provenCount += 1
  if (state.provenCount <= PROVEN_COUNT_MAX) return
  for (const other of state.lanes.values()) {
    if (other === lane) continue
    unprove(state, other)
    closeIfIdle(state, other)
  }
}

function unprove<Item>(state: State<Item>, lane: Lane<Item>): void {
  if (lane.isProven) state.provenCount -= 1
  lane.isProven = false
}

function setSlow<Item>(state: State<Item>, lane: Lane<Item>, isSlow: boolean): void {
  if (isSlow === lane.isSlow) return
  lane.isSlow = isSlow
  if (isSlow) {
    unprove(state, lane)
    state.slow.add(lane)
    state.slowInFlightCount += lane.inFlightCount
    if (state.slow.size > SLOW_LANE_COUNT_MAX) forgetOldest(state, lane)
  } else {
    state.slow.delete(lane)
    state.slowInFlightCount -= lane.inFlightCount
  }
}

function forgetOldest<Item>(state: State<Item>, except: Lane<Item>): void {
  for (const lane of state.slow) {
    if (lane === except || lane.inFlightCount > 0) continue
    lane.timeoutStreak = 0
    setSlow(state, lane, false)
    closeIfIdle(state, lane)
    return
  }
}

/** A lane that has nothing to remember is dropped, so that memory follows work and not history. */
function closeIfIdle<Item>(state: State<Item>, lane: Lane<Item>): void {
  if (lane.waiting.length > 0 || lane.inFlightCount > 0) return
  if (lane.timeoutStreak === 0 && !lane.isProven) state.lanes.delete(lane.key)
}
