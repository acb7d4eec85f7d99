import type { EvmFacts } from './registry.ts'

/**
 * Polygon PoS. USDC: Circle's native one (developers.circle.com/stablecoins/usdc-contract-addresses),
 * not the bridged USDC.e. USDT: the PoS bridge's contract, which became USDT0 in place
 * (docs.usdt0.to/technical-documentation/deployments). No official USDT on Amoy.
 */
export const polygon: EvmFacts = {
  family: 'evm',
  networkName: 'Polygon',
  confirmations: 32,
  blockTimeMs: 2_000,
  live: {
    chainId: 137,
    explorerTxUrl: 'https://polygonscan.com/tx/{txHash}',
    tokens: {
      usdc: { contract: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', decimals: 6 },
      usdt: { contract: '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', decimals: 6 },
    },
  },
  // Amoy.
  test: {
    chainId: 80_002,
    explorerTxUrl: 'https://amoy.polygonscan.com/tx/{txHash}',
    tokens: { usdc: { contract: '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', decimals: 6 } },
  },
}
