import type { EvmFacts } from './registry.ts'

/**
 * Ethereum. USDC: Circle, developers.circle.com/stablecoins/usdc-contract-addresses. USDT: Tether,
 * tether.to/en/supported-protocols. Tether publishes no contract on Sepolia.
 */
export const ethereum: EvmFacts = {
  family: 'evm',
  networkName: 'Ethereum',
  confirmations: 12,
  blockTimeMs: 12_000,
  live: {
    chainId: 1,
    explorerTxUrl: 'https://etherscan.io/tx/{txHash}',
    tokens: {
      usdc: { contract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', decimals: 6 },
      usdt: { contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals: 6 },
    },
  },
  // Sepolia.
  test: {
    chainId: 11_155_111,
    explorerTxUrl: 'https://sepolia.etherscan.io/tx/{txHash}',
    tokens: { usdc: { contract: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', decimals: 6 } },
  },
}
