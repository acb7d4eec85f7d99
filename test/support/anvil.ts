import { silentLog } from '#shared/log.ts'
import { buildDeployments, type Deployment } from '#shared/networks/registry.ts'
import { type AnvilOptions, type RunningAnvil, startAnvil } from '#shared/start/anvil.ts'
import {
  DEV_ACCOUNTS,
  deployBatchPayer,
  deployToken,
  localCall,
  mint,
  payBatch,
  payStrangers,
  transfer,
  untilMined,
} from '#shared/start/tokens/token.ts'

type Address = string
export type Pay = { token: Address; to: Address; amountBaseUnits: bigint; from?: Address }
export type LocalTokens = { usdc: Address; usdt: Address; usdc18: Address }

/** A local chain with tokens on it, and the hand that drives it. */
export type TestChain = {
  node: RunningAnvil
  httpUrl: string
  wsUrl: string
  /** Test USDC and USDT with 6 decimals, and a USDC with 18, all held by the first dev account. */
  tokens: LocalTokens
  /** Pays as a wallet does and answers the transaction's hash; already in a block while automine is on. */
  pay(payment: Pay): Promise<string>
  /** Several payments in one transaction of one token. */
  payBatch(token: Address, payments: { to: Address; amountBaseUnits: bigint }[]): Promise<string>
  /**
   * Up to 4,000 transfers in one block to addresses of nobody, the same ones for the same seed: new ones are state that
   * the node copies and hashes with every block (90,000 of them: 0.1 s a block).
   */
  payStrangers(token: Address, count: number, seed?: bigint): Promise<string>
  /** Mines this many blocks at once; with `seconds`, that far apart. */
  mine(count?: number, seconds?: number): Promise<void>
  automine(isOn: boolean): Promise<void>
  /** Unix seconds of the next block. */
  setNextBlockTime(unixSeconds: number): Promise<void>
  increaseTime(seconds: number): Promise<void>
  /**
   * Replaces the last `depth` blocks by others. The transactions named are in the first of them again, in this order;
   * the rest is gone. Anvil re-emits heads, but no `removed` logs.
   */
  reorg(depth: number, keepTxHashes?: readonly string[]): Promise<void>
  /** Takes the last `depth` blocks away; nothing is emitted until the next block. */
  rollback(depth: number): Promise<void>
  snapshot(): Promise<string>
  revert(snapshot: string): Promise<void>
  head(): Promise<ChainHead>
  /** Deployments of this chain: base:test usdc (6), ethereum:test usdt (6), bnb:test usdc (18). */
  deployments(options?: DeploymentOptions): Record<'base' | 'ethereum' | 'bnb', Deployment>
  /** Any call, for what has no name here. */
  call<T>(method: string, params?: readonly unknown[]): Promise<T>
  stop(): Promise<void>
}

export type ChainHead = { number: number; hash: string; parentHash: string; timestamp: number }
export type DeploymentOptions = {
  /** Endpoints instead of the chain's own websocket and HTTP ones. */
  rpc?: string[]
  confirmations?: number
}

/** Base units that the first dev account and the batch payer start with: enough for every test. */
const FUNDS = 10n ** 30n

/** Starts a chain of one's own: for one suite, stopped in its `after`. */
export async function startTestChain(options: Partial<AnvilOptions> = {}): Promise<TestChain> {
  const node = await startAnvil({ log: silentLog, ...options })
  try {
    return await describeChain(node)
  } catch (error) {
    await node.stop()
    throw error
  }
}

async function describeChain(node: RunningAnvil): Promise<TestChain> {
  const url = node.httpUrl
  const call = <T>(method: string, params: readonly unknown[] = []) =>
    localCall<T>(url, method, params)
  const tokens = {
    usdc: await deployToken(url, { name: 'Test USD Coin', symbol: 'USDC', decimals: 6 }),
    usdt: await deployToken(url, { name: 'Test Tether USD', symbol: 'USDT', decimals: 6 }),
    usdc18: await deployToken(url, { name: 'Test USD Coin', symbol: 'USDC', decimals: 18 }),
  }
  const payer = await deployBatchPayer(url)
  for (const token of Object.values(tokens)) {
    for (const to of [DEV_ACCOUNTS[0], payer]) {
      await untilMined(url, await mint(url, { token, to, amountBaseUnits: FUNDS }))
    }
  }
  let isAutomine = true
  /** Anvil answers before the block is there. */
  const settled = async (sent: Promise<string>) => {
    const txHash = await sent
    if (isAutomine) await untilMined(url, txHash)
    return txHash
  }
  return {
    node,
    httpUrl: url,
    wsUrl: node.wsUrl,
    tokens,
    pay: (payment) => settled(transfer(url, payment)),
    payBatch: (token, payments) => settled(payBatch(url, { payer, token, payments })),
    payStrangers: (token, count, seed = 1n) =>
      settled(payStrangers(url, { payer, token, seed, count, amountBaseUnits: 1_000_000n })),
    mine: (count = 1, seconds) =>
      call('anvil_mine', seconds === undefined ? [hex(count)] : [hex(count), hex(seconds)]),
    async automine(isOn) {
      await call('evm_setAutomine', [isOn])
      isAutomine = isOn
    },
    setNextBlockTime: (unixSeconds) => call('evm_setNextBlockTimestamp', [hex(unixSeconds)]),
    increaseTime: (seconds) => call('evm_increaseTime', [hex(seconds)]),
    async reorg(depth, keepTxHashes = []) {
      const kept: [string, number][] = []
      for (const txHash of keepTxHashes) {
        kept.push([await call<string>('eth_getRawTransactionByHash', [txHash]), 0])
      }
      await call('anvil_reorg', [depth, kept])
    },
    rollback: (depth) => call('anvil_rollback', [depth]),
    snapshot: () => call<string>('evm_snapshot'),
    revert: async (snapshot) => {
      if (!(await call<boolean>('evm_revert', [snapshot]))) throw new Error('no such snapshot')
    },
    async head() {
      const block = await call<{
        number: string
        hash: string
        parentHash: string
        timestamp: string
      }>('eth_getBlockByNumber', ['latest', false])
      const { hash, parentHash } = block
      return { number: Number(block.number), hash, parentHash, timestamp: Number(block.timestamp) }
    },
    deployments: ({ rpc = [node.wsUrl, url], confirmations = 3 } = {}) =>
      deploymentsOf(tokens, rpc, confirmations),
    call,
    stop: () => node.stop(),
  }
}

function deploymentsOf(tokens: LocalTokens, rpc: string[], confirmations: number) {
  const row = { rpc, confirmations, chainId: 31_337, blockTimeMs: 1_000 }
  const token = (contract: string, decimals: number) => ({ contract, decimals })
  const all = buildDeployments({
    base: { test: { ...row, tokens: { usdc: token(tokens.usdc, 6) } } },
    ethereum: { test: { ...row, tokens: { usdt: token(tokens.usdt, 6) } } },
    bnb: { test: { ...row, tokens: { usdc: token(tokens.usdc18, 18) } } },
  })
  const get = (name: string): Deployment => {
    const deployment = all.get(name)
    if (!deployment) throw new Error(`no deployment ${name}`)
    return deployment
  }
  return { base: get('base:test'), ethereum: get('ethereum:test'), bnb: get('bnb:test') }
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}
