import type { EvmFacts } from './registry.ts'

/**
 * Avalanche C-Chain; an accepted block is final, hence depth 1. USDC: Circle,
 * developers.circle.com/stablecoins/usdc-contract-addresses. USDT: Tether's native USDt,
 * tether.to/en/supported-protocols, not the bridged USDT.e. No official USDT on Fuji.
 */
export const avalanche: EvmFacts = {
  family: 'evm',
  networkName: 'Avalanche',
  confirmations: 1,
  blockTimeMs: 1_700,
  live: {
    chainId: 43_114,
    explorerTxUrl: 'https://snowtrace.io/tx/{txHash}',
    tokens: {
      usdc: { contract: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', decimals: 6 },
      usdt: { contract: '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7', decimals: 6 },
    },
  },
  // Fuji.
  test: {
    chainId: 43_113,
    explorerTxUrl: 'https://testnet.snowtrace.io/tx/{txHash}',
    tokens: { usdc: { contract: '0x5425890298aed601595a70AB815c96711a31Bc65', decimals: 6 } },
  },
}
