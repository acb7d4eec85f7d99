import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import type { BenchContext, Figure } from './bench.ts'
import { insertShops, type Shop } from './shops.ts'
import { measureVersus, startSide } from './versus.ts'

export const name = 'read'

const STORE_COUNT = 1_000
const PAYMENT_COUNT = 10_000
const COUNT_PER_ROUND = 20_000

/** `GET /payments/{id}` over payments read again and again, beside a bare Elysia route doing one primary-key select. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const { url, db } = await context.database()
  const ids = await insertPayments(db, await insertShops(db, STORE_COUNT))
  const get = (path: string, index: number) =>
    `GET ${path}/${ids[(index * 7) % PAYMENT_COUNT]} HTTP/1.1\r\nHost: bench\r\n\r\n`
  return measureVersus(
    {
      ...{ what: 'GET /payments/{id}', status: 200 },
      ...(await startSide(context, 'api-main.ts', url)),
      request: (index) => get('/v1/payments', index),
    },
    {
      ...{ what: 'bare select', status: 200 },
      ...(await startSide(context, 'bare-main.ts', url)),
      request: (index) => get('/payments', index),
    },
    { countPerRound: COUNT_PER_ROUND, goal: 0.8 },
  )
}

async function insertPayments(db: Db, shops: readonly Shop[]): Promise<string[]> {
  const ids = Array.from({ length: PAYMENT_COUNT }, () => newId('pay'))
  await db`
    insert into deployments (deployment, block_number, confirmations) values ('base:test', 100, 12)`
  await db`
    insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals,
      address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units,
      expires_at)
    select id, (${shops.map(({ storeId }) => storeId)}::text[])[1 + n % ${STORE_COUNT}::bigint],
      (${shops.map(({ accountId }) => accountId)}::text[])[1 + n % ${STORE_COUNT}::bigint], 'test', 'base', 'usdc',
      'base:test', 'contract', 6, 'address', false, 'CHAIN', 12, 500, 5000000, 5000001 + n,
      service_now() + interval '1 hour'
    from unnest(${ids}::text[]) with ordinality as p (id, n)`
  await db`analyze payments`
  return ids
}
