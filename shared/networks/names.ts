/** Decided by the key that made an object; test and live data never mix. */
export const MODES = ['test', 'live'] as const

/** The stablecoins of the API, as they stand on the wire. */
export const TOKENS = ['usdc', 'usdt'] as const
