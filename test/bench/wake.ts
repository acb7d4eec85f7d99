import { announcePayments } from '#shared/wake.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import { arrivalOf, insertEvents, insertStores, startBenchDispatcher } from './webhook-load.ts'

export const name = 'wake'

const ROUND_COUNT = 200
const PAUSE_MS = 20
const P50_GOAL_MS = 6
const P99_GOAL_MS = 30

/** From an event's commit to its POST at the seller, with nothing else to do. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const { url, db } = await context.database()
  const stores = await insertStores(db, [`http://127.0.0.1:${port}/store`])
  const dispatcher = startBenchDispatcher(db, url)
  context.defer(() => dispatcher.stop())
  await dispatcher.ready
  const delaysMs: number[] = []
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    const [id = ''] = await insertEvents(db, stores)
    const committedAt = performance.timeOrigin + performance.now()
    await announcePayments(db, [])
    delaysMs.push((await arrivalOf(port, id, PAUSE_MS)) - committedAt)
    await new Promise((next) => setTimeout(next, PAUSE_MS))
  }
  // The first ones open connections and warm caches.
  const warm = delaysMs.slice(20)
  const p50 = percentile(warm, 0.5)
  const p99 = percentile(warm, 0.99)
  return [
    {
      what: 'p50',
      value: p50,
      unit: 'ms',
      target: { goal: `≤ ${P50_GOAL_MS} ms`, isReached: p50 <= P50_GOAL_MS },
    },
    {
      what: 'p99',
      value: p99,
      unit: 'ms',
      target: { goal: `≤ ${P99_GOAL_MS} ms`, isReached: p99 <= P99_GOAL_MS },
    },
  ]
}
