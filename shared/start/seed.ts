import { Buffer } from 'node:buffer'
import { join } from 'node:path'
import { createKeyring, hashSecret, maskKey, newSecret } from '#shared/crypto.ts'
import { type Db, withTransaction } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { readIfThere, writePrivate } from '#shared/start/private-files.ts'
import type { Settings } from '#shared/start/settings.ts'
import { DEV_ACCOUNTS } from '#shared/start/tokens/token.ts'
import { sealWebhookSecret } from '#shared/webhook-secret.ts'

export type DemoSeller = {
  storeId: string
  publishableKey: string
  secretKey: string
  webhookSecret: string
  products: { priceId: string; name: string; amountCents: number }[]
}
const XPUB =
  'xpub6EFHUEbYV13535ChA9yg5xZTWowwFCmFoWnhLbwkd91xHoirGu89GTZwBSUBnBpFeY5EV2cgof8yuyDnkeGALcD8DgGYJSiQfkxKpunWTX1'
const PRODUCTS = [
  { name: 'Coffee beans', amountCents: 1250 },
  { name: 'Ceramic mug', amountCents: 2400 },
  { name: 'Grinder', amountCents: 18_900 },
]

/** The seller of the first start, again; made when the database does not know it. */
export async function keepDemoSeller(options: {
  db: Db
  directory: string
  settings: Settings
  encryptionKey: string
}): Promise<DemoSeller> {
  const { db, directory, settings, encryptionKey } = options
  const path = join(directory, 'demo.json')
  const kept = await readIfThere(path)
  const url = `${settings.shop.url}/webhook`
  if (kept !== undefined) {
    const seller = JSON.parse(kept) as DemoSeller
    const rows = await db`
      update stores set webhook_url = ${url} where store_id = ${seller.storeId} returning 1`
    if (rows.length === 1) return seller
  }
  const seller = await seedDemo(db, {
    encryptionKey: new Uint8Array(Buffer.from(encryptionKey, 'base64')),
    shopUrl: settings.shop.url,
  })
  await writePrivate(path, `${JSON.stringify(seller, null, 2)}\n`)
  return seller
}

async function seedDemo(
  db: Db,
  { encryptionKey, shopUrl }: { encryptionKey: Uint8Array; shopUrl: string },
): Promise<DemoSeller> {
  const keyring = createKeyring(encryptionKey)
  const accountId = newId('acct')
  const storeId = newId('store')
  const publishableKey = newSecret('pk_test')
  const secretKey = newSecret('sk_test')
  const webhookSecret = newSecret('whsec')
  const products: DemoSeller['products'] = []
  await withTransaction(db, async (db) => {
    await db`
      insert into accounts (account_id, email, password_hash, seller_name, open_amount_enabled, email_verified_at)
      values (${accountId}, ${`demo-${storeId}@localhost`}, 'none', 'Demo Shop', true, service_now())`
    await db`insert into stores (store_id, account_id, name, webhook_url)
      values (${storeId}, ${accountId}, 'Demo Shop', ${`${shopUrl}/webhook`})`
    await db`insert into keys (key_id, store_id, mode, kind, key_hash, publishable_key, masked_key) values
      (${newId('key')}, ${storeId}, 'test', 'PUBLISHABLE', ${hashSecret(publishableKey)}, ${publishableKey}, ${publishableKey}),
      (${newId('key')}, ${storeId}, 'test', 'SECRET', ${hashSecret(secretKey)}, null, ${maskKey(secretKey)})`
    await db`insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
      values (${newId('evt')}, ${storeId}, ${sealWebhookSecret(keyring, storeId, webhookSecret)})`
    await db`insert into xpubs (xpub) values (${XPUB}) on conflict do nothing`
    await db`insert into wallets (wallet_id, store_id, mode, network, address, xpub) values
      (${newId('wal')}, ${storeId}, 'test', 'base', null, ${XPUB}),
      (${newId('wal')}, ${storeId}, 'test', 'ethereum', ${DEV_ACCOUNTS[9]}, null),
      (${newId('wal')}, ${storeId}, 'test', 'bnb', ${DEV_ACCOUNTS[9]}, null)`
    products.length = 0
    for (const product of PRODUCTS) {
      const productId = newId('prod')
      const priceId = newId('price')
      await db`insert into products (product_id, store_id, mode, name) values (${productId}, ${storeId}, 'test', ${product.name})`
      await db`insert into prices (price_id, store_id, mode, product_id, amount_cents)
        values (${priceId}, ${storeId}, 'test', ${productId}, ${product.amountCents})`
      products.push({ priceId, ...product })
    }
  })
  return { storeId, publishableKey, secretKey, webhookSecret, products }
}
