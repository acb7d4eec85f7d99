import { randomBytes } from 'node:crypto'
import { hashSecret, newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'

export type Shop = { storeId: string; accountId: string; publishableKey: string; address: string }

/** Stores in bulk, each with an account that takes open amounts, a publishable test key and an address on base. */
export async function insertShops(db: Db, count: number): Promise<Shop[]> {
  const shops = Array.from({ length: count }, () => ({
    storeId: newId('store'),
    accountId: newId('acct'),
    publishableKey: newSecret('pk_test'),
    address: `0x${randomBytes(20).toString('hex')}`,
  }))
  const storeIds = shops.map(({ storeId }) => storeId)
  const accountIds = shops.map(({ accountId }) => accountId)
  const keys = shops.map(({ publishableKey }) => publishableKey)
  await db`
    insert into accounts (account_id, email, password_hash, open_amount_enabled, email_verified_at)
    select id, id || '@shop.test', 'none', true, service_now() from unnest(${accountIds}::text[]) id`
  await db`
    insert into stores (store_id, account_id, name)
    select store_id, account_id, 'Shop'
    from unnest(${storeIds}::text[], ${accountIds}::text[]) as s (store_id, account_id)`
  await db`
    insert into keys (key_id, store_id, mode, kind, key_hash, publishable_key, masked_key)
    select key_id, store_id, 'test', 'PUBLISHABLE', key_hash, publishable_key, publishable_key
    from unnest(${shops.map(() => newId('key'))}::text[], ${storeIds}::text[],
      ${keys.map((key) => Buffer.from(hashSecret(key)))}::bytea[], ${keys}::text[])
      as k (key_id, store_id, key_hash, publishable_key)`
  await db`
    insert into wallets (wallet_id, store_id, mode, network, address)
    select wallet_id, store_id, 'test', 'base', address
    from unnest(${shops.map(() => newId('wal'))}::text[], ${storeIds}::text[],
      ${shops.map(({ address }) => address)}::text[]) as w (wallet_id, store_id, address)`
  await db`analyze accounts, stores, keys, wallets`
  return shops
}

/** A client address; a hundred requests in a row come from one, the next hundred from another. */
export function clientAddress(index: number): string {
  const client = Math.floor(index / 100)
  return `11.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`
}
