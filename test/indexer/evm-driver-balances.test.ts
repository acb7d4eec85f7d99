import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { AuditOptions, Driver, Observation } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { RpcError } from '../../indexer/rpc-error.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { LOG_LIES, type LyingRpc, type RpcLog, startLyingRpc } from '../support/lying-rpc.ts'
import { randomEvmAddress } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

const timeout = 30_000
const SELLER = '0x52908400098527886E0F7030069857D2E4169EE7'
/** More than a second reading takes receipts of. */
const BLOCKS = 300

let chain: TestChain
let node: LyingRpc
/** First and last block of a long range with a transfer of 1, one of 2 (in one block with one of 3) and one of 4. */
let from: number
let to: number
const open: Driver[] = []

function connect(): Driver {
  const deployment = chain.deployments({ rpc: [node.httpUrl] }).base
  const driver = createDriver({ deployment, log: silentLog, nowMs: Date.now })
  open.push(driver)
  return driver
}

const watching = (...others: string[]): AuditOptions => ({
  recipients: async () => [...others, SELLER],
})
const amounts = (transfers: Observation[]) => transfers.map((one) => one.amountBaseUnits)
const callsOf = (method: string) => node.calls()[method] ?? 0
const pay = (amountBaseUnits: bigint) =>
  chain.pay({ token: chain.tokens.usdc, to: SELLER, amountBaseUnits })

describe('one provider alone reads long ranges twice', () => {
  before(async () => {
    chain = await startTestChain({ statesKept: 2 * BLOCKS })
    node = await startLyingRpc(chain)
    from = (await chain.head()).number + 1
    await pay(1n)
    await chain.mine(BLOCKS / 2)
    await chain.payBatch(
      chain.tokens.usdc,
      [2n, 3n].map((amountBaseUnits) => ({ to: SELLER, amountBaseUnits })),
    )
    await chain.mine(BLOCKS / 2)
    await pay(4n)
    to = (await chain.head()).number
  })
  after(async () => {
    await node.stop()
    await chain.stop()
  })
  afterEach(async () => {
    for (const driver of open.splice(0)) await driver.stop()
    node.lie()
  })

  it('with a few calls when balances bear the logs out', { timeout }, async () => {
    const driver = connect()
    await driver.head()
    const before = { ...node.calls() }
    const audit = await driver.auditTransfers(from, to, watching())
    assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n, 4n])
    assert.equal(audit.method, 'logs borne out by balances')
    assert.equal(audit.readTo ?? to, to)
    assert.equal(audit.lastHash, (await chain.head()).hash)
    assert.equal(callsOf('eth_call') - (before['eth_call'] ?? 0), 4)
    assert.equal(callsOf('eth_getBlockReceipts'), before['eth_getBlockReceipts'] ?? 0)
  })

  const lies: Record<string, (logs: RpcLog[]) => unknown> = {
    empty: LOG_LIES.empty,
    'truncated at one log': (logs) => logs.slice(0, 1),
    'one of two in a block is missing': (logs) =>
      logs.filter(({ data }) => BigInt(String(data)) !== 3n),
    'a transfer that never was': (logs) =>
      logs.flatMap((log) => {
        const invented = { ...log, logIndex: '0x77', transactionHash: `0x${'77'.repeat(32)}` }
        return BigInt(String(log['data'])) === 1n ? [log, invented] : [log]
      }),
    'a wrong amount': (logs) =>
      logs.map((log) =>
        BigInt(String(log['data'])) === 4n ? { ...log, data: `0x${'0'.repeat(63)}5` } : log,
      ),
  }
  for (const [name, logs] of Object.entries(lies)) {
    it(`and finds by balances what a node’s logs say wrongly: ${name}`, { timeout }, async () => {
      node.lie({ logs })
      const audit = await connect().auditTransfers(from, to, watching())
      assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n, 4n])
    })
  }

  it('for many recipients at once', { timeout }, async () => {
    const others = Array.from({ length: 1_100 }, () => randomEvmAddress())
    node.lie({ logs: LOG_LIES.empty })
    const audit = await connect().auditTransfers(from, to, watching(...others))
    assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n, 4n])
  })

  it('by receipts, a part at a time, where old states are forgotten', { timeout }, async () => {
    node.lie({
      logs: LOG_LIES.empty,
      errors: { eth_call: { code: -32_000, message: 'missing trie node' } },
    })
    const driver = connect()
    const found: bigint[] = []
    let next = from
    while (next <= to) {
      const part = await driver.auditTransfers(next, to, watching())
      assert.equal(part.method, 'receipts')
      const last = part.readTo ?? to
      assert.ok(last - next < 64, `${last - next} blocks in one go`)
      assert.equal(part.lastHash, (await driver.block(last))?.hash)
      found.push(...amounts(part.transfers))
      next = last + 1
    }
    assert.deepEqual(found, [1n, 2n, 3n, 4n])
  })

  it('by balances on a node without receipts, too', { timeout }, async () => {
    node.lie({ missingMethods: ['eth_getBlockReceipts'] })
    const audit = await connect().auditTransfers(to - 1, to, watching())
    assert.equal(audit.method, 'logs borne out by balances')
    assert.deepEqual(amounts(audit.transfers), [4n])
  })

  it('and rejects when money moved that nothing tells of', { timeout }, async () => {
    node.lie({ logs: LOG_LIES.empty, missingMethods: ['eth_getBlockReceipts'] })
    await assert.rejects(
      connect().auditTransfers(from, to, watching()),
      (error) => error instanceof RpcError && error.kind === 'inconsistent',
    )
  })

  it('by logs alone while nobody waits and old states are forgotten', { timeout }, async () => {
    node.lie({ errors: { eth_call: { code: -32_000, message: 'missing trie node' } } })
    const before = callsOf('eth_getBlockReceipts')
    const options = { ...watching(), isThrifty: true }
    const audit = await connect().auditTransfers(from, to, options)
    assert.equal(audit.method, 'logs by range')
    assert.equal(callsOf('eth_getBlockReceipts'), before)
  })
})
