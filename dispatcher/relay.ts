import { type Db, withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import {
  insertDeliveries,
  lockSequences,
  numberEvents,
  type OwedDelivery,
  preferIndexes,
  promoteDue,
  readUnsequenced,
  type SequencedEvent,
  type Windows,
} from './queries.ts'
import type { Queue } from './queue.ts'
import { RETRY_WINDOW_MS } from './retry.ts'

/** Events numbered in one transaction, a count. */
export const RELAY_BATCH_MAX = 500
/** Due rows of one store that are in hand at once, a count. */
export const STORE_WINDOW_MAX = 16
/** The same for a store with more waiting whose endpoint answers: what it can work off while the next
 * promotion is on its way. */
export const WIDE_STORE_WINDOW_MAX = 64
/** The same for a store whose endpoint is slow. */
export const SLOW_STORE_WINDOW_MAX = 2
/** Deliveries promoted in one transaction, a count. */
export const PROMOTE_BATCH_MAX = 1_000

/** What the relay works with. */
export type RelayDeps = {
  readonly db: Db
  readonly queue: Queue
  /** How long a promoted delivery is left to its job, in milliseconds. */
  readonly queuedForMs: number
  /** How many deliveries of a store may go into the queue without a look at what it has waiting. */
  readonly roomOf: (storeId: string) => number
  /** Stores whose endpoint does not answer in time, as far as this process knows. */
  readonly slowStoreIds: () => readonly string[]
  /** Stores that had a whole window due when it was last looked, and whose endpoint answers. */
  readonly wideStoreIds: () => readonly string[]
}

/** What one step of the relay did. */
export type Relayed = {
  readonly eventCount: number
  /** Deliveries queued, by store. */
  readonly promotedCounts: ReadonlyMap<string, number>
}

/**
 * Gives events without a sequence theirs, gap-free per store and mode, makes their deliveries, and
 * queues what is due of those stores; one transaction. Several relays share the stores between them.
 */
export async function relayEvents(deps: RelayDeps): Promise<Relayed> {
  const wanted = await readUnsequenced(deps.db, RELAY_BATCH_MAX)
  if (wanted.length === 0) return { eventCount: 0, promotedCounts: new Map() }
  return withTransaction(deps.db, async (tx) => {
    await preferIndexes(tx)
    const locked = await lockSequences(tx, wanted)
    const events = locked.length === 0 ? [] : await numberEvents(tx, locked, RELAY_BATCH_MAX)
    const owed = planDeliveries(deps, events)
    if (owed.length === 0) return { eventCount: events.length, promotedCounts: new Map() }
    const times = { windowMs: RETRY_WINDOW_MS, queuedForMs: deps.queuedForMs }
    const queued = await insertDeliveries(tx, owed, times)
    const held = new Set(owed.filter((one) => !one.isQueued).map((one) => one.storeId))
    const promoted = held.size === 0 ? [] : await promoteDue(tx, [...held], windowsOf(deps))
    const promotions = [...queued, ...promoted]
    await deps.queue.send(tx, promotions)
    return { eventCount: events.length, promotedCounts: countByStore(promotions) }
  })
}

/**
 * One delivery for each event of a store with an endpoint. It goes into the queue at once while its
 * store has room in hand; else it waits for the promotion, which looks at what the store has waiting.
 */
function planDeliveries(deps: RelayDeps, events: readonly SequencedEvent[]): OwedDelivery[] {
  const taken = new Map<string, number>()
  return (
    events
      .filter((event) => event.webhookUrl !== null)
      // Ids sort by time made: in the order of the sequence they list like it.
      .sort((one, other) => one.sequence - other.sequence)
      .map((event) => {
        const count = (taken.get(event.storeId) ?? 0) + 1
        taken.set(event.storeId, count)
        const isQueued = count <= deps.roomOf(event.storeId)
        return { ...event, deliveryId: newId('dlv'), isQueued }
      })
  )
}

/** Queues what is due: of the given stores, or of every store that has deliveries pending. */
export async function promoteDeliveries(
  deps: RelayDeps,
  storeIds: readonly string[] | 'all',
): Promise<Relayed> {
  return withTransaction(deps.db, async (tx) => {
    await preferIndexes(tx)
    const promotions = await promoteDue(tx, storeIds, windowsOf(deps))
    await deps.queue.send(tx, promotions)
    return { eventCount: 0, promotedCounts: countByStore(promotions) }
  })
}

function windowsOf(deps: RelayDeps): Windows {
  return {
    rowCountMax: STORE_WINDOW_MAX,
    wideRowCountMax: WIDE_STORE_WINDOW_MAX,
    wideStoreIds: deps.wideStoreIds(),
    slowRowCountMax: SLOW_STORE_WINDOW_MAX,
    slowStoreIds: deps.slowStoreIds(),
    totalCountMax: PROMOTE_BATCH_MAX,
    queuedForMs: deps.queuedForMs,
  }
}

function countByStore(promotions: readonly { readonly storeId: string }[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { storeId } of promotions) counts.set(storeId, (counts.get(storeId) ?? 0) + 1)
  return counts
}
