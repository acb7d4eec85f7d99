import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { createEvmFollowing, type EvmFollowing } from '../support/evm-follow.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

/** Milliseconds of watching an idle network, and between its blocks meanwhile. */
const WATCH_MS = 24_000
const MINE_EVERY_MS = 250
/** Calls of a pass that reads on and reads again: they come at once and are rested off afterwards, at an edge of the watch not yet. */
const PASS_CALLS_MAX = 13
const timeout = 60_000

let chain: TestChain
let node: LyingRpc
let following: EvmFollowing

const callCount = () =>
  Object.entries(node.calls())
    .filter(([method]) => method !== 'eth_subscribe')
    .reduce((sum, [, count]) => sum + count, 0)

describe('the budget of calls', () => {
  before(async () => {
    chain = await startTestChain()
    node = await startLyingRpc(chain)
  })
  after(async () => {
    await node.stop()
    await chain.stop()
  })
  afterEach(() => following.close())

  for (const blockTimeMs of [250, 2_000]) {
    it(`one call a second while nobody waits, with a block each ${blockTimeMs} ms`, {
      timeout,
    }, async () => {
      const rpc = [node.wsUrl, node.httpUrl]
      following = await createEvmFollowing({ chain, rpc, changes: { blockTimeMs } })
      // A slot in quarantine, whose late transfers are still looked for.
      await following.claim(500)
      const { db } = following.database
      await db`
        update slots set is_open = false, ended_at = service_now(),
          release_at = service_now() + interval '1 day'`
      await following.start()
      const first = (await chain.head()).number
      await until(
        async () => {
          const [row] = await db<{ isRead: boolean | null }[]>`
            select block_number >= ${first} and audited_number > block_number - confirmations as is_read
            from deployments`
          return row?.isRead
        },
        { what: 'it has caught up, and read all that is deep twice' },
      )
      const callsBefore = callCount()
      const requestsBefore = node.requests().length
      const startedAt = performance.now()
      while (performance.now() - startedAt < WATCH_MS) {
        await chain.mine()
        await new Promise((done) => setTimeout(done, Math.max(MINE_EVERY_MS, blockTimeMs)))
      }
      const seconds = (performance.now() - startedAt) / 1_000
      const calls = callCount() - callsBefore
      const asked = node.requests().slice(requestsBefore).join('\n')
      assert.ok(calls <= seconds + PASS_CALLS_MAX, `${calls} calls in ${seconds} s:\n${asked}`)
      assert.ok((await following.position()) > first, 'and yet it follows')

      const { paymentId, due } = await following.claim(1_000)
      await until(() => callCount() > callsBefore + calls, { what: 'a payment wakes it' })
      await chain.pay({ token: chain.tokens.usdc, to: following.address, amountBaseUnits: due })
      await following.untilStatus(paymentId, 'DETECTED', 3_000)
    })
  }

  it('a standby asks no node', { timeout }, async () => {
    following = await createEvmFollowing({ chain, rpc: [node.httpUrl] })
    const { db } = following.database
    await db`
      insert into deployments (deployment, confirmations, leader, lease_until)
      values ('base:test', 3, 'somebody', service_now() + interval '1 hour')`
    const callsBefore = callCount()
    await following.start()
    await until(() => following.run().isStandingBy(), { what: 'it stands by' })
    assert.equal(callCount(), callsBefore)
  })
})
