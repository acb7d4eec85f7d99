import type { Backlog } from './backlog.ts'
import { pause } from './bell.ts'
import type { Bells, Timing } from './dispatcher.ts'
import type { Fresh } from './fresh.ts'
import type { Numbers } from './numbers.ts'
import type { Pump } from './pump.ts'
import { clearWaitingEvents, hasWaitingEvents } from './queries.ts'
import {
  promoteDeliveries,
  RELAY_BATCH_MAX,
  RELAY_BATCH_MIN,
  type RelayDeps,
  relayEvents,
} from './relay.ts'

/** A look for due deliveries may take this share of the time at most: with very many stores in arrears
 * looks get rarer instead of loading the database. */
const SWEEP_SHARE_MAX = 0.1
/** Deliveries read and not yet begun with which relays are ahead of the posting, a count. */
const RELAYED_AHEAD_MAX = RELAY_BATCH_MAX
/** A relay that is ahead waits for the posting so long at most and looks so often, in milliseconds: what is read too early
 * has to be read again, at a third of what a delivery costs. */
const AHEAD_WAIT_MS_MAX = 100
const AHEAD_LOOK_MS = 20

/** Events relayed until the rows on which they waited are cleared away, a count: each look for waiting ones passes over them, and
 * Postgres's own vacuum comes once a minute, when there may be a third of a million. */
export const CLEARED_AFTER_COUNT = 20_000

/** What relaying moves in this process. */
export type RelayParts = {
  readonly relayDeps: RelayDeps
  readonly backlog: Backlog
  readonly fresh: Fresh
  readonly numbers: Numbers
  readonly bells: Bells
  readonly pump: Pump
}

/** What a step of the relay did: how many events, and whether they were as many as it takes at once. */
type RelayStep = { readonly eventCount: number; readonly isFull: boolean }

const NOTHING_RELAYED: RelayStep = { eventCount: 0, isFull: false }

/**
 * What relays events and queues deliveries, each in a loop of its own: one turn of each, which ends with the wait until the
 * next.
 *
 * @param onLooked called whenever the database has told what waits
 */
export function createRelayTurns(
  parts: RelayParts,
  timing: Timing,
  signal: AbortSignal,
  onLooked: () => void,
): Readonly<Record<string, () => Promise<void>>> {
  const { relayDeps, backlog, fresh, bells } = parts
  const { monotonicMs } = relayDeps
  let isRung = true
  let isCrowded = false
  let relaySize = RELAY_BATCH_MIN
  let unclearedCount = 0
  const isAhead = () => fresh.count() > RELAYED_AHEAD_MAX
  async function letPostsCatchUp(): Promise<void> {
    for (let waitedMs = 0; waitedMs < AHEAD_WAIT_MS_MAX && isAhead(); waitedMs += AHEAD_LOOK_MS) {
      await pause(AHEAD_LOOK_MS, signal)
    }
  }
  async function relayNow(eventCountMax: number): Promise<RelayStep> {
    const step = await relay(parts, eventCountMax)
    unclearedCount += step.eventCount
    if (unclearedCount >= CLEARED_AFTER_COUNT) bells.clear.ring()
    return step
  }
  function promoted(counts: ReadonlyMap<string, number>): void {
    if (counts.size > 0) bells.pump.ring()
  }
  return {
    async relay() {
      if (relaySize === RELAY_BATCH_MAX) await letPostsCatchUp()
      const mayRelay = isRung || (await hasWaitingEvents(relayDeps.db))
      const { eventCount, isFull } = mayRelay ? await relayNow(relaySize) : NOTHING_RELAYED
      relaySize = isFull ? RELAY_BATCH_MAX : RELAY_BATCH_MIN
      onLooked()
      if (isFull) bells.relayBeside.ring()
      // Where some were relayed but not all that fit, a look whether others wait is cheaper than relaying again.
      isRung = eventCount > 0 ? isFull : await bells.relay.wait(timing.pollMs, signal)
    },
    // While many wait, a second relay has Postgres number the next ones in the time that this process takes to post the last.
    async 'relay beside'() {
      isCrowded ||= await bells.relayBeside.wait(timing.sweepMs, signal)
      if (!isCrowded || signal.aborted) return
      isCrowded = !isAhead() && (await relayNow(RELAY_BATCH_MAX)).isFull
      // What came while it held their shards, the first one has missed.
      if (!isCrowded) bells.relay.ring()
    },
    async clear() {
      if (!(await bells.clear.wait(timing.trimMs, signal))) return
      unclearedCount = 0
      await clearWaitingEvents(relayDeps.db)
    },
    async refill() {
      await bells.refill.wait(timing.sweepMs, signal)
      const storeIds = signal.aborted ? [] : backlog.takeRefill()
      if (storeIds.length === 0) return
      const counts = await promoteDeliveries(relayDeps, storeIds)
      backlog.refilled(storeIds, counts)
      promoted(counts)
    },
    async sweep() {
      const startedAtMs = monotonicMs()
      const counts = await promoteDeliveries(relayDeps, 'all')
      backlog.queued(counts)
      promoted(counts)
      const tookMs = monotonicMs() - startedAtMs
      await bells.sweep.wait(Math.max(timing.sweepMs, tookMs / SWEEP_SHARE_MAX), signal)
    },
  }
}

/** Relays events, with all that follows in this process; begins posting when they are few. */
async function relay(
  { relayDeps, backlog, fresh, numbers, bells, pump }: RelayParts,
  eventCountMax: number,
): Promise<RelayStep> {
  const relayed = await relayEvents(relayDeps, eventCountMax)
  const { eventCount, promotedCounts, bundles } = relayed
  numbers.relayed(eventCount)
  fresh.add(relayed.fresh.deliveries, relayed.fresh.readAtMs)
  backlog.queued(promotedCounts)
  if (!relayed.isDrained) bells.pump.ring()
  await pump.take(bundles)
  return { eventCount, isFull: eventCount >= eventCountMax }
}
