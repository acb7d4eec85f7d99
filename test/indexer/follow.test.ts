import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { withTransaction } from '#shared/db.ts'
import { createLog } from '#shared/log.ts'
import { noticeCredits } from '#shared/payments/notice.ts'
import { lockPayments } from '#shared/payments/queries.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { TEST_DOOR } from '../support/door.ts'
import { createEvmFollowing, type EvmFollowing } from '../support/evm-follow.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 60_000
/** Milliseconds for which second readings wait after a block with hits, blocks that come alone, and one after the other. */
const AUDIT_WAITS_MS = 30
const ALONE_COUNT = 5
const STREAMED_MAX = 100

let chain: TestChain
let following: EvmFollowing

const pay = (amountBaseUnits: bigint) =>
  chain.pay({ token: chain.tokens.usdc, to: following.address, amountBaseUnits })
const untilAtHead = async () => {
  const { number } = await chain.head()
  await until(async () => (await following.position()) >= number, {
    what: `the cursor is at ${number}`,
    timeoutMs: 15_000,
  })
}

describe('the follower', () => {
  beforeEach(async () => {
    chain = await startTestChain()
    following = await createEvmFollowing({ chain })
  })
  afterEach(async () => {
    await following.close()
    await chain.stop()
  })

  it('begins before the oldest payment that waits, so that what was paid meanwhile is found', {
    timeout,
  }, async () => {
    const { paymentId, due } = await following.claim(1_000)
    await pay(due)
    await chain.mine(30)
    await following.start()
    await following.untilStatus(paymentId, 'CONFIRMED')
    await following.judge()
  })

  for (const [how, blockTimeMs] of [
    ['block by block', 2_000],
    ['in ranges', 250],
  ] as const) {
    it(`takes nothing back for a head that is lower than its cursor, until a longer branch is there, read ${how}`, {
      timeout,
    }, async () => {
      await following.close()
      // The depth is far: no second reading tells that a block was replaced.
      following = await createEvmFollowing({ chain, changes: { confirmations: 50, blockTimeMs } })
      await following.start()
      await untilAtHead()
      const { paymentId, due } = await following.claim(1_000)
      await pay(due)
      await following.untilStatus(paymentId, 'DETECTED')
      const position = await following.position()
      await chain.rollback(1)
      await until(async () => (await headOf(following)) < position, {
        what: 'the lower head was seen',
        timeoutMs: 10_000,
      })
      assert.equal(await following.statusOf(paymentId), 'DETECTED')
      assert.equal(await following.position(), position)
      await chain.mine(3)
      await following.untilStatus(paymentId, 'PENDING')
      await following.judge()
    })
  }

  it('settles what a seller attaches to a block at depth, though the chain rests', {
    timeout,
  }, async () => {
    const { db } = following.database
    await following.start()
    await untilAtHead()
    const { paymentId, due } = await following.claim(1_000)
    await pay(due * 3n)
    await chain.mine(5)
    const { number } = await chain.head()
    const isRead = async () => {
      const rows = await db`select 1 from deployments where audited_number = ${number - 2}`
      return rows.length === 1
    }
    await until(isRead, { what: 'all at depth is read twice', timeoutMs: 20_000 })
    await withTransaction(db, async (tx) => {
      const locked = await lockPayments(tx, [paymentId])
      await tx`
        update transfers set state = 'MATCHED', payment_id = ${paymentId}, rule = 'attached', reason = null`
      await tx`update inbox set state = 'MATCHED'`
      await noticeCredits(tx, locked, [paymentId], number, TEST_DOOR)
    })
    await following.untilStatus(paymentId, 'OVERPAID')
    assert.equal((await chain.head()).number, number, 'no block came')
    await following.judge()
  })

  it('warns of a chain whose time is far from the clock that payments are dated by', {
    timeout,
  }, async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const log = createLog({ level: 'info', format: 'json', name: 'indexer', write })
    const told = await createEvmFollowing({ chain, log, database: following.database })
    const isTold = (words: RegExp) => until(() => words.test(lines.join()), { what: `${words}` })
    await chain.mine()
    await told.start()
    await isTold(/starts following/)
    assert.doesNotMatch(lines.join(), /far from/)
    await told.stop()
    await chain.increaseTime(60)
    await chain.mine()
    await told.start()
    await isTold(/far from Postgres's clock.*"aheadS":"?(59|6\d)/)
    await told.close()
  })

  it('reads anew, loudly, after a reorganisation deeper than any block it knows, and undoes nothing that ended', {
    timeout,
  }, async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const log = createLog({ level: 'error', format: 'json', name: 'indexer', write })
    const deep = await createEvmFollowing({ chain, log, database: following.database })
    const payTo = (amountBaseUnits: bigint) =>
      chain.pay({ token: chain.tokens.usdc, to: deep.address, amountBaseUnits })
    await chain.mine(5)
    await deep.start()
    await untilAtHead()
    const [settled, gone] = [await deep.claim(1_000), await deep.claim(2_000)]
    const kept = await payTo(settled.due)
    await chain.mine(3)
    await deep.untilStatus(settled.paymentId, 'CONFIRMED')
    await payTo(gone.due)
    await deep.untilStatus(gone.paymentId, 'DETECTED')
    await deep.stop()
    const { number } = await chain.head()
    await chain.reorg(number - 12, [kept])
    await chain.mine(4)
    await deep.start()
    await deep.untilStatus(gone.paymentId, 'PENDING')
    assert.match(lines.join(), /reorganised deeper than any stored block/)
    await payTo(gone.due)
    await chain.mine(3)
    await deep.untilStatus(gone.paymentId, 'CONFIRMED')
    assert.equal(await deep.statusOf(settled.paymentId), 'CONFIRMED')
    assert.equal(await deep.heldCount(), 0, 'its transaction was found again')
    await deep.judge()
    await deep.close()
  })

  it('stays off, loudly and without going back, when the chain was reset', {
    timeout,
  }, async () => {
    await following.start()
    await untilAtHead()
    const position = await following.position()
    await following.stop()
    await chain.stop()
    // The first block of a local chain differs by its time, in whole seconds.
    const second = Math.ceil(Date.now() / 1_000)
    await until(() => Date.now() / 1_000 > second, { what: 'the next second' })
    chain = await startTestChain()
    const old = following
    following = await createEvmFollowing({ chain, database: old.database })
    await following.start()
    const reason = async () => {
      const [row] = await following.database.db`
        select halted_reason from deployments where deployment = 'base:test'`
      return row?.['haltedReason'] as string | null
    }
    await until(reason, { what: 'a reason is told', timeoutMs: 15_000 })
    assert.match(String(await reason()), /begins with block .* it was reset/)
    assert.ok(following.run().isHalted(), 'and readiness says so')
    assert.equal(await following.position(), position)
    await following.stop()
    await old.close()
  })

  it('lets what a block set off go before second readings, which come under a stream of such blocks too', {
    timeout,
  }, async () => {
    const { database } = following
    const changes = { confirmations: 1 }
    const shallow = await createEvmFollowing({ chain, database, changes })
    const { db } = database
    const payNext = async () => {
      const { paymentId, due } = await shallow.claim(1_000)
      await chain.pay({ token: chain.tokens.usdc, to: shallow.address, amountBaseUnits: due })
      return paymentId
    }
    await shallow.start()
    // Somebody waits all the time: else calls are spared, and blocks read when it is noticed that somebody does.
    await shallow.claim(2_000)
    for (let count = 0; count < ALONE_COUNT; count += 1) {
      await shallow.untilStatus(await payNext(), 'CONFIRMED')
    }
    const times = await db<{ waitedMs: number }[]>`
      select extract(epoch from settled_at - detected_at)::float8 * 1000 as waited_ms
      from payments
      where status = 'CONFIRMED'`
    assert.equal(times.length, ALONE_COUNT)
    for (const { waitedMs } of times) assert.ok(waitedMs >= AUDIT_WAITS_MS, `${waitedMs} ms`)
    const first = await payNext()
    for (let count = 0; (await shallow.statusOf(first)) !== 'CONFIRMED'; count += 1) {
      assert.ok(count < STREAMED_MAX, 'second readings wait for ever')
      await payNext()
    }
    await shallow.close()
  })

  it('goes on from any place it was stopped at', { timeout }, async () => {
    await following.start()
    await untilAtHead()
    const { paymentId, due } = await following.claim(1_000)
    await following.stop()
    await pay(due)
    await chain.mine(900)
    for (let round = 0; round < 3; round += 1) {
      await following.start()
      await until(() => following.run().isLeading(), { what: 'it leads', timeoutMs: 10_000 })
      await following.stop()
    }
    await following.start()
    await following.untilStatus(paymentId, 'CONFIRMED')
    await untilAtHead()
    await following.judge()
  })
})

async function headOf({ database }: EvmFollowing): Promise<number> {
  const [row] = await database.db<{ headNumber: number }[]>`
    select head_number from deployments where deployment = 'base:test'`
  return row?.headNumber ?? 0
}
