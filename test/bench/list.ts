import { Buffer } from 'node:buffer'
import { hashSecret, newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import { insertShops, type Shop } from './shops.ts'
import { startSide } from './versus.ts'

export const name = 'list'

const PAYMENT_COUNT = 1_000_000
/** Rows of one insert: each stays within the deadline of a statement. */
const INSERT_COUNT = 50_000
const PAGE_SIZE = 20
const DEEP_PAGE = 10_000
const WARM_UPS = 200
const ROUNDS = 1_000
const RATIO_MAX = 1.5

/** Page 1 and page 10,000 of a store with a million payments, in turns. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const { url, db } = await context.database()
  const [shop] = await insertShops(db, 1)
  if (shop === undefined) throw new Error('one shop was asked for')
  await insertPayments(db, shop)
  const key = await insertSecretKey(db, shop.storeId)
  const side = await startSide(context, 'api-main.ts', url)
  const list = `${side.url}/v1/stores/${shop.storeId}/payments?limit=${PAGE_SIZE}`
  const first = await readPage(list, key)
  const deepCursor = cursorAt(first.nextCursor, await idAbovePage(db, shop.storeId, DEEP_PAGE))
  const deep = `${list}&cursor=${deepCursor}`
  const shown = await readPage(deep, key)
  if (shown.data.length !== PAGE_SIZE) throw new Error('the deep page is not full')
  const timesMs: [number[], number[]] = [[], []]
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    for (const [index, page] of [list, deep].entries()) {
      const startedAt = performance.now()
      await readPage(page, key)
      if (round >= 0) timesMs[index as 0 | 1].push(performance.now() - startedAt)
    }
  }
  const p50 = (times: readonly number[]) => percentile(times, 0.5)
  const ratio = p50(timesMs[1]) / p50(timesMs[0])
  return [
    {
      ...{ what: `p50 of page ${DEEP_PAGE}`, value: p50(timesMs[1]), unit: 'ms', ratio },
      beside: { what: 'page 1', value: p50(timesMs[0]) },
      target: { goal: `at most ${RATIO_MAX}`, isReached: ratio <= RATIO_MAX },
    },
  ]
}

async function insertPayments(db: Db, { storeId, accountId, address }: Shop): Promise<void> {
  for (let from = 0; from < PAYMENT_COUNT; from += INSERT_COUNT) {
    await db`
      insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals,
        address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units,
        expires_at)
      select 'pay_' || lpad(n::text, 38, '0'), ${storeId}, ${accountId}, 'test', 'base', 'usdc', 'base:test',
        'contract', 6, ${address}, false, 'CHAIN', 12, 500, 5000000, 5000001 + n, service_now() + interval '1 hour'
      from generate_series(${from}::integer, ${from + INSERT_COUNT - 1}::integer) n`
  }
  await db`analyze payments`
}

async function insertSecretKey(db: Db, storeId: string): Promise<string> {
  const key = newSecret('sk_test')
  await db`
    insert into keys (key_id, store_id, mode, kind, key_hash, masked_key)
    values (${newId('key')}, ${storeId}, 'test', 'SECRET', ${hashSecret(key)}, 'sk_test_…')`
  return key
}

async function idAbovePage(db: Db, storeId: string, page: number): Promise<string> {
  const [row] = await db<{ paymentId: string }[]>`
    select payment_id from payments where store_id = ${storeId}
    order by payment_id desc offset ${(page - 1) * PAGE_SIZE - 1} limit 1`
  if (row === undefined) throw new Error('there are not so many pages')
  return row.paymentId
}

/** The cursor of the same list at another place: walking there would take ten thousand requests. */
function cursorAt(cursor: string, id: string): string {
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  return Buffer.from(`${text.slice(0, text.indexOf(':'))}:${id}`).toString('base64url')
}

async function readPage(
  url: string,
  key: string,
): Promise<{ data: unknown[]; nextCursor: string }> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } })
  if (response.status !== 200) throw new Error(`a list answered ${response.status}`)
  return (await response.json()) as { data: unknown[]; nextCursor: string }
}
