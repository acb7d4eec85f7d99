import type { EvmFacts } from './registry.ts'

/**
 * BNB Smart Chain. Both tokens are Binance-Peg ones with 18 decimals (bscscan.com token pages);
 * neither Circle nor Tether issues here.
 */
export const bnb: EvmFacts = {
  family: 'evm',
  networkName: 'BNB Chain',
  confirmations: 15,
  blockTimeMs: 750,
  live: {
    chainId: 56,
    explorerTxUrl: 'https://bscscan.com/tx/{txHash}',
    tokens: {
      usdc: { contract: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', decimals: 18 },
      usdt: { contract: '0x55d398326f99059fF775485246999027B3197955', decimals: 18 },
    },
  },
  // BNB Smart Chain testnet: nobody issues here; these are the test tokens in common use.
  test: {
    chainId: 97,
    explorerTxUrl: 'https://testnet.bscscan.com/tx/{txHash}',
    tokens: {
      usdc: { contract: '0x64544969ed7EBf5f083679233325356EbE738930', decimals: 18 },
      usdt: { contract: '0x337610d27c682E347C9cD60BD4b3b107C9d34dDd', decimals: 18 },
    },
  },
}
