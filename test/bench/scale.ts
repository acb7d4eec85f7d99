import { hashSecret, newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { buildDeployments } from '#shared/networks/registry.ts'
import type { Dispatcher } from '../../dispatcher/dispatcher.ts'
import { type CommitDeps, findMatchable } from '../../indexer/commit.ts'
import type { Observation } from '../../indexer/drivers/driver.ts'
import { TEST_DOOR } from '../support/door.ts'
import { randomEvmAddress } from '../support/seed.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import { CONTRACT, giveEndpoints, historicId, insertHistory } from './history.ts'
import { clientAddress, insertShops, type Shop } from './shops.ts'
import { startSide } from './versus.ts'
import { insertEvents, startBenchDispatcher, untilDelivered } from './webhook-load.ts'

export const name = 'scale'

const SIZE_SMALL = 10_000
const SIZES_DEFAULT = [100_000, 1_000_000]
const STORE_COUNT = 1_000
/** Rounds of each operation, in turns at both sizes; the first ones warm up. */
const ROUNDS = 60
const WARM_UPS = 10
/** Operations of a round, one after the other, so that a round takes some milliseconds. */
const PER_ROUND = 20
/** Transfers looked up in one call: a busy block's, a tenth of them sellers'. */
const BLOCK_TRANSFERS = 200
const PAGE_SIZE = 5
/** Events of a round, of as many stores. */
const EVENTS = 500
const RATIO_MAX = 1.3
const CLAIM_RATIO_MAX = 1.5

const DEPLOYMENT = buildDeployments({
  base: {
    test: { rpc: ['http://127.0.0.1:9'], tokens: { usdc: { contract: CONTRACT, decimals: 6 } } },
  },
}).get('base:test')

/** What each operation costs with a long history beside what it costs with a short one, in turns on two databases. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const port = Number((await context.spawn('receiver-main.ts')).line)
  const [small, large] = [await createPlace(context, port), await createPlace(context, port)]
  await grow(small, SIZE_SMALL)
  const figures: Figure[] = []
  for (const size of context.payments ? [context.payments] : SIZES_DEFAULT) {
    await grow(large, size)
    for (const [what, operate] of Object.entries(OPERATIONS)) {
      figures.push(await compare(what, operate, small, large))
    }
  }
  return figures
}

/** A service with its history. */
type Place = {
  db: Db
  url: string
  apiUrl: string
  shops: readonly Shop[]
  keys: ReadonlyMap<string, string>
  dispatcher: Dispatcher
  deliveredCount: number
  size: number
  requestCount: number
}

async function createPlace(context: BenchContext, port: number): Promise<Place> {
  const { url, db } = await context.database()
  const shops = await insertShops(db, STORE_COUNT)
  const keys = await insertKeys(db, shops)
  await db`insert into deployments (deployment, block_number, confirmations) values ('base:test', 100, 12)`
  const side = await startSide(context, 'api-main.ts', url)
  await giveEndpoints(
    db,
    shops,
    shops.map((_, index) => `http://127.0.0.1:${port}/store-${index}`),
  )
  const dispatcher = startBenchDispatcher(db, url)
  context.defer(() => dispatcher.stop())
  await dispatcher.ready
  const counts = { deliveredCount: 0, size: 0, requestCount: 0 }
  return { db, url, apiUrl: side.url, shops, keys, dispatcher, ...counts }
}

/** A secret key for each shop, to list with. */
async function insertKeys(db: Db, shops: readonly Shop[]): Promise<Map<string, string>> {
  const keys = new Map(shops.map(({ storeId }) => [storeId, newSecret('sk_test')]))
  await db`
    insert into keys (key_id, store_id, mode, kind, key_hash, masked_key)
    select key_id, store_id, 'test', 'SECRET', key_hash, 'sk_test_…'
    from unnest(${shops.map(() => newId('key'))}::text[], ${[...keys.keys()]}::text[],
      ${[...keys.values()].map((key) => Buffer.from(hashSecret(key)))}::bytea[]) as k (key_id, store_id, key_hash)`
  return keys
}

async function grow(place: Place, size: number): Promise<void> {
  await insertHistory(place.url, place.shops, place.size, size)
  place.size = size
}

/** Milliseconds of one operation, the median of the rounds of each place. */
async function compare(
  what: string,
  operate: (place: Place) => Promise<void>,
  small: Place,
  large: Place,
): Promise<Figure> {
  const timesMs: [number[], number[]] = [[], []]
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    for (const [index, place] of [small, large].entries()) {
      const startedAt = performance.now()
      await operate(place)
      if (round >= 0) timesMs[index as 0 | 1].push(performance.now() - startedAt)
    }
  }
  const [beside, value] = timesMs.map((times) => percentile(times, 0.5)) as [number, number]
  const ratio = value / beside
  const goal = what === 'claim' ? CLAIM_RATIO_MAX : RATIO_MAX
  return {
    ...{ what: `${what} at ${large.size.toLocaleString('en')}`, value, unit: 'ms', ratio },
    beside: { what: `at ${small.size.toLocaleString('en')}`, value: beside },
    target: { goal: `≤ ${goal}`, isReached: ratio <= goal },
  }
}

const OPERATIONS: Record<string, (place: Place) => Promise<void>> = {
  claim: (place) =>
    inTurn(place, async (index) => {
      const { publishableKey } = shopAt(place, index)
      await ask(place, '/v1/checkout', 201, {
        method: 'POST',
        headers: {
          ...{ 'Content-Type': 'application/json', Origin: 'https://shop.example' },
          'X-Forwarded-For': clientAddress(index * 100),
        },
        body: JSON.stringify({ publishableKey, amount: 500, network: 'base', token: 'usdc' }),
      })
    }),
  match: async (place) => {
    const deps: CommitDeps = {
      db: place.db,
      deployment: known(),
      settings: TEST_DOOR,
      log: silentLog,
    }
    const hits = await findMatchable(deps, transfersTo(place))
    if (hits.length !== BLOCK_TRANSFERS / 10) throw new Error(`${hits.length} transfers matched`)
  },
  read: (place) =>
    inTurn(place, (index) =>
      ask(place, `/v1/payments/${historicId(scatter(index, place.size))}`, 200),
    ),
  list: (place) =>
    inTurn(place, async (index) => {
      const { storeId } = shopAt(place, index)
      await ask(place, `/v1/stores/${storeId}/payments?limit=${PAGE_SIZE}`, 200, {
        headers: { Authorization: `Bearer ${place.keys.get(storeId)}` },
      })
    }),
  deliver: async (place) => {
    const start = (place.requestCount * EVENTS) % STORE_COUNT
    place.requestCount += 1
    const stores = place.shops.slice(start, start + EVENTS)
    await insertEvents(place.db, stores)
    place.deliveredCount += stores.length
    await untilDelivered(place.dispatcher, place.deliveredCount)
  },
}

async function inTurn(place: Place, work: (index: number) => Promise<void>): Promise<void> {
  for (let count = 0; count < PER_ROUND; count += 1) {
    place.requestCount += 1
    await work(place.requestCount)
  }
}

async function ask(
  { apiUrl }: Place,
  path: string,
  status: number,
  init: RequestInit = {},
): Promise<void> {
  const response = await fetch(`${apiUrl}${path}`, init)
  const text = await response.text()
  if (response.status !== status) throw new Error(`${path}: ${response.status} ${text}`)
}

/** Somewhere else each time, by a large prime. */
function scatter(index: number, size: number): number {
  return (index * 7_919) % size
}

function shopAt({ shops }: Place, index: number): Shop {
  return shops[scatter(index, shops.length)] as Shop
}

/** A busy block: one transfer in ten pays what an open payment of the history is due. */
function transfersTo(place: Place): Observation[] {
  const block = { blockNumber: 101, blockHash: '0xblock', blockTimeMs: Date.now() }
  return Array.from({ length: BLOCK_TRANSFERS }, (_, index): Observation => {
    const n = scatter(index, place.size / 100) * 100
    const to = index % 10 === 0 ? (place.shops[n % STORE_COUNT]?.address ?? '') : randomEvmAddress()
    const txHash = `0x${index}`
    const amountBaseUnits = 5_000_001n + BigInt(n)
    return { ...block, txHash, index, contract: CONTRACT, from: '0xbuyer', to, amountBaseUnits }
  })
}

function known() {
  if (!DEPLOYMENT) throw new Error('one network was named')
  return DEPLOYMENT
}
