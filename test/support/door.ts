import { createKeyring } from '#shared/crypto.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'

/** 32 bytes that are no secret. */
export const TEST_ENCRYPTION_KEY = new Uint8Array(32).fill(7)
export const TEST_KEYRING = createKeyring(TEST_ENCRYPTION_KEY)

/** An operator's decisions as they are by default. */
export const TEST_DOOR: DoorSettings = {
  quarantineHours: 24,
  subscriptions: { publicUrl: 'https://pay.example', keyring: TEST_KEYRING },
}
