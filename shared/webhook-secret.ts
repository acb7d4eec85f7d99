import { decrypt, encrypt, type Keyring } from '#shared/crypto.ts'

/** Most secrets of a store that sign at a time: the newest, and the one it replaced. Contract section 2. */
export const SIGNING_SECRET_COUNT_MAX = 2

/** Seals a `whsec_` for `webhook_secrets.ciphertext`. A row copied to another store cannot be opened. */
export function sealWebhookSecret(keyring: Keyring, storeId: string, secret: string): Uint8Array {
  return encrypt(keyring, secret, contextOf(storeId))
}

/** Opens what {@link sealWebhookSecret} sealed for the same store. Throws `DecryptError`. */
export function openWebhookSecret(
  keyring: Keyring,
  storeId: string,
  ciphertext: Uint8Array,
): string {
  return decrypt(keyring, ciphertext, contextOf(storeId))
}

function contextOf(storeId: string): string {
  return `webhook_secret of ${storeId}`
}
