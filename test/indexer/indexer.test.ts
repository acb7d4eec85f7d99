import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createLog, type Log, silentLog } from '#shared/log.ts'
import { SchemaError } from '#shared/migrate.ts'
import { buildDeployments, type Deployment } from '#shared/networks/registry.ts'
import type { Indexer } from '../../indexer/indexer.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startTestIndexer } from '../support/indexer.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 60_000
/** Blocks that are read one after another: a second or so. */
const BLOCKS = 5

let chain: TestChain
let database: TestDatabase
let indexer: Indexer

const start = (deployments: readonly Deployment[], log: Log = silentLog) =>
  startTestIndexer({ database, deployments, log })

type Row = { epoch: number; blockNumber: number | null; haltedReason: string | null }
const rowOf = async (name: string) => {
  const [row] = await database.db<Row[]>`
    select epoch, block_number, halted_reason from deployments where deployment = ${name}`
  return row
}
const isHalted = async (name: string) => (await rowOf(name))?.haltedReason

describe('a deployment whose node is not what its row says', () => {
  before(async () => {
    ;[chain, database] = await Promise.all([startTestChain(), createTestDatabase()])
    const { base, ethereum, bnb } = chain.deployments()
    const usdc = { contract: chain.tokens.usdc18, decimals: 6 }
    const halted = [{ ...ethereum, chainId: 5 } as Deployment, { ...bnb, tokens: { usdc } }]
    indexer = await start([base, ...halted])
  })
  after(async () => {
    await indexer.stop()
    await Promise.all([chain.stop(), database.drop()])
  })

  it('stays off and says why, and leaves the others running', { timeout }, async () => {
    const reasons = await until(
      async () => {
        const told = [await isHalted('ethereum:test'), await isHalted('bnb:test')]
        return told.every((reason) => reason) && told
      },
      { what: 'both are halted', timeoutMs: 20_000 },
    )
    assert.match(reasons[0] ?? '', /ethereum:test: .* is chain 31337, the networks table says 5/)
    assert.match(reasons[1] ?? '', /bnb:test: usdc .* decimals are 18, the networks table says 6/)
    assert.equal(await isHalted('base:test'), null)
  })

  it('is asked again now and then, not in a loop that its own lease keeps going', {
    timeout,
  }, async () => {
    await until(() => isHalted('bnb:test'), { what: 'it is halted', timeoutMs: 20_000 })
    // Somebody waits on the other one, so that its blocks are read as they come.
    await database.db`
      insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
        is_exclusive, expires_at)
      values ('0x', 1, 'usdc', 'base:test', 'pay_', 'store_', 1, false, service_now() + interval '1 hour')`
    const before = (await rowOf('bnb:test'))?.epoch ?? 0
    for (let count = 0; count < BLOCKS; count += 1) {
      await chain.mine()
      const { number } = await chain.head()
      await until(async () => Number((await rowOf('base:test'))?.blockNumber) >= number, {
        what: 'the block is read',
        timeoutMs: 10_000,
      })
    }
    const epoch = (await rowOf('bnb:test'))?.epoch ?? 0
    assert.ok(epoch - before <= 1, `led ${epoch - before} times meanwhile`)
  })
})

describe('at its start the indexer', () => {
  before(async () => {
    database = await createTestDatabase()
  })
  after(() => database.drop())

  it('refuses a schema of another version, and follows nothing', { timeout }, async () => {
    const { db } = database
    await db`insert into migrations (name, sha256) values ('9999_future.sql', '00')`
    const all = buildDeployments({ base: { test: { rpc: ['http://127.0.0.1:9/'] } } })
    const on = [...all.values()].filter(({ isOn }) => isOn)
    assert.equal(on.length, 1)
    await assert.rejects(start(on), (error) => {
      return error instanceof SchemaError && /9999_future\.sql/.test(error.message)
    })
    assert.equal(await rowOf('base:test'), undefined)
    await db`delete from migrations where name = '9999_future.sql'`
  })

  it('warns of a live deployment with one provider, and a websocket of the same host is none', {
    timeout,
  }, async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const log = createLog({ level: 'warn', format: 'json', name: 'indexer', write })
    const one = ['ws://127.0.0.1:9/', 'http://127.0.0.1:9/']
    const all = buildDeployments({
      base: { live: { rpc: one }, test: { rpc: one } },
      polygon: { live: { rpc: [...one, 'http://localhost:9/'] } },
    })
    const started = await start(
      [...all.values()].filter(({ isOn }) => isOn),
      log,
    )
    await started.stop()
    const warned = lines
      .map((line) => JSON.parse(line))
      .filter(({ message }) => /only one/.test(message))
    assert.deepEqual(
      warned.map(({ deployment }) => deployment),
      ['base:live'],
    )
  })
})
