import { Buffer } from 'node:buffer'
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import type { Mode } from '#shared/networks/registry.ts'

/** API keys (publishable and secret), signing secrets, login sessions, and the links in mails. */
export type SecretPrefix =
  | `${'pk' | 'sk'}_${Mode}`
  | 'whsec'
  | 'sess'
  | 'renew'
  | 'verify'
  | 'reset'

/** 256 random bits: nobody guesses one, so that a plain SHA-256 of it is safe to store. */
const SECRET_BYTES = 32
/** Shown of a masked key, enough to tell two apart. */
const MASK_CHARACTERS = 4

/** A new secret of 256 random bits: `<prefix>_<64 hex digits>`, such as `sk_live_…`. */
export function newSecret(prefix: SecretPrefix): string {
  return `${prefix}_${randomBytes(SECRET_BYTES).toString('hex')}`
}

/** What is stored of a secret, and what it is looked up by: its SHA-256, 32 bytes. */
export function hashSecret(secret: string): Uint8Array {
  return sha256(secret)
}

/** SHA-256 of UTF-8 text or of bytes. */
export function sha256(data: string | Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(data).digest())
}

/** SHA-256 of UTF-8 text or of bytes, in lower-case hex. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** What may be shown of a key or secret after its creation: `sk_live_…1a2b`. */
export function maskKey(key: string): string {
  const prefix = key.slice(0, key.lastIndexOf('_') + 1)
  return `${prefix}…${key.slice(-MASK_CHARACTERS)}`
}

/** Whether two texts are equal, in a time that tells neither where they differ nor their lengths. */
export function isEqualSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other))
}

// --- Encryption at rest ---------------------------------------------------------------------------

/** The keys that stored secrets are sealed with: the first seals, all open. */
export type Keyring = readonly { readonly id: Buffer; readonly key: Uint8Array }[]

/** What was stored is not what was sealed, or was sealed with a key that is no longer in the ring. */
export class DecryptError extends Error {
  override readonly name = 'DecryptError'
}

const KEY_BYTES = 32
/** The layout of `encrypt`. A byte of its own lets a later layout live beside it. */
const SEAL_VERSION = 1
/** The first bytes of the key's hash: they name the key and tell nothing of it. */
const KEY_ID_BYTES = 4
/** NIST SP 800-38D's length for random nonces; safe for 2^32 secrets under one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES

/** A keyring of 32-byte keys. To rotate, put the new key first and keep the old one until all is sealed anew. */
export function createKeyring(current: Uint8Array, ...previous: Uint8Array[]): Keyring {
  return [current, ...previous].map((key) => {
    if (key.length !== KEY_BYTES) throw new RangeError(`an encryption key has ${KEY_BYTES} bytes`)
    return { id: Buffer.from(sha256(key).subarray(0, KEY_ID_BYTES)), key }
  })
}

/**
 * Seals a text with AES-256-GCM: version, key id, nonce, ciphertext, tag. `context` says what the
 * secret belongs to (an id, say) and is needed to open it, so that a row copied elsewhere is of no use.
 */
export function encrypt(keyring: Keyring, plaintext: string, context: string): Uint8Array {
  const [current] = keyring
  if (current === undefined) throw new RangeError('a keyring holds at least one key')
  const header = Buffer.concat([Buffer.of(SEAL_VERSION), current.id])
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', current.key, nonce)
  cipher.setAAD(associatedData(header, context))
  const sealed = [cipher.update(plaintext, 'utf8'), cipher.final()]
  return new Uint8Array(Buffer.concat([header, nonce, ...sealed, cipher.getAuthTag()]))
}

/** Opens what `encrypt` sealed in the same context. Throws `DecryptError`. */
export function decrypt(keyring: Keyring, sealed: Uint8Array, context: string): string {
  const bytes = Buffer.from(sealed)
  if (bytes.length < HEADER_BYTES + NONCE_BYTES + TAG_BYTES || bytes[0] !== SEAL_VERSION) {
    throw new DecryptError('a sealed secret is cut short or of an unknown version')
  }
  const header = bytes.subarray(0, HEADER_BYTES)
  const entry = keyring.find(({ id }) => id.equals(header.subarray(1)))
  if (entry === undefined) throw new DecryptError('the key that sealed a secret is not configured')

  const nonceEnd = HEADER_BYTES + NONCE_BYTES
  const nonce = bytes.subarray(HEADER_BYTES, nonceEnd)
  const decipher = createDecipheriv('aes-256-gcm', entry.key, nonce)
  decipher.setAAD(associatedData(header, context))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const opened = decipher.update(bytes.subarray(nonceEnd, -TAG_BYTES))
    return Buffer.concat([opened, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new DecryptError('a sealed secret was changed or belongs elsewhere', { cause })
  }
}

function associatedData(header: Buffer, context: string): Buffer {
  return Buffer.concat([header, Buffer.from(context, 'utf8')])
}
