import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newId } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'
import { RESCAN_KIND } from '#shared/requests.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { createEvmFollowing, type EvmFollowing } from '../support/evm-follow.ts'
import { randomEvmAddress } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 60_000

let chain: TestChain
let following: EvmFollowing
const lines: string[] = []

describe('a rescan', () => {
  before(async () => {
    chain = await startTestChain()
    const write = (line: string) => void lines.push(line)
    const log = createLog({ level: 'error', format: 'json', name: 'indexer', write })
    following = await createEvmFollowing({ chain, log })
  })
  after(async () => {
    await following.close()
    await chain.stop()
  })

  it('that finds what was missed says so in the log, with its transactions', {
    timeout,
  }, async () => {
    const { db } = following.database
    await following.start()
    const { paymentId, due } = await following.claim(1_000)
    // What a reader does not know to be a seller's address it passes over.
    await db`update wallets set address = ${randomEvmAddress()} where address = ${following.address}`
    const to = following.address
    const txHash = await chain.pay({ token: chain.tokens.usdc, to, amountBaseUnits: due })
    const { number } = await chain.head()
    await chain.mine(3)
    const isAudited = async () => {
      const rows = await db`select from deployments where audited_number >= ${number}`
      return rows.length === 1
    }
    await until(isAudited, { what: 'its block is read twice', timeoutMs: 20_000 })
    await db`update wallets set address = ${following.address}`
    await db`
      insert into requests (request_id, kind, subject, body)
      values (${newId('req')}, ${RESCAN_KIND}, 'base:test', ${db.json({ fromBlock: number, toBlock: number })})`
    await following.untilStatus(paymentId, 'CONFIRMED')
    assert.match(lines.join(), new RegExp(`found transfers that had been missed.*${txHash}`))
    await following.judge()
  })
})
