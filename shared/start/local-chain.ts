import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere } from '#shared/start/private-files.ts'
import {
  DEV_ACCOUNTS,
  deployToken,
  localCall,
  mint,
  untilMined,
} from '#shared/start/tokens/token.ts'

/** Contracts of the local chain's tokens. */
export type LocalTokens = { usdc: string; usdt: string; usdc18: string }

/** Networks of the table that are played on the local chain, all in test mode. */
export const LOCAL_NETWORKS = ['base', 'ethereum', 'bnb'] as const
export const LOCAL_CHAIN_ID = 31_337
/** Seconds between blocks: slow enough to see confirmations come, fast enough not to wait for them. */
export const LOCAL_BLOCK_TIME_SECONDS = 2
const CONFIRMATIONS = 3

/** The wallet the demo's buyer pays from. Another account deploys, so that contracts have the same addresses every time. */
export const BUYER = DEV_ACCOUNTS[1]
/** What the buyer is given of each token, in base units: more than any demo spends. */
const FUNDS = 10n ** 30n
const TOKENS_FILE = 'tokens.json'

/**
 * The local chain's tokens, deployed when they are not there yet. `isNewChain`: they had been deployed before and the chain
 * has lost them, so that it is another chain than the database knows.
 */
export async function prepareTokens(
  rpcUrl: string,
  directory: string,
): Promise<{ tokens: LocalTokens; isNewChain: boolean }> {
  const path = join(directory, TOKENS_FILE)
  const known = parseTokens(await readIfThere(path))
  if (known && (await areThere(rpcUrl, known))) {
    // The newest block is as old as the last stop: a new one tells followers that the chain is alive.
    await localCall(rpcUrl, 'evm_mine')
    return { tokens: known, isNewChain: false }
  }
  const tokens = {
    usdc: await deployToken(rpcUrl, { name: 'Test USD Coin', symbol: 'USDC', decimals: 6 }),
    usdt: await deployToken(rpcUrl, { name: 'Test Tether USD', symbol: 'USDT', decimals: 6 }),
    usdc18: await deployToken(rpcUrl, { name: 'Test USD Coin', symbol: 'USDC', decimals: 18 }),
  }
  for (const token of Object.values(tokens)) {
    // One after the other: the node counts an account's transactions only once it has them.
    await untilMined(rpcUrl, await mint(rpcUrl, { token, to: BUYER, amountBaseUnits: FUNDS }))
  }
  await writeFile(path, `${JSON.stringify(tokens, null, 2)}\n`)
  return { tokens, isNewChain: known !== undefined }
}

/**
 * The networks file of the local chain, laid under what the operator's own file says: USDC on base, USDT on ethereum, and a
 * USDC with 18 decimals that stands for BNB Chain, all in test mode on the one chain.
 */
export function localNetworks(
  tokens: LocalTokens,
  rpc: readonly string[],
  given: unknown,
): Record<string, unknown> {
  const row = {
    rpc,
    chainId: LOCAL_CHAIN_ID,
    confirmations: CONFIRMATIONS,
    blockTimeMs: LOCAL_BLOCK_TIME_SECONDS * 1000,
  }
  const local: Record<(typeof LOCAL_NETWORKS)[number], object> = {
    base: { ...row, tokens: { usdc: { contract: tokens.usdc, decimals: 6 } } },
    ethereum: { ...row, tokens: { usdt: { contract: tokens.usdt, decimals: 6 } } },
    bnb: { ...row, tokens: { usdc: { contract: tokens.usdc18, decimals: 18 } } },
  }
  const networks = (typeof given === 'object' && given !== null ? given : {}) as Record<
    string,
    Record<string, object>
  >
  const laid = Object.entries(local).map(([network, test]) => [
    network,
    { test, ...networks[network] },
  ])
  return { ...networks, ...Object.fromEntries(laid) }
}

function parseTokens(text: string | undefined): LocalTokens | undefined {
  if (text === undefined) return undefined
  const { usdc, usdt, usdc18 } = JSON.parse(text) as Partial<LocalTokens>
  return usdc && usdt && usdc18 ? { usdc, usdt, usdc18 } : undefined
}

async function areThere(rpcUrl: string, tokens: LocalTokens): Promise<boolean> {
  const codes = await Promise.all(
    Object.values(tokens).map((token) =>
      localCall<string>(rpcUrl, 'eth_getCode', [token, 'latest']),
    ),
  )
  return codes.every((code) => code !== '0x')
}
