import { Buffer } from 'node:buffer'
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** Octets of randomness in every key, token and secret. */
const SECRET_BYTES = 32
/** AES-256-GCM (NIST SP 800-38D): a 96-bit nonce, fresh for every text, and a 128-bit tag. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** A new secret of 256 random bits, such as `sk_live_…`: the prefix, and 43 URL-safe characters. */
export function newSecret(prefix: string): string {
  return `${prefix}_${randomBytes(SECRET_BYTES).toString('base64url')}`
}

/** What is stored in place of a secret: its SHA-256, 32 octets. The secret is random, so nothing slower is needed. */
export function hashSecret(secret: string): Uint8Array {
  return createHash('sha256').update(secret).digest()
}

/** Compares in constant time; texts of different lengths are different. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(hashSecret(one), hashSecret(other))
}

/**
 * Encrypts a text for storing: nonce, tag and ciphertext in one. `context` says what the text is and is needed again to
 * read it, so that a row's ciphertext is of no use in another row's place.
 */
export function encryptText(text: string, key: Uint8Array, context: string): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(new TextEncoder().encode(context))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

/** Reads what {@link encryptText} wrote. Throws when key or context is another, or a bit was changed. */
export function decryptText(stored: Uint8Array, key: Uint8Array, context: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, stored.subarray(0, NONCE_BYTES))
  decipher.setAAD(new TextEncoder().encode(context))
  decipher.setAuthTag(stored.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const body = decipher.update(stored.subarray(NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([body, decipher.final()]).toString('utf8')
}
