import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Budget, watchBudget } from '../support/budget.ts'
import type { SvmChain } from '../support/svm.ts'
import { type Following, startFollowing } from '../support/svm-follow.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

/** Milliseconds of watching an idle Solana, and between its blocks. */
const WATCH_MS = 18_000
const BLOCK_MS = 400
/** The same before, so that blocks become final sooner. */
const QUICK_BLOCK_MS = 100
/** So many calls in so many milliseconds say that calls are spared: more than a pass takes apart from its next. */
const SPARED_MS = 10_000
const SPARED_CALLS_MAX = 11
const timeout = 60_000

/** Sellers with whom accounts are read while somebody waits; with more, blocks. */
const BY_ACCOUNTS_MAX = 40

type Case = { name: string; sellerCount: number; nodeCount: 1 | 2 }
type Watched = { following: Following; calls: () => number; budget: Budget; first: number }

const CASES: readonly Case[] = [
  { name: 'with no slots at all', sellerCount: 0, nodeCount: 1 },
  {
    name: 'with slots in quarantine, whose late transfers are still looked for',
    sellerCount: 12,
    nodeCount: 1,
  },
  { name: 'with so many that blocks were read before', sellerCount: 50, nodeCount: 1 },
  { name: 'with slots in quarantine and two providers', sellerCount: 12, nodeCount: 2 },
]

describe('the budget of calls on Solana', () => {
  let watched: Watched[] = []

  before(async () => {
    watched = await Promise.all(CASES.map(watch))
  })
  after(async () => {
    await Promise.all(watched.map(({ following }) => following.close()))
  })

  for (const [index, { name }] of CASES.entries()) {
    it(`is one a second while nobody waits, whenever one begins to count, ${name}`, () => {
      const { budget, following } = watched[index] as Watched
      budget.assertOneCallASecond(JSON.stringify([...following.chain.node.calls]))
    })

    it(`lets the network be followed meanwhile, and its head look alive, ${name}`, async () => {
      const { budget, following, first } = watched[index] as Watched
      budget.assertAlive()
      const [row] = await following.database.db<{ auditedNumber: number }[]>`
        select audited_number from deployments`
      assert.ok((row?.auditedNumber ?? 0) > first)
    })
  }

  it('is enough to find what comes late, however it is read', { timeout }, async () => {
    await Promise.all(
      watched.slice(1).map(async ({ following: { chain, database } }) => {
        const rows = await database.db<{ address: string; due: bigint }[]>`
          select address, amount_base_units as due from slots order by address desc limit 1`
        const [{ address, due } = { address: '', due: 0n }] = rows
        const txHash = await chain.pay({ to: address, amountBaseUnits: due })
        await until(
          async () => {
            const found = await database.db`
              select 1 from transfers where tx_hash = ${txHash}`
            return found.length > 0
          },
          { what: `${txHash} is found`, timeoutMs: 50_000, everyMs: 200 },
        )
      }),
    )
  })

  it('is left at once for a payment', { timeout }, async () => {
    const { following, calls } = watched[1] as Watched
    const callsBefore = calls()
    const startedAt = performance.now()
    const { paymentId, due } = await following.claim(2_000)
    await until(() => calls() > callsBefore + 5, { what: 'a payment wakes it', everyMs: 20 })
    assert.ok(performance.now() - startedAt < 2_000, 'within about a second')
    const [{ address } = { address: '' }] = await following.database.db<{ address: string }[]>`
      select address from slots where is_open`
    await following.chain.pay({ to: address, amountBaseUnits: due })
    await following.untilStatus(paymentId, 'DETECTED', { isProducing: false, timeoutMs: 3_000 })
  })
})

async function watch({ sellerCount, nodeCount }: Case): Promise<Watched> {
  const nodes: SvmChain['node'][] = []
  const following = await startFollowing({
    reading: 'auto',
    async rpc(chain) {
      nodes.push(chain.node)
      const rpc = [chain.node.wsUrl, chain.node.httpUrl]
      if (nodeCount === 1) return rpc
      const second = await chain.addNode()
      nodes.push(second)
      return [...rpc, second.httpUrl.replace('127.0.0.1', 'localhost')]
    },
  })
  const { chain, database } = following
  const { db } = database
  const calls = () =>
    nodes
      .flatMap((node) => [...node.calls])
      .filter(([method]) => !/Subscribe|Unsubscribe/.test(method))
      .reduce((sum, [, count]) => sum + count, 0)
  const untilReadTwice = async () => {
    const { slot } = chain.ledger.tip
    await until(
      async () => (await db`select 1 from deployments where audited_number >= ${slot}`).length > 0,
      { what: `all up to slot ${slot} was read twice`, timeoutMs: 60_000, everyMs: 100 },
    )
    return slot
  }
  const stopQuick = chain.run(QUICK_BLOCK_MS)
  await following.openSellers(sellerCount)
  await untilReadTwice()
  await db`
    update slots set is_open = false, ended_at = service_now(),
      release_at = service_now() + interval '1 day'`
  const isSwitching = sellerCount > BY_ACCOUNTS_MAX
  const first = isSwitching ? chain.ledger.tip.slot : await untilReadTwice()
  stopQuick()
  chain.run(BLOCK_MS)
  if (isSwitching) await untilSpared(calls)
  const budget = await watchBudget({ db, calls, watchMs: WATCH_MS })
  return { following, calls, budget, first }
}

/** What is new to be watched costs calls once. */
async function untilSpared(calls: () => number): Promise<void> {
  let seen = { calls: calls(), atMs: performance.now() }
  await until(
    () => {
      if (performance.now() - seen.atMs < SPARED_MS) return false
      const isSpared = calls() - seen.calls <= SPARED_CALLS_MAX
      seen = { calls: calls(), atMs: performance.now() }
      return isSpared
    },
    { what: 'calls are spared', timeoutMs: 60_000, everyMs: 100 },
  )
}
