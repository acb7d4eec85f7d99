import type { Db } from '#shared/db.ts'
import { signatureHeader } from '#shared/webhook-signature.ts'
import { createPoster } from '../../dispatcher/post.ts'
import { type BenchContext, type Figure, measureRate } from './bench.ts'
import {
  bodyOf,
  insertEvents,
  insertStores,
  startBenchDispatcher,
  untilDelivered,
} from './webhook-load.ts'

export const name = 'deliver'

const STORE_COUNT = 1_000
/** Deliveries to each store before the clock starts, for compilers, caches and connections, and behind it. */
const WARM_PER_STORE = 60
const EVENTS_PER_STORE = 60
const GOAL = 0.5
const RAW_CONCURRENCY = 64
const RAW_WARM_COUNT = 20_000
const RAW_COUNT = 40_000
const RECORD_TIMEOUT_MS = 5_000
const RECORD_LOOK_MS = 20

/** Deliveries recorded per second, beside a loop that only signs, posts and reads the answer, run before and after. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const urls = Array.from(
    { length: STORE_COUNT },
    (_, index) => `http://127.0.0.1:${port}/store-${index}`,
  )
  const before = await measureRaw(urls)
  const value = await measureDeliveries(context, urls)
  const raw = (before + (await measureRaw(urls))) / 2
  const ratio = value / raw
  return [
    {
      what: 'deliveries per second',
      value,
      unit: '/s',
      beside: { what: 'raw loop', value: raw },
      ratio,
      target: { goal: `${GOAL}`, isReached: ratio >= GOAL },
    },
  ]
}

async function measureDeliveries(context: BenchContext, urls: readonly string[]): Promise<number> {
  const { url, db } = await context.database()
  const stores = await insertStores(db, urls)
  let total = 0
  const rate = async (perStore: number) => {
    for (let round = 0; round < perStore; round += 1) await insertEvents(db, stores)
    await db`analyze events`
    const count = STORE_COUNT * perStore
    const dispatcher = startBenchDispatcher(db, url)
    context.defer(() => dispatcher.stop())
    await dispatcher.ready
    const startedAt = performance.now()
    await untilDelivered(dispatcher, count)
    total += count
    await untilRecorded(db)
    const value = (count / (performance.now() - startedAt)) * 1000
    await assertRecorded(db, total)
    await dispatcher.stop()
    return value
  }
  await rate(WARM_PER_STORE)
  return rate(EVENTS_PER_STORE)
}

/** Waits until nothing is in hand any more: the last bundle goes in the transaction that writes its last attempt down. */
async function untilRecorded(db: Db): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    const [row] = await db<{ isInHand: boolean }[]>`
      select exists (select from fresh_bundles) as is_in_hand`
    if (row?.isInHand === false) return
    if (performance.now() - startedAt > RECORD_TIMEOUT_MS) throw new Error('not all was recorded')
    await new Promise((next) => setTimeout(next, RECORD_LOOK_MS))
  }
}

/** Behind the clock: every delivery is written down as such, with its one attempt. */
async function assertRecorded(db: Db, count: number): Promise<void> {
  const [row] = await db<{ deliveries: number; attempts: number }[]>`
    select (count(*) filter (where status = 'DELIVERED'))::integer as deliveries,
      sum(attempt_count)::integer as attempts
    from deliveries`
  if (row?.deliveries !== count || row.attempts !== count) {
    throw new Error(`${row?.deliveries} deliveries and ${row?.attempts} attempts of ${count}`)
  }
}

async function measureRaw(urls: readonly string[]): Promise<number> {
  const poster = createPoster({ allowPrivate: true })
  const secrets = [`whsec_${'5'.repeat(64)}`]
  const post = async (index: number) => {
    const eventId = `raw_${index}:payment.confirmed`
    const body = Buffer.from(bodyOf(eventId))
    const result = await poster.post({
      url: urls[index % urls.length] ?? '',
      eventType: 'payment.confirmed',
      eventId,
      signature: signatureHeader(body, secrets, Math.floor(Date.now() / 1000)),
      body,
    })
    if (result.kind !== 'answered' || result.status !== 200) throw new Error('a raw post failed')
  }
  await measureRate(RAW_WARM_COUNT, RAW_CONCURRENCY, post)
  const rate = await measureRate(RAW_COUNT, RAW_CONCURRENCY, post)
  poster.close()
  return rate
}
