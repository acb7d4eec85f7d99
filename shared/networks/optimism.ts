import type { EvmFacts } from './registry.ts'

/**
 * OP Mainnet. USDC: Circle's native one (developers.circle.com/stablecoins/usdc-contract-addresses),
 * not the bridged USDC.e. USDT: the standard bridge's token, as listed in
 * ethereum-optimism.github.io (data/USDT). Unlike on Arbitrum and Polygon, USDT0 is a second contract
 * here, 0x01bFF41798a0BcF287b996046Ca68b395DbC1071: an operator whose buyers hold that one names it in
 * NETWORKS_FILE. No official USDT on OP Sepolia.
 */
export const optimism: EvmFacts = {
  family: 'evm',
  networkName: 'Optimism',
  confirmations: 12,
  blockTimeMs: 2_000,
  live: {
    chainId: 10,
    explorerTxUrl: 'https://optimistic.etherscan.io/tx/{txHash}',
    tokens: {
      usdc: { contract: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', decimals: 6 },
      usdt: { contract: '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58', decimals: 6 },
    },
  },
  // OP Sepolia.
  test: {
    chainId: 11_155_420,
    explorerTxUrl: 'https://optimism-sepolia.blockscout.com/tx/{txHash}',
    tokens: { usdc: { contract: '0x5fd84259d66Cd46123540766Be93DFE6D43130D7', decimals: 6 } },
  },
}
