import { closeDb, openDb } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { type Log, silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { startDispatcher } from '../../dispatcher/dispatcher.ts'
import { createDoorbell } from '../../indexer/doorbell.ts'
import { runDeployment } from '../../indexer/run.ts'
import { addSecret } from '../dispatcher/support.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { type Chance, createChance } from '../support/chance.ts'
import { createTestDatabase, type TestDatabase, travel } from '../support/database.ts'
import { TEST_DOOR, TEST_KEYRING } from '../support/door.ts'
import { type Receiver, type Reply, startReceiver } from '../support/receiver.ts'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'
import { createChain, type NodeMood, type SimChain } from './chain.ts'

/** How a seller's server behaves at the moment. */
export const ENDPOINT_MOODS = ['well', 'erring', 'hanging', 'cutting'] as const
export type EndpointMood = (typeof ENDPOINT_MOODS)[number]

/**
 * The service's own parts, as their entrances start them, in one process: the API, two indexers and two dispatchers on one
 * database, around a chain in memory and a seller's server.
 */
export type World = {
  database: TestDatabase
  api: TestApi
  deployment: Deployment
  chain: SimChain
  receiver: Receiver
  shops: readonly SeededStore[]
  /** What each of the two nodes, and the sellers' server, do; steps change it. */
  moods: { nodes: [NodeMood, NodeMood]; endpoint: EndpointMood }
  /** Stops a part, when it runs, and starts it anew. */
  restart(part: PartName): Promise<void>
  /** Milliseconds since 1970 by the service's clock, which steps put forward. */
  nowMs(): number
  /** Puts the service's clock forward; every connection to the database is cut. */
  travel(minutes: number): Promise<void>
  /** Cuts every connection to the database. */
  cut(): Promise<void>
  close(): Promise<void>
}
export const PART_NAMES = ['indexer-0', 'indexer-1', 'dispatcher-0', 'dispatcher-1'] as const
export type PartName = (typeof PART_NAMES)[number]

type Part = { stop(): Promise<void> }

const CONFIRMATIONS = 5
/** What is waited for by the indexer's clock passes this much faster here. */
const HURRY = 20
/** Connections of each part. */
const POOL_SIZE_MAX = 4
const CLOSE_TIMEOUT_MS = 1_000
/** Share of requests that an endpoint in a bad mood answers badly. */
const BAD_SHARE = 0.7

export async function createWorld(seed: number, log: Log = silentLog): Promise<World> {
  const database = await createTestDatabase()
  const networks = { base: { test: { rpc: ['http://127.0.0.1:9'], confirmations: CONFIRMATIONS } } }
  const api = await startTestApi({ database, networks, log })
  const deployment = api.config.deployments.get('base:test')
  const contract = deployment?.tokens.usdc?.contract
  if (!deployment || contract === undefined) throw new Error('base has a test network with USDC')
  const receiver = await startReceiver()
  const moods: World['moods'] = { nodes: ['well', 'well'], endpoint: 'well' }
  const chance = createChance(seed + 1)
  receiver.answerBy(() => answerOf(moods.endpoint, chance))
  const shops = await seedShops(database, receiver.url)
  let offsetMinutes = 0
  const nowMs = () => Date.now() + offsetMinutes * 60_000
  const chain = createChain(contract, nowMs())
  const parts = new Map<PartName, Part>()
  const world: World = {
    ...{ database, api, deployment, chain, receiver, shops, moods, nowMs },
    async restart(name) {
      await parts.get(name)?.stop()
      parts.set(name, startPart(name, world, log, createChance(chance.below(2 ** 31))))
    },
    async travel(minutes) {
      offsetMinutes += minutes
      await travel(database, `${offsetMinutes} minutes`)
    },
    cut: () => travel(database, `${offsetMinutes} minutes`),
    async close() {
      await Promise.all([...parts.values()].map((part) => part.stop()))
      await receiver.close()
      await api.close()
    },
  }
  for (const name of PART_NAMES) await world.restart(name)
  return world
}

function startPart(name: PartName, world: World, log: Log, chance: Chance): Part {
  const { url } = world.database
  const db = openDb({ url, applicationName: name, poolSizeMax: POOL_SIZE_MAX })
  const part = name.startsWith('indexer')
    ? startIndexing(db, world, log, chance, name === 'indexer-0' ? 0 : 1)
    : startDispatcher({
        ...{ db, databaseUrl: url, listenUrl: url, prepare: true, log },
        ...{ keyring: TEST_KEYRING, door: TEST_DOOR, outbound: { allowPrivate: true } },
        ...{ nowMs: world.nowMs, monotonicMs: () => performance.now(), random: chance.next },
        timing: { attemptTimeoutMs: 500, jobExpireS: 3, queuedForMs: 4_000, windowMs: 100 },
      })
  return {
    async stop() {
      await part.stop()
      await closeDb(db, CLOSE_TIMEOUT_MS)
    },
  }
}

function startIndexing(
  db: TestDatabase['db'],
  { chain, moods, deployment }: World,
  log: Log,
  chance: Chance,
  node: 0 | 1,
): Part {
  const driver = chain.node(() => moods.nodes[node], chance)
  const nowMs = () => performance.now() * HURRY
  const deps = { db, deployment, driver, doorbell: createDoorbell(), log, settings: TEST_DOOR }
  return runDeployment({ ...deps, leader: newId('key'), nowMs })
}

/** Stores that share an address, that have one of their own, that wait for top-ups, that guess nothing. */
async function seedShops({ db }: TestDatabase, webhookUrl: string): Promise<SeededStore[]> {
  const shared = { network: 'base', address: randomEvmAddress() }
  const own = () => [{ network: 'base', address: randomEvmAddress() }]
  const shops: SeededStore[] = []
  for (const options of [
    { wallets: [shared] },
    { wallets: [shared], guessOnSharedAddress: false },
    { wallets: own(), topUpUntilExpiry: true },
    { wallets: own() },
  ]) {
    const shop = await seedStore(db, { ...options, webhookUrl, price: { interval: 'MONTH' } })
    await addSecret(db, shop.store.storeId)
    shops.push(shop)
  }
  return shops
}

function answerOf(mood: EndpointMood, chance: Chance): Reply {
  if (mood === 'well' || !chance.isIn(BAD_SHARE)) return 200
  const replies: Record<EndpointMood, Reply> = {
    ...{ well: 200, erring: 500, hanging: 'never', cutting: 'reset' },
  }
  return replies[mood]
}
