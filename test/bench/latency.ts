import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Db } from '#shared/db.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { seedStore } from '../support/seed.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import {
  insertWaiting,
  readPosition,
  seedSeller,
  startBenchFollower,
  type Waiting,
} from './chain-load.ts'
import { giveEndpoint, startBenchDispatcher } from './webhook-load.ts'

export const name = 'latency'

/** Rounds of each leg. */
const ROUND_COUNT = 120
/** The first rounds open connections and warm caches. */
const WARM_UP_ROUNDS = 20
const PAUSE_MS = 60
const P50_GOAL_MS = 15
const P99_GOAL_MS = 60
const RATIO_GOAL = 4
const TIMEOUT_MS = 10_000

/** Milliseconds from a block, of ours and of the bare one, round by round. */
type Delays = { ours: number[]; theirs: number[] }

/**
 * From a block mined to its payment committed as detected; beside it a bare websocket push and one commit. Then, with a
 * dispatcher at work, to its webhook at the seller's server; beside it the same and one POST.
 */
export async function run(context: BenchContext): Promise<Figure[]> {
  const receiver = await startReceiver()
  context.defer(receiver.stop)
  const { db, url } = await context.database()
  const chain = await startTestChain()
  context.defer(() => chain.stop())
  const deployment = chain.deployments().base
  const seller = await seedSeller(db, deployment)
  const waiting = await insertWaiting(db, deployment, seller, ROUND_COUNT)
  await chain.automine(false)
  const follower = startBenchFollower(db, deployment)
  context.defer(() => follower.stop())
  const { number } = await chain.head()
  await untilTrue(async () => (await readPosition(db, deployment)) >= number)
  const commits = new Map<string, number>()
  const { unlisten } = await db.listen('payments', (ids) => {
    for (const id of ids.split(',')) if (!commits.has(id)) commits.set(id, performance.now())
  })
  context.defer(unlisten)

  const isCommitted = (paymentId: string) => commits.has(paymentId)

  const bare = await startBare(db, chain)
  const first = await pay(chain, waiting, bare.next, isCommitted)
  bare.stop()

  // Another store, of which nothing waits to be told.
  const told = await seedStore(db, { wallets: [] })
  await giveEndpoint(db, told.store.storeId, `${receiver.url}/store`)
  const toTell = await insertWaiting(db, deployment, told, ROUND_COUNT)
  const dispatcher = startBenchDispatcher(db, url)
  context.defer(() => dispatcher.stop())
  await dispatcher.ready
  const posting = await startBare(db, chain, `${receiver.url}/bare`)
  context.defer(posting.stop)
  const second = await pay(chain, toTell, posting.next, isCommitted)
  await untilTrue(() => second.every(({ paymentId }) => receiver.arrivals.has(paymentId)))
  return toFigures(toDelays(first, commits), toDelays(second, receiver.arrivals))
}

type Round = { paymentId: string; minedAt: number; bareAt: number }

/** Pays in a block of its own each. */
async function pay(
  chain: TestChain,
  waiting: readonly Waiting[],
  nextBare: () => Promise<number>,
  isCommitted: (paymentId: string) => boolean,
): Promise<Round[]> {
  const rounds: Round[] = []
  for (const { paymentId, address, amountBaseUnits } of waiting) {
    await chain.pay({ token: chain.tokens.usdc, to: address, amountBaseUnits })
    const pushed = nextBare()
    const minedAt = performance.now()
    await chain.mine()
    rounds.push({ paymentId, minedAt, bareAt: await pushed })
    await untilTrue(() => isCommitted(paymentId))
    await new Promise((next) => setTimeout(next, PAUSE_MS))
  }
  return rounds
}

function toDelays(rounds: readonly Round[], doneAt: ReadonlyMap<string, number>): Delays {
  const warm = rounds.slice(WARM_UP_ROUNDS)
  return {
    ours: warm.map(({ paymentId, minedAt }) => (doneAt.get(paymentId) ?? Number.NaN) - minedAt),
    theirs: warm.map(({ minedAt, bareAt }) => bareAt - minedAt),
  }
}

function toFigures(committed: Delays, received: Delays): Figure[] {
  const figure = ({ ours, theirs }: Delays, share: number, what: string, bare: string) => {
    const value = percentile(ours, share)
    const beside = { what: bare, value: percentile(theirs, share) }
    return { what: `block mined → ${what}, p${share * 100}`, value, unit: 'ms', beside }
  }
  const commit = (share: number) =>
    figure(committed, share, 'payment committed', 'bare push and one commit')
  const webhook = (share: number) =>
    figure(received, share, 'webhook received', 'bare push, one commit and one POST')
  return [commit, webhook].flatMap((leg) => [toMedian(leg(0.5)), toTail(leg(0.99))])
}

type Beside = Figure & Required<Pick<Figure, 'beside'>>

function toMedian(p50: Beside): Figure {
  const ratio = p50.value / p50.beside.value
  const isReached = p50.value <= P50_GOAL_MS && ratio <= RATIO_GOAL
  return {
    ...{ ...p50, ratio },
    target: { goal: `≤ ${P50_GOAL_MS} ms and ≤ ${RATIO_GOAL}×`, isReached },
  }
}

function toTail(p99: Beside): Figure {
  return {
    ...p99,
    target: { goal: `≤ ${P99_GOAL_MS} ms`, isReached: p99.value <= P99_GOAL_MS },
  }
}

/**
 * A websocket that writes one row for each log it hears of, and posts it if there is an endpoint: no header, no match, no
 * second look, no signature, no attempt recorded.
 */
async function startBare(db: Db, chain: TestChain, endpoint?: string) {
  await db`create table if not exists bare_logs (tx_hash text, data text)`
  const socket = new WebSocket(chain.wsUrl)
  await new Promise((open) => socket.addEventListener('open', open))
  let done = (_atMs: number) => {}
  socket.addEventListener('message', async ({ data }) => {
    const log = JSON.parse(String(data)).params?.result
    if (!log) return
    await db`insert into bare_logs values (${log.transactionHash}, ${log.data})`
    if (endpoint) {
      const headers = { 'x-service-delivery': log.transactionHash }
      await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(log) })
    }
    done(performance.now())
  })
  const params = ['logs', { address: chain.tokens.usdc }]
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params }))
  return {
    next: () =>
      new Promise<number>((resolve) => {
        done = resolve
      }),
    stop: () => socket.close(),
  }
}

/** A seller's server in this process, by whose clock everything here is told: when each payment's first event arrived. */
async function startReceiver() {
  const arrivals = new Map<string, number>()
  const server = createServer((request, response) => {
    const [paymentId = ''] = String(request.headers['x-service-delivery']).split(':')
    if (!arrivals.has(paymentId)) arrivals.set(paymentId, performance.now())
    request.resume()
    request.on('end', () => response.end('ok'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, arrivals, stop: () => server.close() }
}

async function untilTrue(check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error('the follower did not get there')
    await new Promise((next) => setTimeout(next, 1))
  }
}
