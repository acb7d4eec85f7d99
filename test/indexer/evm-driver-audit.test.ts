import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { Driver, Observation } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { LOG_LIES, type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'

const SELLER = '0x52908400098527886E0F7030069857D2E4169EE7'

let chain: TestChain
let first: LyingRpc
let second: LyingRpc
/** A block with three transfers; two empty ones follow it. */
let paid: number
const open: Driver[] = []

function connect(nodes: readonly LyingRpc[]): Driver {
  const rpc = nodes.map((node) => node.httpUrl)
  const deployment = chain.deployments({ rpc }).base
  const driver = createDriver({ deployment, log: silentLog, nowMs: Date.now })
  open.push(driver)
  return driver
}

const amounts = (transfers: Observation[]) => transfers.map((one) => one.amountBaseUnits)
const hostOf = (node: LyingRpc) => new URL(node.httpUrl).host

describe('the EVM driver reads twice', () => {
  before(async () => {
    chain = await startTestChain()
    first = await startLyingRpc(chain)
    second = await startLyingRpc(chain)
    const payments = [1n, 2n, 3n].map((amountBaseUnits) => ({ to: SELLER, amountBaseUnits }))
    await chain.payBatch(chain.tokens.usdc, payments)
    paid = (await chain.head()).number
    await chain.mine(2)
  })
  after(async () => {
    await Promise.all([first.stop(), second.stop()])
    await chain.stop()
  })
  afterEach(async () => {
    for (const driver of open.splice(0)) await driver.stop()
    for (const node of [first, second]) node.lie()
  })

  for (const lie of ['empty', 'partial'] as const) {
    it(`by receipts what one provider's logs left out (${lie})`, async () => {
      const driver = connect([first])
      first.lie({ logs: LOG_LIES[lie] })
      const reading = await driver.blockWithTransfers(paid)
      assert.ok((reading?.transfers.length ?? 3) < 3)
      const audit = await driver.auditTransfers(paid, paid + 2)
      assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n])
      assert.equal(audit.method, 'receipts')
      assert.equal(audit.lastHash, (await driver.block(paid + 2))?.hash)
    })

    it(`by another provider what the first left out (${lie})`, async () => {
      const driver = connect([first, second])
      first.lie({ logs: LOG_LIES[lie] })
      await driver.rangeWithTransfers(paid, paid + 2)
      const audit = await driver.auditTransfers(paid, paid + 2)
      assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n])
      assert.equal(audit.method, `logs from ${hostOf(second)}`)
    })
  }

  it('the same transfers, field by field, by every method', async () => {
    const plain = (transfers: Observation[]) => transfers.map((one) => ({ ...one }))
    const truth = plain((await connect([first]).blockWithTransfers(paid))?.transfers ?? [])
    assert.equal(truth.length, 3)
    const byReceipts = await connect([first]).auditTransfers(paid, paid)
    const byOther = await connect([first, second]).auditTransfers(paid, paid)
    first.lie({ missingMethods: ['eth_getBlockReceipts'] })
    const byLogs = await connect([first]).auditTransfers(paid, paid)
    for (const audit of [byReceipts, byOther, byLogs]) {
      assert.deepEqual(plain(audit.transfers), truth)
    }
    const methods = [byReceipts, byOther, byLogs].map(({ method }) => method)
    assert.deepEqual(methods, ['receipts', `logs from ${hostOf(second)}`, 'logs by range'])
  })

  it('by another method, without waiting, while the other provider is away', async () => {
    const driver = connect([first, second])
    first.lie({ requests: 'reset' })
    await driver.blockWithTransfers(paid)
    first.lie()
    const { method } = await driver.auditTransfers(paid, paid)
    assert.equal(method, 'receipts')
  })

  it('by receipts when the other provider is away', async () => {
    const driver = connect([first, second])
    await driver.blockWithTransfers(paid)
    second.lie({ requests: 'reset' })
    const { method, transfers } = await driver.auditTransfers(paid, paid)
    assert.equal(method, 'receipts')
    assert.deepEqual(amounts(transfers), [1n, 2n, 3n])
  })

  it('asks for receipts once only on a node that has none', async () => {
    const driver = connect([first])
    first.lie({ missingMethods: ['eth_getBlockReceipts'] })
    const before = first.calls()['eth_getBlockReceipts'] ?? 0
    await driver.auditTransfers(paid, paid)
    await driver.auditTransfers(paid, paid)
    assert.equal((first.calls()['eth_getBlockReceipts'] ?? 0) - before, 1)
  })

  it('never takes a lagging provider’s silence for an empty block', async () => {
    const driver = connect([first, second])
    await driver.blockWithTransfers(paid)
    second.lie({ headMax: paid - 1 })
    const audit = await driver.auditTransfers(paid, paid)
    assert.notEqual(audit.method, `logs from ${hostOf(second)}`)
    assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n])
  })

  it('the whole of a long range, in as many parts as the node wants', async () => {
    await chain.mine(100)
    const to = (await chain.head()).number
    const driver = connect([first])
    first.lie({ rangeBlocksMax: { blocks: 20 }, missingMethods: ['eth_getBlockReceipts'] })
    const audit = await driver.auditTransfers(paid, to)
    assert.equal(audit.method, 'logs by range')
    assert.deepEqual(amounts(audit.transfers), [1n, 2n, 3n])
    assert.equal(audit.lastHash, (await chain.head()).hash)
  })

  it('rejects when nobody can read a second time', async () => {
    const driver = connect([first])
    first.lie({ requests: 'reset' })
    await assert.rejects(driver.auditTransfers(paid, paid))
  })
})
