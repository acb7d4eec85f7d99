import { isOffCurveAddress, isAddress as isSolanaAddress } from '@solana/kit'
import { checksumAddress, isAddress as isEvmAddress } from 'viem'
import type { Family } from './registry.ts'

/**
 * The one form in which an address of this family is stored and shown, or undefined when the text
 * is no address a seller can receive at. EVM: EIP-55 out; all lower or all upper case in, mixed
 * case only with the right checksum (a wrong one is a typing error). Solana: base58 of 32 bytes that
 * are a point on the curve, since an owner off the curve is a program's account, not a wallet.
 */
export function normalizeAddress(family: Family, text: string): string | undefined {
  if (family === 'evm') return normalizeEvm(text)
  return isSolanaAddress(text) && !isOffCurveAddress(text) ? text : undefined
}

/**
 * Like `normalizeAddress`, for a token contract (EVM) or a mint (Solana, which may lie off the
 * curve).
 */
export function normalizeContract(family: Family, text: string): string | undefined {
  if (family === 'evm') return normalizeEvm(text)
  return isSolanaAddress(text) ? text : undefined
}

function normalizeEvm(text: string): string | undefined {
  if (!/^0x[0-9a-f]{40}$/i.test(text)) return undefined
  const digits = text.slice(2)
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  if (!isOneCase && !isEvmAddress(text, { strict: true })) return undefined
  return checksumAddress(`0x${digits.toLowerCase()}`)
}
