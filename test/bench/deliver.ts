import { signatureHeader } from '#shared/webhook-signature.ts'
import { createPoster } from '../../dispatcher/post.ts'
import { type BenchContext, type Figure, measureRate } from './bench.ts'
import { bodyOf, insertEvents, insertStores, startBenchDispatcher } from './webhook-load.ts'

export const name = 'deliver'

const STORE_COUNT = 1_000
const EVENTS_PER_STORE = 20
const GOAL = 0.5
const RAW_CONCURRENCY = 64
const TIMEOUT_MS = 120_000

/** Deliveries recorded per second, beside a loop that only signs, posts and reads the answer. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const urls = Array.from(
    { length: STORE_COUNT },
    (_, index) => `http://127.0.0.1:${port}/store-${index}`,
  )
  const raw = await measureRaw(urls)
  const { url, db } = await context.database()
  const stores = await insertStores(db, urls)
  for (let round = 0; round < EVENTS_PER_STORE; round += 1) await insertEvents(db, stores)
  await db`analyze events`
  const count = STORE_COUNT * EVENTS_PER_STORE
  const dispatcher = startBenchDispatcher(db, url)
  context.defer(() => dispatcher.stop())
  await dispatcher.ready
  const startedAt = performance.now()
  for (;;) {
    const done = Number(/outcome="2xx"\} (\d+)/.exec(dispatcher.renderMetrics())?.[1] ?? 0)
    if (done >= count) break
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error(`${done} of ${count} delivered`)
    await new Promise((next) => setTimeout(next, 20))
  }
  let pending = 1
  while (pending > 0) {
    const [row] = await db<{ pending: number }[]>`
      select count(*)::integer as pending from deliveries where status = 'PENDING'`
    pending = row?.pending ?? 0
  }
  const value = (count / (performance.now() - startedAt)) * 1000
  const [kept] = await db<{ attempts: number }[]>`
    select count(*)::integer as attempts from attempts`
  if (kept?.attempts !== count)
    throw new Error(`${kept?.attempts} attempts for ${count} deliveries`)
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
  await measureRate(5_000, RAW_CONCURRENCY, post)
  const rate = await measureRate(20_000, RAW_CONCURRENCY, post)
  poster.close()
  return rate
}
