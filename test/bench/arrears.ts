import type { Db } from '#shared/db.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import {
  type BenchStore,
  insertEvents,
  insertStores,
  startBenchDispatcher,
  untilDelivered,
} from './webhook-load.ts'

export const name = 'arrears'

const STORE_COUNT = 1_000
const PENDING_COUNT = 1_000_000
/** Rows written in one statement, a count: within its deadline. */
const INSERT_BATCH = 50_000
const EVENTS_PER_STORE = 5
/** One more of each comes first, for compilers and caches. */
const ROUND_COUNT = 7
const GOAL = 1.3

/**
 * What a due delivery costs while a million others wait in backoff, spread over as many stores whose endpoints fail (a
 * success would make those of its store due), beside what it costs with none: two databases, measured in turns. Those that
 * wait have no rows of their events, which nobody reads.
 */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const none = await prepare(context, port)
  const many = await prepare(context, port)
  await insertPending(many.db, many.failing)
  const costs = { none: [] as number[], many: [] as number[] }
  for (let round = 0; round <= ROUND_COUNT; round += 1) {
    costs.none.push(await costOf(none))
    costs.many.push(await costOf(many))
  }
  const value = percentile(costs.many.slice(1), 0.5)
  const beside = percentile(costs.none.slice(1), 0.5)
  const ratio = value / beside
  return [
    {
      what: 'a due delivery with 1,000,000 in backoff',
      value,
      unit: 'us',
      beside: { what: 'with none', value: beside },
      ratio,
      target: { goal: `≤ ${GOAL}`, isReached: ratio <= GOAL },
    },
  ]
}

type Prepared = { url: string; db: Db; stores: BenchStore[]; failing: BenchStore[] }

async function prepare(context: BenchContext, port: number): Promise<Prepared> {
  const { url, db } = await context.database()
  const urls = Array.from(
    { length: STORE_COUNT },
    (_, at) => `http://127.0.0.1:${port}/store-${at}`,
  )
  const stores = await insertStores(db, urls)
  return { url, db, stores, failing: await insertStores(db, urls) }
}

/** Each was attempted once and waits for some minutes to come. */
async function insertPending(db: Db, stores: readonly BenchStore[]): Promise<void> {
  const storeIds = stores.map((store) => store.storeId)
  for (let from = 0; from < PENDING_COUNT; from += INSERT_BATCH) {
    await db`
      insert into deliveries (delivery_id, event_id, store_id, mode, event_type, url, attempt_count, last_attempt_at,
        last_duration_ms, last_error, next_attempt_at, deadline_at)
      select 'dlv_0' || lpad(n::text, 37, '0'), 'pay_0' || lpad(n::text, 37, '0') || ':payment.confirmed',
        (${storeIds}::text[])[1 + n / ${PENDING_COUNT / STORE_COUNT}::integer], 'test', 'payment.confirmed', 'http://127.0.0.1/',
        1, service_now(), 5, 'refused', service_now() + make_interval(secs => 600 + n % 3600), service_now() + interval '72 hours'
      from generate_series(${from}::integer, ${from + INSERT_BATCH - 1}::integer) n`
  }
  await db`analyze deliveries`
}

/** Microseconds from begin to end for each delivery of a round, by a dispatcher of its own. */
async function costOf({ url, db, stores }: Prepared): Promise<number> {
  for (let round = 0; round < EVENTS_PER_STORE; round += 1) await insertEvents(db, stores)
  const dispatcher = startBenchDispatcher(db, url)
  await dispatcher.ready
  const startedAt = performance.now()
  await untilDelivered(dispatcher, STORE_COUNT * EVENTS_PER_STORE)
  const tookMs = performance.now() - startedAt
  await dispatcher.stop()
  return (tookMs * 1000) / (STORE_COUNT * EVENTS_PER_STORE)
}
