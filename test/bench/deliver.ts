import type { Db } from '#shared/db.ts'
import { signatureHeader } from '#shared/webhook-signature.ts'
import { createPoster } from '../../dispatcher/post.ts'
import { type BenchContext, type Figure, measureRate, percentile } from './bench.ts'
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
const ROUND_COUNT = 3
const GOAL = 0.5
const RAW_CONCURRENCY = 64
const RAW_WARM_COUNT = 40_000
const RAW_COUNT = 20_000
const RECORD_TIMEOUT_MS = 5_000
const RECORD_LOOK_MS = 20

/**
 * Deliveries recorded per second, beside a loop that only signs, posts and reads the answer. Machines run faster when they
 * have rested: so both are warm before the first clock starts, and each round of ours lies between two of the loop's.
 */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const urls = Array.from(
    { length: STORE_COUNT },
    (_, index) => `http://127.0.0.1:${port}/store-${index}`,
  )
  const shops = await openShops(context, urls)
  await shops.deliver(await shops.fill(WARM_PER_STORE))
  await measureRaw(urls, RAW_WARM_COUNT)
  const rounds: { value: number; raw: number; ratio: number }[] = []
  for (let round = 0; round < ROUND_COUNT; round += 1) {
    const count = await shops.fill(EVENTS_PER_STORE)
    const before = await measureRaw(urls, RAW_COUNT)
    const value = await shops.deliver(count)
    const raw = (before + (await measureRaw(urls, RAW_COUNT))) / 2
    rounds.push({ value, raw, ratio: value / raw })
  }
  const median = (pick: (round: (typeof rounds)[number]) => number) =>
    percentile(rounds.map(pick), 0.5)
  const ratio = median((round) => round.ratio)
  return [
    {
      what: 'deliveries per second',
      value: median((round) => round.value),
      unit: '/s',
      beside: { what: 'raw loop', value: median((round) => round.raw) },
      ratio,
      target: { goal: `${GOAL}`, isReached: ratio >= GOAL },
    },
  ]
}

/** Stores with endpoints; `fill` has events wait for each of them, `deliver` has a dispatcher work them off and answers how many per second. */
async function openShops(context: BenchContext, urls: readonly string[]) {
  const { url, db } = await context.database()
  const stores = await insertStores(db, urls)
  let total = 0
  return {
    async fill(perStore: number): Promise<number> {
      for (let round = 0; round < perStore; round += 1) await insertEvents(db, stores)
      await db`analyze events`
      return STORE_COUNT * perStore
    },
    async deliver(count: number): Promise<number> {
      const dispatcher = startBenchDispatcher(db, url)
      context.defer(() => dispatcher.stop())
      await dispatcher.ready
      const startedAt = performance.now()
      await untilDelivered(dispatcher, count)
      await untilRecorded(db)
      const value = (count / (performance.now() - startedAt)) * 1000
      total += count
      await assertRecorded(db, total)
      await dispatcher.stop()
      return value
    },
  }
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

async function measureRaw(urls: readonly string[], count: number): Promise<number> {
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
  const rate = await measureRate(count, RAW_CONCURRENCY, post)
  poster.close()
  return rate
}
