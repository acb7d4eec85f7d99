import { decrypt, encrypt, hashSecret, type Keyring, newSecret } from '#shared/crypto.ts'

/** A subscription's renew token: known to the buyer, looked up by its hash, and sealed so that mails can carry it again. */
export type RenewToken = { token: string; hash: Uint8Array; ciphertext: Uint8Array }

/** A new token of 256 random bits for a subscription. */
export function newRenewToken(keyring: Keyring, subscriptionId: string): RenewToken {
  const token = newSecret('renew')
  const ciphertext = encrypt(keyring, token, contextOf(subscriptionId))
  return { token, hash: hashSecret(token), ciphertext }
}

/** Opens what {@link newRenewToken} sealed for the same subscription. Throws `DecryptError`. */
export function openRenewToken(
  keyring: Keyring,
  subscriptionId: string,
  ciphertext: Uint8Array,
): string {
  return decrypt(keyring, ciphertext, contextOf(subscriptionId))
}

/** The hosted page that pays the next period or cancels (contract section 4). */
export function renewUrl(publicUrl: string, token: string): string {
  return `${publicUrl}/renew/${token}`
}

function contextOf(subscriptionId: string): string {
  return `renew_token of ${subscriptionId}`
}
