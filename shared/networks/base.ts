import type { EvmFacts } from './registry.ts'

/**
 * Base. USDC: Circle, developers.circle.com/stablecoins/usdc-contract-addresses. Tether issues no
 * USDT here (tether.to/en/supported-protocols), and a bridged one is not taken for it.
 */
export const base: EvmFacts = {
  family: 'evm',
  networkName: 'Base',
  confirmations: 12,
  blockTimeMs: 2_000,
  live: {
    chainId: 8_453,
    explorerTxUrl: 'https://basescan.org/tx/{txHash}',
    tokens: { usdc: { contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', decimals: 6 } },
  },
  // Base Sepolia.
  test: {
    chainId: 84_532,
    explorerTxUrl: 'https://sepolia.basescan.org/tx/{txHash}',
    tokens: { usdc: { contract: '0x036CbD53842c5426634e7929541eC2318f3dCF7e', decimals: 6 } },
  },
}
