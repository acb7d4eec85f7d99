import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import type { DueDelivery } from './attempt-queries.ts'
import {
  numberEvents,
  preferIndexes,
  promoteDue,
  type RelayedEvent,
  type Rooms,
  reclaimBundles,
  type Windows,
} from './queries.ts'
import { BUNDLE_MAX, type Bundle, bundle, type Promotions, type Queue } from './queue.ts'
import { RETRY_WINDOW_MS } from './retry.ts'

/** Events numbered in one transaction, a count. */
export const RELAY_BATCH_MAX = 1_000
/** The same when nothing is known to wait, a count: an event alone should not wait for what a crowd needs. */
export const RELAY_BATCH_MIN = 16
/** Of the 16 shards of stores, those that a relay takes while many events wait, a count: another can work beside it. */
const CROWDED_SHARD_COUNT_MAX = 8
/** Due rows of one store that are in hand at once, a count. */
export const STORE_WINDOW_MAX = 16
/** The same for a store with more waiting whose endpoint answers: what it can work off while the next
 * promotion is on its way. */
export const WIDE_STORE_WINDOW_MAX = 64
/** The same for a store whose endpoint is slow. */
export const SLOW_STORE_WINDOW_MAX = 2
/** Deliveries promoted in one transaction, a count. */
export const PROMOTE_BATCH_MAX = 1_000
/** Lost bundles whose deliveries are put on the schedule in one transaction, a count. */
const RECLAIM_BATCH_MAX = 32

/** What the relay works with. */
export type RelayDeps = {
  readonly db: Db
  readonly queue: Queue
  /** How long a promoted delivery is left to its job, in milliseconds. */
  readonly queuedForMs: number
  /** How many deliveries of each store may go into the queue without a look at what it has waiting. */
  readonly rooms: () => Rooms
  /** How many jobs this process has room for now, a count. */
  readonly jobRoom: () => number
  /** Stores whose endpoint does not answer in time, as far as this process knows. */
  readonly slowStoreIds: () => readonly string[]
  /** Stores that had a whole window due when it was last looked, and whose endpoint answers. */
  readonly wideStoreIds: () => readonly string[]
  /** Milliseconds of a clock that only moves forward. */
  readonly monotonicMs: () => number
}

/** What one step of the relay did. */
export type Relayed = {
  readonly eventCount: number
  /** Deliveries queued, by store. */
  readonly promotedCounts: ReadonlyMap<string, number>
  /** Jobs taken from the queue as they were added: this process's. */
  readonly bundles: readonly Bundle[]
  /** Whether nothing was left in the queue for this process to take. */
  readonly isDrained: boolean
  /** What was read of those that were queued as they were made. */
  readonly fresh: {
    readonly deliveries: readonly (DueDelivery & { token: string })[]
    readonly readAtMs: number
  }
}

/**
 * Gives events that wait their sequence, gap-free per store and mode, makes their deliveries, and
 * queues what is due of those stores; one transaction. Several relays share the stores between them.
 *
 * @param eventCountMax numbered at most, a count
 */
export async function relayEvents(deps: RelayDeps, eventCountMax: number): Promise<Relayed> {
  // Ids sort by time made, and within a millisecond only like this.
  const deliveryIds = Array.from({ length: eventCountMax }, () => newId('dlv')).sort()
  const times = { windowMs: RETRY_WINDOW_MS, queuedForMs: deps.queuedForMs }
  return withTransaction(deps.db, async (tx) => {
    const readAtMs = deps.monotonicMs()
    const shardCountMax = eventCountMax < RELAY_BATCH_MAX ? null : CROWDED_SHARD_COUNT_MAX
    const events = await numberEvents(tx, deliveryIds, shardCountMax, deps.rooms(), times)
    const queued = events.filter((event) => event.bundle !== null)
    const held = heldStoreIds(deps, events)
    const promoted = held.length === 0 ? [] : await promoteDue(tx, held, windowsOf(deps))
    const taken = await sendAndTake(deps, tx, [
      ...freshBundles(queued, deliveryIds),
      ...bundle(promoted),
    ])
    const promotedCounts = countByStore([...queued, ...promoted])
    const fresh = { deliveries: queued, readAtMs }
    return { eventCount: events.length, promotedCounts, fresh, ...taken }
  })
}

/** The bundles of deliveries that were queued as they were made, as their numbering put them together. */
function freshBundles(
  queued: readonly {
    readonly deliveryId: string
    readonly bundle: number
    readonly token: string
  }[],
  deliveryIds: readonly string[],
): Promotions[] {
  const bundles = new Map<number, { token: string; deliveryIds: string[]; freshId: string }>()
  for (const { deliveryId, bundle: place, token } of queued) {
    const known = bundles.get(place)
    if (known !== undefined) known.deliveryIds.push(deliveryId)
    else {
      const freshId = deliveryIds[place * BUNDLE_MAX] ?? deliveryId
      bundles.set(place, { token, deliveryIds: [deliveryId], freshId })
    }
  }
  return [...bundles.values()]
}

/**
 * Adds jobs, and takes one that comes alone at once: its event is posted one round trip sooner than if it were fetched after
 * the commit.
 */
async function sendAndTake(
  { queue, jobRoom }: RelayDeps,
  tx: Tx,
  jobs: readonly Promotions[],
): Promise<Pick<Relayed, 'bundles' | 'isDrained'>> {
  const count = jobs.length === 1 ? jobRoom() : 0
  const sent = queue.send(tx, jobs)
  if (count === 0) {
    await sent
    return { bundles: [], isDrained: jobs.length === 0 }
  }
  // On the wire behind the other statement, whose answer nothing here depends on. Should it get there first, it misses the job.
  const [bundles] = await Promise.all([queue.fetch(count, tx), sent])
  return { bundles, isDrained: bundles.length > 0 && bundles.length < count }
}

/**
 * Stores with a delivery that found no room and that nothing else will look after soon: a store with a
 * backlog is looked at as its deliveries end, and a slow one has time.
 */
function heldStoreIds(deps: RelayDeps, events: readonly RelayedEvent[]): string[] {
  const held = new Set<string>()
  for (const { storeId, deliveryId, bundle } of events) {
    if (deliveryId !== null && bundle === null) held.add(storeId)
  }
  if (held.size > 0) {
    for (const storeId of [...deps.wideStoreIds(), ...deps.slowStoreIds()]) held.delete(storeId)
  }
  return [...held]
}

/**
 * Queues what is due: of the given stores, or of every store that has deliveries pending. Answers how
 * many of each store.
 */
export async function promoteDeliveries(
  deps: RelayDeps,
  storeIds: readonly string[] | 'all',
): Promise<ReadonlyMap<string, number>> {
  return withTransaction(deps.db, async (tx) => {
    await preferIndexes(tx)
    if (storeIds === 'all') await reclaimBundles(tx, RECLAIM_BATCH_MAX)
    const promotions = await promoteDue(tx, storeIds, windowsOf(deps))
    await deps.queue.send(tx, bundle(promotions))
    return countByStore(promotions)
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
