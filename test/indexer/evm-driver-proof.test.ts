import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { Driver, Proof } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type Lies, LOG_LIES, type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'

const SELLER = '0x52908400098527886E0F7030069857D2E4169EE7'

let chain: TestChain
let first: LyingRpc
let second: LyingRpc
/** A block with transfers of 1 and 2, and its hash. */
let paid: number
let hash: string
const open: Driver[] = []

function prove(nodes: readonly LyingRpc[]): Promise<Proof | undefined> {
  const deployment = chain.deployments({ rpc: nodes.map((node) => node.httpUrl) }).base
  const driver = createDriver({ deployment, log: silentLog, nowMs: Date.now })
  open.push(driver)
  assert.ok(driver.proveBlock)
  return driver.proveBlock(paid, [SELLER])
}

const amounts = (proof: Proof | undefined) => proof?.transfers.map((one) => one.amountBaseUnits)
const withoutReceipts: Lies = { results: { eth_getBlockReceipts: () => [] } }
const withoutStates: Lies = {
  errors: { eth_call: { code: -32_000, message: 'missing trie node' } },
}

describe('where readings of a block differ, balances', () => {
  before(async () => {
    chain = await startTestChain()
    first = await startLyingRpc(chain)
    second = await startLyingRpc(chain)
    const payments = [1n, 2n].map((amountBaseUnits) => ({ to: SELLER, amountBaseUnits }))
    await chain.payBatch(chain.tokens.usdc, payments)
    const head = await chain.head()
    paid = head.number
    hash = head.hash
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

  for (const [name, lies] of Object.entries<Lies>({
    'logs that are empty': { logs: LOG_LIES.empty },
    'logs that leave one out': { logs: LOG_LIES.partial },
    'logs that invent some': { logs: LOG_LIES.invented },
    'receipts that are empty': withoutReceipts,
    'no receipts': { missingMethods: ['eth_getBlockReceipts'] },
  })) {
    it(`tell the truth from ${name}`, async () => {
      first.lie(lies)
      const proof = await prove([first])
      assert.deepEqual(amounts(proof), [1n, 2n])
      assert.equal(proof?.blockHash, hash)
    })
  }

  it('of one provider judge the logs of another', async () => {
    first.lie({ logs: LOG_LIES.empty, ...withoutReceipts })
    second.lie(withoutStates)
    assert.deepEqual(amounts(await prove([first, second])), [1n, 2n])
  })

  for (const [name, lies] of Object.entries<Lies>({
    'when states are forgotten': { logs: LOG_LIES.empty, ...withoutStates },
    'when no reading explains them': { logs: LOG_LIES.empty, ...withoutReceipts },
    'when readings that differ both do': {
      logs: (logs) => logs.map((log) => ({ ...log, transactionHash: `0x${'99'.repeat(32)}` })),
    },
  })) {
    it(`decide nothing ${name}`, async () => {
      first.lie(lies)
      assert.equal(await prove([first]), undefined)
    })
  }

  it('decide nothing while providers see different blocks', async () => {
    second.lie({ forkFrom: paid })
    assert.equal(await prove([first, second]), undefined)
  })
})
