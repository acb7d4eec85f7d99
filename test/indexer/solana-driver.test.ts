import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import type { Driver, Observation } from '../../indexer/drivers/driver.ts'
import { createSolanaDriver } from '../../indexer/drivers/solana.ts'
import type { Reading } from '../../indexer/drivers/solana-mode.ts'
import { randomSolanaAddress, type SvmChain, startSvmChain } from '../support/svm.ts'

/** Milliseconds: a chain is made once, then everything is quick. */
const timeout = 30_000
let chain: SvmChain
const drivers: Driver[] = []

before(
  async () => {
    chain = await startSvmChain()
  },
  { timeout },
)
after(
  async () => {
    await Promise.all(drivers.map((driver) => driver.stop()))
    await chain.stop()
  },
  { timeout },
)

function deploymentOf(changes: Partial<Deployment> = {}): Deployment {
  return {
    deployment: 'solana:test',
    network: 'solana',
    networkName: 'Solana',
    mode: 'test',
    family: 'solana',
    confirmations: 32,
    genesisHash: chain.ledger.genesisHash,
    tokens: {
      usdc: { contract: chain.mints.usdc, decimals: 6 },
      usdt: { contract: chain.mints.usdt, decimals: 6 },
    },
    rpc: [chain.node.httpUrl],
    clockToleranceMs: 30_000,
    blockTimeMs: 400,
    isOn: true,
    ...changes,
  } as Deployment
}

async function connect(reading: Reading, changes: Partial<Deployment> = {}): Promise<Driver> {
  const deps = {
    deployment: deploymentOf({ reading, ...changes } as Partial<Deployment>),
    log: silentLog,
    nowMs: () => Date.now(),
  }
  const driver = createSolanaDriver(deps)
  drivers.push(driver)
  await driver.check()
  return driver
}

const essence = ({
  to,
  contract,
  amountBaseUnits,
  txHash,
  from,
  index,
  blockHash,
}: Observation) => {
  return { to, contract, amountBaseUnits, txHash, from, index, blockHash }
}

test('slots that a node may have forgotten are not said to come only yet', {
  timeout,
}, async () => {
  // Nodes that started from a snapshot say of what is before it what they say of a skipped slot.
  const forgotten = (chain.ledger.blocks[0]?.slot ?? 0) - 1
  for (const reading of ['blocks', 'accounts'] as const) {
    const driver = await connect(reading)
    await assert.rejects(driver.auditTransfers(forgotten, forgotten), /does not keep it any more/)
  }
})

test('both ways of reading see the same transfer, and the second reading of each sees it again', {
  timeout,
}, async () => {
  const to = await randomSolanaAddress()
  const blocks = await connect('blocks')
  const accounts = await connect('accounts')
  const first = (await blocks.head()).number + 1
  const txHash = await chain.pay({ to, amountBaseUnits: 12_345_678n })
  const head = await blocks.head()
  await accounts.head()
  await accounts.expect?.([to])
  const byBlocks = await blocks.rangeWithTransfers(first, head.number)
  const byAccounts = await accounts.rangeWithTransfers(first, head.number)
  assert.equal(byBlocks.transfers.length, 1)
  assert.deepEqual(byBlocks.transfers.map(essence), byAccounts.transfers.map(essence))
  assert.equal(byBlocks.transfers[0]?.txHash, txHash)
  assert.equal(byBlocks.transfers[0]?.from, chain.buyer.address)
  assert.deepEqual(byBlocks.last, head)
  assert.equal(byAccounts.last.hash, head.hash)
  chain.finalize()
  for (const driver of [blocks, accounts]) {
    const again = await driver.auditTransfers(first, head.number)
    assert.deepEqual(again.transfers.map(essence), byBlocks.transfers.map(essence))
    assert.equal(again.lastHash, head.hash)
  }
})
