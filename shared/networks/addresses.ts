import { secp256k1 } from '@noble/curves/secp256k1'
import { HDKey } from '@scure/bip32'
import { isOffCurveAddress, isAddress as isSolanaAddress } from '@solana/kit'
import { getAddress, isAddress as isEvmAddress, keccak256 } from 'viem/utils'
import { assert } from '#shared/assert.ts'
import type { Family } from './registry.ts'

/** Base58check of the 78 bytes of BIP-32's extended keys, in characters: every `xpub…` has this length. */
const XPUB_LENGTH = 111
/** A key this deep has no children, since depth is one byte (BIP-32, "Serialization format"). */
const XPUB_DEPTH_MAX = 254
/** Child indexes from here on are hardened and can't be derived from a public key (BIP-32). */
const CHILD_INDEX_MAX = 0x7fffffff

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

/**
 * Checks an extended public key (BIP-32, `xpub…`): version, checksum, a point on the curve, and that
 * it can have children. Answers its one canonical text, or in one public sentence why it is refused.
 *
 * Depth, parent and number say how a wallet came to a key and nothing of its children: two texts that differ in them alone
 * have the same addresses. The canonical text is written as a master's is, with zeros there: two wallets of one key would
 * hand out the same addresses.
 */
export function parseXpub(text: string): { xpub: string } | { reason: string } {
  if (/^(xprv|[tuvyz]prv)/i.test(text)) {
    return {
      reason:
        'This is a private key: whoever reads it can spend. Never give it to anybody; send the xpub.',
    }
  }
  if (!text.startsWith('xpub')) {
    return { reason: 'An extended public key begins with xpub; tpub, ypub and zpub are Bitcoin’s.' }
  }
  const key = text.length === XPUB_LENGTH ? readXpub(text) : undefined
  // What doesn't write back to the same text is another spelling of the key, and would pass for another key.
  if (key?.publicExtendedKey !== text) {
    return { reason: 'This xpub is damaged: its length or checksum is wrong. Copy it again.' }
  }
  return key.depth > XPUB_DEPTH_MAX
    ? { reason: 'This xpub is too deep to have addresses below it. Send the account’s.' }
    : { xpub: writeXpub(key) }
}

/**
 * The EIP-55 address of the direct, non-hardened BIP-32 child `index` of an xpub that `parseXpub`
 * accepted. For the xpub of m/44'/60'/0'/0 that is what wallets show as account `index`.
 */
export function deriveAddress(xpub: string, index: number): string {
  const [address] = deriveAddresses(xpub, index, 1)
  assert(address !== undefined, 'one address was asked for')
  return address
}

/** `count` addresses as `deriveAddress` gives them, from child `firstIndex` on; the xpub is read once. */
export function deriveAddresses(xpub: string, firstIndex: number, count: number): string[] {
  const key = readXpub(xpub)
  assert(key !== undefined, 'an xpub is parsed before addresses are derived from it')
  return Array.from({ length: count }, (_, offset) => childAddress(key, firstIndex + offset))
}

function childAddress(key: HDKey, index: number): string {
  assert(
    Number.isInteger(index) && index >= 0 && index <= CHILD_INDEX_MAX,
    'a child index is a whole number below 2^31',
  )
  const { publicKey, index: derivedIndex } = key.deriveChild(index)
  // The library takes the next child where one does not exist (a chance of 1 in 2^127): never silently.
  assert(publicKey !== null && derivedIndex === index, 'the child key exists')
  const uncompressed = secp256k1.ProjectivePoint.fromHex(publicKey).toRawBytes(false)
  // Ethereum's address: the last 20 bytes of the hash of both coordinates, without the 0x04 before them.
  return getAddress(`0x${keccak256(uncompressed.subarray(1)).slice(-40)}`)
}

function readXpub(text: string): HDKey | undefined {
  try {
    return HDKey.fromExtendedKey(text)
  } catch {
    // The library throws on every kind of malformed text; what was wrong is not told to the caller.
    return undefined
  }
}

function writeXpub({ publicKey, chainCode }: HDKey): string {
  assert(publicKey !== null && chainCode !== null, 'an xpub has a public key and a chain code')
  return new HDKey({ publicKey, chainCode }).publicExtendedKey
}

function normalizeEvm(text: string): string | undefined {
  if (!/^0x[0-9a-f]{40}$/i.test(text)) return undefined
  const digits = text.slice(2)
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  if (!isOneCase && !isEvmAddress(text, { strict: true })) return undefined
  return getAddress(`0x${digits.toLowerCase()}`)
}
