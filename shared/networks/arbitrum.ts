import type { EvmFacts } from './registry.ts'

/**
 * Arbitrum One. USDC: Circle's native one (developers.circle.com/stablecoins/usdc-contract-addresses),
 * not the bridged USDC.e. USDT: the canonical contract, which became USDT0 in place
 * (docs.usdt0.to/technical-documentation/deployments). No official USDT on Arbitrum Sepolia.
 */
export const arbitrum: EvmFacts = {
  family: 'evm',
  networkName: 'Arbitrum',
  confirmations: 20,
  blockTimeMs: 250,
  live: {
    chainId: 42_161,
    explorerTxUrl: 'https://arbiscan.io/tx/{txHash}',
    tokens: {
      usdc: { contract: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', decimals: 6 },
      usdt: { contract: '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', decimals: 6 },
    },
  },
  // Arbitrum Sepolia.
  test: {
    chainId: 421_614,
    explorerTxUrl: 'https://sepolia.arbiscan.io/tx/{txHash}',
    tokens: { usdc: { contract: '0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d', decimals: 6 } },
  },
}
