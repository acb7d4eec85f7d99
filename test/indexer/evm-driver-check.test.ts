import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { DeploymentMismatch, type Driver, type DriverDeps } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { RpcError } from '../../indexer/rpc-error.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'

let chain: TestChain
let first: LyingRpc
let second: LyingRpc
const open: Driver[] = []

function connect(changes: Partial<Deployment> & Partial<DriverDeps> = {}): Driver {
  const { nowMs = Date.now, log = silentLog, ...row } = changes
  const rpc = [first.httpUrl, second.httpUrl]
  const deployment = { ...chain.deployments({ rpc }).base, ...row } as Deployment
  const driver = createDriver({ deployment, log, nowMs })
  open.push(driver)
  return driver
}

const isMismatch =
  (...words: RegExp[]) =>
  (error: Error) =>
    error instanceof DeploymentMismatch && words.every((word) => word.test(error.message))

describe('the EVM driver checks', () => {
  before(async () => {
    chain = await startTestChain()
    first = await startLyingRpc(chain)
    second = await startLyingRpc(chain)
  })
  after(async () => {
    await Promise.all([first.stop(), second.stop()])
    await chain.stop()
  })
  afterEach(async () => {
    for (const driver of open.splice(0)) await driver.stop()
    for (const node of [first, second]) node.lie()
  })

  it('accepts nodes that are what the row says', async () => {
    await connect().check()
    await connect({ tokens: chain.deployments().bnb.tokens }).check()
  })

  it('refuses another chain, naming both', async () => {
    await assert.rejects(
      connect({ chainId: 8_453 }).check(),
      isMismatch(/31337/, /8453/, /base:test/),
    )
  })

  it('refuses a token with other decimals, naming both', async () => {
    const usdc = { contract: chain.tokens.usdc18, decimals: 6 }
    await assert.rejects(connect({ tokens: { usdc } }).check(), isMismatch(/usdc/, /18/, /6/))
  })

  it('refuses an address without a contract, and a contract that is no token', async () => {
    const nobody = { contract: '0x52908400098527886E0F7030069857D2E4169EE7', decimals: 6 }
    await assert.rejects(connect({ tokens: { usdc: nobody } }).check(), isMismatch(/no contract/))
    first.lie({ errors: { eth_call: { code: 3, message: 'execution reverted' } } })
    await assert.rejects(connect().check(), isMismatch(/does not tell its decimals/))
    first.lie({ results: { eth_call: () => '0x06' } })
    await assert.rejects(connect().check(), isMismatch(/decimals/))
  })

  it('uses no provider of another chain, and goes on with the right one', async () => {
    first.lie({ results: { eth_chainId: () => '0x1' } })
    const driver = connect()
    await driver.check()
    const before = first.calls()['eth_getBlockByNumber'] ?? 0
    await driver.head()
    assert.equal(first.calls()['eth_getBlockByNumber'] ?? 0, before)
    assert.equal(driver.health().provider, new URL(second.httpUrl).host)
  })

  it('asks the next provider when the first cannot call contracts', async () => {
    first.lie({ errors: { eth_call: { code: -32_000, message: 'header not found' } } })
    await connect().check()
  })

  it('does not call an unreachable or failing node a mismatch', async () => {
    await assert.rejects(connect({ rpc: ['http://127.0.0.1:1'] }).check(), RpcError)
    for (const node of [first, second]) node.lie({ status: { status: 503 } })
    await assert.rejects(connect().check(), RpcError)
  })

  it('waits for the right node when it is away and the other one is of another chain', async () => {
    first.lie({ status: { status: 503 } })
    second.lie({ results: { eth_chainId: () => '0x1' } })
    await assert.rejects(connect().check(), RpcError)
    second.lie({ status: { status: 503 } })
    first.lie({ results: { eth_chainId: () => '0x1' } })
    await assert.rejects(connect().check(), RpcError)
  })
})
