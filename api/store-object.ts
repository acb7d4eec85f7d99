import { Type } from '@sinclair/typebox'
import { KEY_KINDS, type NewKey, type StoreRow } from '#shared/accounts/stores.ts'
import { ModeWord, oneOf, Time } from './words.ts'

export const StoreObject = Type.Object({
  storeId: Type.String(),
  name: Type.String(),
  branding: Type.Object({
    displayName: Type.Optional(Type.String()),
    logoUrl: Type.Optional(Type.String()),
    color: Type.Optional(Type.String()),
  }),
  reminderDays: Type.Array(Type.Integer()),
  graceDays: Type.Integer(),
  topUpUntilExpiry: Type.Boolean(),
  guessOnSharedAddress: Type.Boolean(),
  createdAt: Time,
})

/** `key` is in plain when it was just made or is publishable, and masked otherwise. */
export const KeyObject = Type.Object({
  keyId: Type.String(),
  kind: oneOf(KEY_KINDS),
  mode: ModeWord,
  key: Type.String(),
  createdAt: Time,
})

export const StoreWithKeys = Type.Object({ store: StoreObject, keys: Type.Array(KeyObject) })

export function storeView(store: StoreRow) {
  return {
    storeId: store.storeId,
    name: store.name,
    branding: store.branding,
    reminderDays: store.reminderDays,
    graceDays: store.graceDays,
    topUpUntilExpiry: store.topUpUntilExpiry,
    guessOnSharedAddress: store.guessOnSharedAddress,
    createdAt: store.createdAt.toISOString(),
  }
}

export function keyView({ keyId, kind, mode, key, createdAt }: NewKey) {
  return { keyId, kind, mode, key, createdAt: createdAt.toISOString() }
}
