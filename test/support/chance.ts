/** Decisions that a seed determines: the same seed, the same decisions in the same order. */
export type Chance = {
  /** From 0 to below 1. */
  next(): number
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number
  /** True this often, from 0 to 1. */
  isIn(share: number): boolean
  /** One of some values; there must be one. */
  pick<T>(values: readonly T[]): T
  /** One of the names, as often as its weight says. */
  weighted<N extends string>(weights: Readonly<Record<N, number>>): N
}

/** Mulberry32, after Tommy Ettinger: 32 bits of state are plenty for choices. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    isIn: (share) => next() < share,
    pick<T>(values: readonly T[]): T {
      if (values.length === 0) throw new Error('there is nothing to pick')
      return values[below(values.length)] as T
    },
    weighted<N extends string>(weights: Readonly<Record<N, number>>): N {
      const entries = Object.entries<number>(weights) as [N, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of entries) {
        left -= weight
        if (left < 0) return name
      }
      throw new Error('weights are above 0')
    },
  }
}
