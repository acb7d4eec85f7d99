import { randomBytes } from 'node:crypto'
import { getAddressDecoder } from '@solana/kit'
import { never } from '#shared/assert.ts'
import type { Family } from './registry.ts'

/** Octets of a Solana key. */
const KEY_BYTES = 32

/**
 * The key by which a transfer can name its payment, on families that have one: Solana Pay's reference
 * (docs.solanapay.com/spec, "Reference"), 32 random bytes that need not be a point on the curve; null elsewhere.
 */
export function newReferenceKey(family: Family): string | null {
  switch (family) {
    case 'evm':
      return null
    case 'solana':
      return getAddressDecoder().decode(randomBytes(KEY_BYTES))
    default:
      return never(family)
  }
}
