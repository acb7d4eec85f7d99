import type { BenchContext, Figure } from './bench.ts'
import { clientAddress, insertShops } from './shops.ts'
import { measureVersus, startSide } from './versus.ts'

export const name = 'checkout'

const STORE_COUNT = 1_000
const COUNT_PER_ROUND = 6_000

/** `POST /checkout`, all checks on, beside a bare Elysia route that inserts the same rows. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const { url, db } = await context.database()
  const shops = await insertShops(db, STORE_COUNT)
  const shopAt = (index: number) => shops[(index * 7) % STORE_COUNT] ?? shops[0]
  const ours = await startSide(context, 'api-main.ts', url)
  const bare = await startSide(context, 'bare-main.ts', url)
  return measureVersus(
    {
      ...{ what: 'POST /checkout', ...ours, status: 201 },
      request: (index) =>
        post('/v1/checkout', index, {
          publishableKey: shopAt(index)?.publishableKey,
          ...{ amount: 500, network: 'base', token: 'usdc' },
        }),
    },
    {
      ...{ what: 'bare insert', ...bare, status: 201 },
      request: (index) => {
        const { storeId, accountId, address } = shopAt(index) ?? {}
        const body = { storeId, accountId, address, network: 'base', token: 'usdc' }
        return post('/checkout', index, body)
      },
    },
    { countPerRound: COUNT_PER_ROUND, goal: 0.6, p99MsMax: 50 },
  )
}

function post(path: string, index: number, body: object): string {
  const text = JSON.stringify(body)
  return `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nOrigin: https://shop.example\r\nX-Forwarded-For: ${clientAddress(index)}\r\nContent-Length: ${text.length}\r\n\r\n${text}`
}
