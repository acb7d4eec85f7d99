import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { newRenewToken } from '#shared/subscriptions/renew-token.ts'
import { announcePayments } from '#shared/wake.ts'
import { TEST_KEYRING } from '../support/door.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import {
  arrivalOf,
  type BenchStore,
  insertEvents,
  insertStores,
  startBenchDispatcher,
} from './webhook-load.ts'

export const name = 'due'

const SUBSCRIPTION_COUNT = 100_000
const STORE_COUNT = 100
/** Over so long they fall due, in seconds. */
const SPREAD_S = 3_600
const INSERT_BATCH = 5_000
const PROBE_COUNT = 150
/** The first ones open connections and warm caches. */
const WARM_PROBE_COUNT = 15
const PAUSE_MS = 100
const P99_GOAL_MS = 30
/** Of those that fell due while it was measured, so many must have been told at its end. */
const TOLD_SHARE_MIN = 0.95

/**
 * From an event's commit to its POST while 100,000 subscriptions fall due within the hour, each with a reminder, its
 * webhook and its mail; beside the same with none.
 */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const { url, db } = await context.database()
  const [witness, ...stores] = await insertStores(
    db,
    Array.from({ length: STORE_COUNT + 1 }, (_, at) => `http://127.0.0.1:${port}/store-${at}`),
  )
  if (witness === undefined) throw new Error('no witness')
  const dispatcher = startBenchDispatcher(db, url)
  context.defer(() => dispatcher.stop())
  await dispatcher.ready
  const alone = await probe(db, port, witness)
  await insertSubscriptions(db, stores)
  const value = await probe(db, port, witness)
  const [counts] = await db<{ toldCount: number; dueCount: number }[]>`
    select (select count(*)::integer from events where type = 'subscription.reminder') as told_count,
      (select count(*)::integer from subscriptions
        where next_due_at - interval '7 days' <= service_now()) as due_count`
  const { toldCount, dueCount } = counts ?? { toldCount: 0, dueCount: Number.NaN }
  return [
    {
      what: 'p99 of webhooks while subscriptions fall due',
      value,
      unit: 'ms',
      beside: { what: 'with none', value: alone },
      ratio: value / alone,
      target: { goal: `≤ ${P99_GOAL_MS} ms`, isReached: value <= P99_GOAL_MS },
    },
    {
      what: 'reminders told by then',
      value: toldCount,
      unit: '',
      beside: { what: 'fell due', value: dueCount },
      ratio: toldCount / dueCount,
      target: {
        goal: `≥ ${TOLD_SHARE_MIN} of those due`,
        isReached: toldCount >= dueCount * TOLD_SHARE_MIN,
      },
    },
  ]
}

/** p99 in milliseconds from commit to arrival of one event at a time. */
async function probe(db: Db, port: number, witness: BenchStore): Promise<number> {
  const delaysMs: number[] = []
  for (let count = 0; count < PROBE_COUNT; count += 1) {
    const [id = ''] = await insertEvents(db, [witness])
    const committedAt = performance.timeOrigin + performance.now()
    await announcePayments(db, [])
    delaysMs.push((await arrivalOf(port, id, PAUSE_MS)) - committedAt)
  }
  return percentile(delaysMs.slice(WARM_PROBE_COUNT), 0.99)
}

/** Active subscriptions whose reminder of seven days falls due one after the other. */
async function insertSubscriptions(db: Db, stores: readonly BenchStore[]): Promise<void> {
  const prices = await insertPrices(db, stores)
  for (let from = 0; from < SUBSCRIPTION_COUNT; from += INSERT_BATCH) {
    const rows = Array.from({ length: INSERT_BATCH }, (_, at) => {
      const id = newId('sub')
      const { hash, ciphertext } = newRenewToken(TEST_KEYRING, id)
      const place = from + at
      return { id, hash, ciphertext, place, price: prices[place % prices.length] }
    })
    await db`
      insert into subscriptions (subscription_id, store_id, account_id, mode, price_id, status, network, token,
        amount_cents, interval, interval_count, buyer_email, renew_token_hash, renew_token_ciphertext, anchor_at,
        period_count, next_due_at, next_action_at)
      select subscription_id, store_id, account_id, 'test', price_id, 'ACTIVE', 'base', 'usdc', 1050, 'MONTH', 1,
        'ann@example.com', hash, ciphertext, service_now(), 1, action_at + interval '7 days', action_at
      from unnest(${rows.map((row) => row.id)}::text[], ${rows.map((row) => row.price?.storeId ?? '')}::text[],
        ${rows.map((row) => row.price?.accountId ?? '')}::text[], ${rows.map((row) => row.price?.priceId ?? '')}::text[],
        ${rows.map((row) => Buffer.from(row.hash))}::bytea[], ${rows.map((row) => Buffer.from(row.ciphertext))}::bytea[],
        ${rows.map((row) => row.place)}::integer[])
        as s (subscription_id, store_id, account_id, price_id, hash, ciphertext, place)
      cross join lateral (
        select date_trunc('milliseconds',
          service_now() + make_interval(secs => s.place * ${SPREAD_S / SUBSCRIPTION_COUNT}::float8)) as action_at
      ) a`
  }
  await db`analyze subscriptions`
}

async function insertPrices(db: Db, stores: readonly BenchStore[]) {
  const prices = stores.map((store) => ({
    ...store,
    productId: newId('prod'),
    priceId: newId('price'),
  }))
  const storeIds = prices.map((price) => price.storeId)
  await db`
    insert into products (product_id, store_id, mode, name)
    select product_id, store_id, 'test', 'Plan'
    from unnest(${prices.map((price) => price.productId)}::text[], ${storeIds}::text[]) as p (product_id, store_id)`
  await db`
    insert into prices (price_id, product_id, store_id, mode, amount_cents, interval)
    select price_id, product_id, store_id, 'test', 1050, 'MONTH'
    from unnest(${prices.map((price) => price.priceId)}::text[], ${prices.map((price) => price.productId)}::text[],
      ${storeIds}::text[]) as p (price_id, product_id, store_id)`
  return prices
}
