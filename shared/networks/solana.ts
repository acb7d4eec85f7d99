import type { SolanaFacts } from './registry.ts'

/**
 * Solana. Depth 32 stands for the `finalized` commitment. USDC: Circle,
 * developers.circle.com/stablecoins/usdc-contract-addresses. USDT: Tether,
 * tether.to/en/supported-protocols; none on devnet. Genesis hashes: docs.anza.xyz/clusters/available.
 */
export const solana: SolanaFacts = {
  family: 'solana',
  networkName: 'Solana',
  confirmations: 32,
  blockTimeMs: 400,
  live: {
    genesisHash: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
    explorerTxUrl: 'https://solscan.io/tx/{txHash}',
    tokens: {
      usdc: { contract: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', decimals: 6 },
      usdt: { contract: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 },
    },
  },
  // Devnet.
  test: {
    genesisHash: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
    explorerTxUrl: 'https://solscan.io/tx/{txHash}?cluster=devnet',
    tokens: { usdc: { contract: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU', decimals: 6 } },
  },
}
