import { announcePayments } from '#shared/wake.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import {
  type BenchStore,
  insertEvents,
  insertStores,
  startBenchDispatcher,
  waitForArrivals,
} from './webhook-load.ts'

export const name = 'fair'

const STORE_COUNT = 1_000
/** One endpoint in so many never answers. */
const DEAD_EVERY = 10
const ROUND_COUNT = 60
const ROUND_MS = 250
/** Stores that get an event in a round. */
const STORES_PER_ROUND = 100
const TIMEOUT_MS = 60_000
const GOAL = 2

/** p99 from commit to arrival at healthy endpoints, with a tenth of all endpoints dead and without. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const alone = await measure(context, false)
  const beside = await measure(context, true)
  const ratio = beside / alone
  return [
    {
      what: 'p99 of healthy endpoints while a tenth never answer',
      value: beside,
      unit: 'ms',
      beside: { what: 'without the dead ones', value: alone },
      ratio,
      target: { goal: `≤ ${GOAL}`, isReached: ratio <= GOAL },
    },
  ]
}

async function measure(context: BenchContext, hasDead: boolean): Promise<number> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const { url, db } = await context.database()
  const isDead = (index: number) => index % DEAD_EVERY === 0
  const stores = await insertStores(
    db,
    Array.from({ length: STORE_COUNT }, (_, index) => {
      const path = isDead(index) ? 'dead' : 'store'
      return `http://127.0.0.1:${port}/${path}-${index}`
    }),
  )
  const dispatcher = startBenchDispatcher(db, url)
  context.defer(() => dispatcher.stop())
  await dispatcher.ready
  const healthy = stores.filter((_, index) => !isDead(index))
  const chosen = hasDead ? stores : healthy
  const committedAt = new Map<string, number>()
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    const roundStartedAt = performance.now()
    const batch: BenchStore[] = []
    for (let count = 0; count < STORES_PER_ROUND; count += 1) {
      const store = chosen[(round * STORES_PER_ROUND + count) % chosen.length]
      if (store) batch.push(store)
    }
    const ids = await insertEvents(db, batch)
    const at = performance.timeOrigin + performance.now()
    batch.forEach((store, index) => {
      if (!store.url.includes('/dead')) committedAt.set(ids[index] ?? '', at)
    })
    await announcePayments(db, [])
    const leftMs = ROUND_MS - (performance.now() - roundStartedAt)
    await new Promise((next) => setTimeout(next, Math.max(0, leftMs)))
  }
  const times = await waitForArrivals(port, committedAt.size, TIMEOUT_MS)
  const delaysMs = [...committedAt].map(([id, at]) => (times.get(id) ?? Number.NaN) - at)
  // The first rounds open connections and warm caches.
  return percentile(delaysMs.slice(5 * STORES_PER_ROUND), 0.99)
}
