declare const unit: unique symbol

/** An integer amount in a token's base units. Always travels with its decimals. */
export type BaseUnits = bigint & { readonly [unit]: 'baseUnits' }

/** Decimals of a US dollar amount in whole cents. */
const CENT_DECIMALS = 2

/** Marks a bigint as base units; the caller vouches for the unit. Negative amounts do not exist. */
export function baseUnits(amount: bigint): BaseUnits {
  if (amount < 0n) throw new RangeError(`base units are never negative: ${amount}`)
  return amount as BaseUnits
}

/** Cents to base units: `centsToBaseUnits(150, 6)` is 1_500_000n. Exact; tokens have at least two decimals. */
export function centsToBaseUnits(amountCents: number, decimals: number): BaseUnits {
  if (!Number.isSafeInteger(amountCents)) throw new RangeError('cents are whole numbers')
  return baseUnits(BigInt(amountCents) * 10n ** BigInt(decimals - CENT_DECIMALS))
}

/** Cents as the wire's display amount: 1050 is `"10.50"`. */
export function centsToDecimal(amountCents: number): string {
  return formatUnits(BigInt(amountCents), CENT_DECIMALS)
}

/** An exact decimal string with all the token's decimals: `formatUnits(10001234n, 6)` is `"10.001234"`. */
export function formatUnits(amount: bigint, decimals: number): string {
  if (decimals === 0) return amount.toString()
  const digits = amount.toString().padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** The same amount in another number of decimals, or undefined when it would have to be rounded. */
export function rescale(amount: bigint, from: number, to: number): bigint | undefined {
  if (to >= from) return amount * 10n ** BigInt(to - from)
  const divisor = 10n ** BigInt(from - to)
  return amount % divisor === 0n ? amount / divisor : undefined
}
