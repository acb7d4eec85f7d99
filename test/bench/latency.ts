import type { Db } from '#shared/db.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type BenchContext, type Figure, percentile } from './bench.ts'
import { insertWaiting, readPosition, seedSeller, startBenchFollower } from './chain-load.ts'

export const name = 'latency'

const ROUND_COUNT = 120
/** The first rounds open connections and warm caches. */
const WARM_UP_ROUNDS = 20
const PAUSE_MS = 60
const P50_GOAL_MS = 15
const P99_GOAL_MS = 60
const RATIO_GOAL = 4
const TIMEOUT_MS = 10_000

/** From a block mined to its payment committed as detected; beside it a bare websocket push and one commit. */
export async function run(context: BenchContext): Promise<Figure[]> {
  const { db } = await context.database()
  const chain = await startTestChain()
  context.defer(() => chain.stop())
  const deployment = chain.deployments().base
  const seller = await seedSeller(db, deployment)
  const waiting = await insertWaiting(db, deployment, seller, ROUND_COUNT)
  await chain.automine(false)
  const bare = await startBare(db, chain)
  context.defer(bare.stop)
  const follower = startBenchFollower(db, deployment)
  context.defer(() => follower.stop())
  const { number } = await chain.head()
  await untilTrue(async () => (await readPosition(db, deployment)) >= number)

  const commits = new Map<string, number>()
  const { unlisten } = await db.listen('payments', (ids) => {
    for (const id of ids.split(',')) if (!commits.has(id)) commits.set(id, performance.now())
  })
  context.defer(unlisten)
  const ours: number[] = []
  const theirs: number[] = []
  for (const { paymentId, address, amountBaseUnits } of waiting) {
    await chain.pay({ token: chain.tokens.usdc, to: address, amountBaseUnits })
    const pushed = bare.next()
    const minedAt = performance.now()
    await chain.mine()
    theirs.push((await pushed) - minedAt)
    await untilTrue(() => commits.has(paymentId))
    ours.push((commits.get(paymentId) ?? 0) - minedAt)
    await new Promise((next) => setTimeout(next, PAUSE_MS))
  }
  return toFigures(ours.slice(WARM_UP_ROUNDS), theirs.slice(WARM_UP_ROUNDS))
}

function toFigures(ours: number[], theirs: number[]): Figure[] {
  const p50 = percentile(ours, 0.5)
  const p99 = percentile(ours, 0.99)
  const bare = percentile(theirs, 0.5)
  const ratio = p50 / bare
  return [
    {
      what: 'block mined → payment committed, p50',
      value: p50,
      unit: 'ms',
      beside: { what: 'bare push and one commit, p50', value: bare },
      ratio,
      target: {
        goal: `≤ ${P50_GOAL_MS} ms and ≤ ${RATIO_GOAL}×`,
        isReached: p50 <= P50_GOAL_MS && ratio <= RATIO_GOAL,
      },
    },
    {
      what: 'block mined → payment committed, p99',
      value: p99,
      unit: 'ms',
      beside: { what: 'bare push and one commit, p99', value: percentile(theirs, 0.99) },
      target: { goal: `≤ ${P99_GOAL_MS} ms`, isReached: p99 <= P99_GOAL_MS },
    },
  ]
}

/** A websocket that writes one row for each log it hears of: no header, no match, no second look. */
async function startBare(db: Db, chain: TestChain) {
  await db`create table bare_logs (tx_hash text, data text)`
  const socket = new WebSocket(chain.wsUrl)
  await new Promise((open) => socket.addEventListener('open', open))
  let done = (_atMs: number) => {}
  socket.addEventListener('message', async ({ data }) => {
    const log = JSON.parse(String(data)).params?.result
    if (!log) return
    await db`insert into bare_logs values (${log.transactionHash}, ${log.data})`
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

async function untilTrue(check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error('the follower did not get there')
    await new Promise((next) => setTimeout(next, 1))
  }
}
