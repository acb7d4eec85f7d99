import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type Budget, watchBudget } from '../support/budget.ts'
import { createEvmFollowing, type EvmFollowing } from '../support/evm-follow.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

/** Milliseconds of watching an idle network, and between its blocks meanwhile. */
const WATCH_MS = 22_000
const timeout = 60_000

type Case = { name: string; hasQuarantine: boolean; nodeCount: 1 | 2; isMute?: boolean }
type Watched = Case & { nodes: LyingRpc[]; following: EvmFollowing; budget?: Budget; first: number }

const CASES: readonly Case[] = [
  { name: 'with no slots at all', hasQuarantine: false, nodeCount: 1 },
  {
    name: 'with slots in quarantine, whose late transfers are still looked for',
    hasQuarantine: true,
    nodeCount: 1,
  },
  { name: 'with slots in quarantine and two providers', hasQuarantine: true, nodeCount: 2 },
  { name: 'without a websocket', hasQuarantine: true, nodeCount: 1, isMute: true },
]

for (const blockTimeMs of [250, 2_000]) {
  describe(`the budget of calls, with a block each ${blockTimeMs} ms`, () => {
    let chain: TestChain
    let watched: Watched[] = []
    let stopMining = () => {}

    before(async () => {
      chain = await startTestChain()
      const timer = setInterval(() => void chain.mine().catch(() => {}), blockTimeMs)
      stopMining = () => clearInterval(timer)
      watched = await Promise.all(CASES.map((one) => begin(chain, blockTimeMs, one)))
      await Promise.all(
        watched.map(async (one) => {
          const calls = () => one.nodes.reduce((sum, node) => sum + callCount(node), 0)
          one.budget = await watchBudget({
            db: one.following.database.db,
            calls,
            watchMs: WATCH_MS,
          })
        }),
      )
    })
    after(async () => {
      stopMining()
      await Promise.all(watched.map(({ following }) => following.close()))
      await Promise.all(watched.flatMap(({ nodes }) => nodes.map((node) => node.stop())))
      await chain.stop()
    })

    for (const [index, { name }] of CASES.entries()) {
      it(`is one a second while nobody waits, whenever one begins to count, ${name}`, () => {
        const { budget, nodes } = watched[index] as Watched
        const asked = nodes.map((node) => node.requests().join('\n')).join('\n---\n')
        budget?.assertOneCallASecond(asked)
      })

      it(`lets the network be followed meanwhile, and its head look alive, ${name}`, async () => {
        const { budget, following, first } = watched[index] as Watched
        budget?.assertAlive()
        assert.ok((await following.position()) > first)
        assert.ok((await auditedNumber(following)) > first - following.deployment.confirmations)
      })
    }

    it('is left at once for a payment', { timeout }, async () => {
      const [{ following, nodes }] = watched.filter((one) => one.nodeCount === 2) as [Watched]
      const calls = () => nodes.reduce((sum, node) => sum + callCount(node), 0)
      const before = calls()
      const startedAt = performance.now()
      const { paymentId, due } = await following.claim(1_000)
      await until(() => calls() > before + 5, { what: 'a payment wakes it', everyMs: 20 })
      assert.ok(performance.now() - startedAt < 2_000, 'within about a second')
      await chain.pay({ token: chain.tokens.usdc, to: following.address, amountBaseUnits: due })
      // With quick blocks it may be confirmed before anybody has looked.
      await until(async () => (await following.statusOf(paymentId)) !== 'PENDING', {
        what: 'the payment is seen',
        timeoutMs: 3_000,
      })
    })
  })
}

describe('the budget of calls', () => {
  it('is not touched by a standby: it asks no node', { timeout }, async () => {
    const chain = await startTestChain()
    const node = await startLyingRpc(chain)
    const following = await createEvmFollowing({ chain, rpc: [node.httpUrl] })
    try {
      const { db } = following.database
      await db`
        insert into deployments (deployment, confirmations, leader, lease_until)
        values ('base:test', 3, 'somebody', service_now() + interval '1 hour')`
      const callsBefore = callCount(node)
      await following.start()
      await until(() => following.run().isStandingBy(), { what: 'it stands by' })
      assert.equal(callCount(node), callsBefore)
    } finally {
      await following.close()
      await node.stop()
      await chain.stop()
    }
  })
})

function callCount(node: LyingRpc): number {
  return Object.entries(node.calls())
    .filter(([method]) => method !== 'eth_subscribe')
    .reduce((sum, [, count]) => sum + count, 0)
}

/** Follows the chain until all that is deep was read twice. */
async function begin(chain: TestChain, blockTimeMs: number, one: Case): Promise<Watched> {
  const nodes = await Promise.all(Array.from({ length: one.nodeCount }, () => startLyingRpc(chain)))
  const rpc = nodes.flatMap(({ wsUrl, httpUrl }, index) =>
    one.isMute
      ? [httpUrl]
      : [wsUrl, index === 0 ? httpUrl : httpUrl.replace('127.0.0.1', 'localhost')],
  )
  const following = await createEvmFollowing({ chain, rpc, changes: { blockTimeMs } })
  const { db } = following.database
  if (one.hasQuarantine) {
    await following.claim(500)
    await db`
      update slots set is_open = false, ended_at = service_now(),
        release_at = service_now() + interval '1 day'`
  }
  await following.start()
  const first = (await chain.head()).number
  await until(
    async () => {
      const [row] = await db<{ isRead: boolean | null }[]>`
        select block_number >= ${first} and audited_number >= ${first} - confirmations
            and head_seen_at is not null as is_read
        from deployments`
      return row?.isRead
    },
    { what: 'it has caught up, and read all that is deep twice', timeoutMs: 40_000 },
  )
  return { ...one, nodes, following, first }
}

async function auditedNumber({ database }: EvmFollowing): Promise<number> {
  const [row] = await database.db<{ auditedNumber: number }[]>`
    select audited_number from deployments`
  return row?.auditedNumber ?? 0
}
