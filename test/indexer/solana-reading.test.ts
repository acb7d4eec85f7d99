import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Following, type OpenSeller, startFollowing } from '../support/svm-follow.ts'
import { until } from '../support/until.ts'

/** Milliseconds: some fifty payments are followed to finality. */
const timeout = 60_000
/** Blocks of less than a minute, and milliseconds in which they are read: two looks at the head with nobody waiting. */
const IDLE_BLOCKS = 60
const IDLE_MS_MAX = 30_000

test('many sellers and few: the way of reading changes with them, and no slot is lost', {
  timeout,
}, async () => {
  const following = await startFollowing({ reading: 'auto' })
  const { chain, database } = following
  const stopBlocks = chain.run(50)
  const ways = () =>
    following.lines
      .filter(({ message }) => message.includes('another way'))
      .map(({ fields }) => fields?.['byAccounts'])
  try {
    const few = await following.openSellers(20)
    for (const one of few) await pay(following, one)
    const many = await following.openSellers(30)
    for (const one of many) await pay(following, one)
    await until(() => ways().length === 1, { what: 'blocks are read', timeoutMs: 20_000 })
    for (const { paymentId } of [...few, ...many]) {
      await following.untilStatus(paymentId, 'CONFIRMED', { isProducing: false })
    }
    // Their quarantine is over: few are left to wait for.
    await database.db`delete from slots where not is_open`
    const last = await following.openSellers(3)
    await until(() => ways().length === 2, { what: 'accounts are read', timeoutMs: 20_000 })
    for (const one of last) await pay(following, one)
    for (const { paymentId } of last) {
      await following.untilStatus(paymentId, 'CONFIRMED', { isProducing: false })
    }
    assert.deepEqual(ways(), [false, true])
    assert.deepEqual(
      following.lines.filter(({ level }) => level === 'error'),
      [],
    )
    stopBlocks()
    await following.stop()
    await following.judge()
  } finally {
    stopBlocks()
    await following.close()
  }
})

// Guards against a call in a second and a half for each of two blocks and a half a second: the head looked stalled for minutes.
test('blocks are read as they come while nobody waits, too', { timeout }, async () => {
  const following = await startFollowing({ reading: 'blocks' })
  const { chain, database } = following
  const isAtTip = async () => {
    // The newest block confirms the one before.
    const slot = chain.ledger.tip.slot - 1
    const rows = await database.db`select from deployments where block_number >= ${slot}`
    return rows.length === 1
  }
  try {
    await until(isAtTip, { what: 'the tip is read', timeoutMs: 30_000 })
    chain.produce(IDLE_BLOCKS)
    await until(isAtTip, { what: 'the blocks are read', timeoutMs: IDLE_MS_MAX })
  } finally {
    await following.close()
  }
})

async function pay(following: Following, { address, due }: OpenSeller): Promise<void> {
  await following.chain.pay({ to: address, amountBaseUnits: due, isQueued: true })
  await new Promise((done) => setTimeout(done, 30))
}
