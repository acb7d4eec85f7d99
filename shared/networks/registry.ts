import { arbitrum } from './arbitrum.ts'
import { avalanche } from './avalanche.ts'
import { base } from './base.ts'
import { bnb } from './bnb.ts'
import { ethereum } from './ethereum.ts'
import type { MODES, TOKENS } from './names.ts'
import { optimism } from './optimism.ts'
import { overlayNetworks } from './overlay.ts'
import { polygon } from './polygon.ts'
import { solana } from './solana.ts'

/** Decided by the key that made an object. */
export type Mode = (typeof MODES)[number]
/** A stablecoin at checkout. */
export type Token = (typeof TOKENS)[number]
/** How a chain behaves: which addresses it has and which driver follows it. */
export type Family = 'evm' | 'solana'

/** `contract` is the EIP-55 address (EVM) or the mint (Solana, base58). */
export type TokenContract = { readonly contract: string; readonly decimals: number }
export type Tokens = { readonly [T in Token]?: TokenContract }
/** A contract that is watched, and the token that it is, or was. */
export type WatchedToken = TokenContract & { readonly token: string }

type SharedFacts = {
  /** What a buyer reads, for example `BNB Chain`. */
  networkName: string
  /** Depth at which a transfer counts: `head − block + 1`. On Solana 32 means `finalized`. */
  confirmations: number
  /** Typical time between blocks: an estimate to show and to pace polling, never a rule. */
  blockTimeMs: number
  /** How far a block's time may lie before a payment's `createdAt` and still pay it. Default 30 s. */
  clockToleranceMs?: number
}
/** `explorerTxUrl` holds `{txHash}` where the hash goes. */
type ChainFacts = { tokens: Tokens; explorerTxUrl?: string }
export type EvmFacts = SharedFacts & {
  family: 'evm'
  live: ChainFacts & { chainId: number }
  test: ChainFacts & { chainId: number }
}
export type SolanaFacts = SharedFacts & {
  family: 'solana'
  live: ChainFacts & { genesisHash: string }
  test: ChainFacts & { genesisHash: string }
}
export type NetworkFacts = EvmFacts | SolanaFacts

/** One network in one mode, as this process runs it: the table's row with `NETWORKS_FILE` over it. */
export type Deployment = {
  /** `<network>:<mode>`, for example `base:test`; the name the database knows. */
  deployment: string
  network: string
  networkName: string
  mode: Mode
  confirmations: number
  tokens: Tokens
  /** What `tokens` named before and payments may name still: watched, and not offered. Only an indexer knows them. */
  retired?: readonly WatchedToken[]
  /** Websocket and HTTP endpoints in order of preference. They may hold keys: never log them. */
  rpc: readonly string[]
  clockToleranceMs: number
  blockTimeMs: number
  explorerTxUrl?: string
  /** Whether it has an `rpc`. Off: refused in live mode; in test mode settles by simulate alone. */
  isOn: boolean
} & (
  | { family: 'evm'; chainId: number; genesisHash?: never; reading?: never }
  | {
      family: 'solana'
      genesisHash: string
      chainId?: never
      /**
       * Which way the chain is read: every block, or the accounts of those who wait for a payment; `auto` takes accounts
       * while few sellers wait.
       */
      reading?: 'auto' | 'accounts' | 'blocks'
    }
)

/** The networks known without any configuration. To add one: a file of facts and a line here. */
export const NETWORKS: Readonly<Record<string, NetworkFacts>> = {
  ethereum,
  base,
  arbitrum,
  optimism,
  polygon,
  bnb,
  avalanche,
  solana,
}

/**
 * Every deployment by its name (`base:test`): the table with a parsed `NETWORKS_FILE` laid over it.
 * Throws `NetworksError` listing every fault with the path of its field, two deployments that
 * share chain and token contract included.
 */
export function buildDeployments(networksFile?: unknown): Map<string, Deployment> {
  return overlayNetworks(NETWORKS, networksFile)
}

/** The name under which the database and `buildDeployments` know a network in a mode. */
export function deploymentName(network: string, mode: Mode): string {
  return `${network}:${mode}`
}

/** All contracts in which payments of a deployment may be paid. */
export function watchedTokens({ tokens, retired = [] }: Deployment): WatchedToken[] {
  const named = Object.entries(tokens).map(([token, facts]) => ({ token, ...facts }))
  return [...named, ...retired]
}

/** The explorer's page of a transaction; undefined when the deployment names no explorer. */
export function explorerTxLink(deployment: Deployment, txHash: string): string | undefined {
  return deployment.explorerTxUrl?.replaceAll('{txHash}', encodeURIComponent(txHash))
}
