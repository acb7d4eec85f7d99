import { randomBytes } from 'node:crypto'
import { hashSecret, newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { normalizeAddress } from '#shared/networks/addresses.ts'
import type { Mode } from '#shared/networks/registry.ts'

export type SeedWallet = { network: string; mode?: Mode; address?: string; xpub?: string }
export type SeedPrice = {
  mode?: Mode
  amountCents?: number
  interval?: 'DAY' | 'WEEK' | 'MONTH' | 'YEAR'
  intervalCount?: number
  networks?: string[]
  tokens?: string[]
}

export type SeedOptions = {
  /** Default ACTIVE. */
  status?: 'ACTIVE' | 'SUSPENDED' | 'BANNED'
  /** Default FREE. */
  plan?: string
  /** Default true. */
  openAmountEnabled?: boolean
  /** Default true. */
  emailVerified?: boolean
  /** The account of an earlier seed, for a second store of the same seller. */
  accountId?: string
  sellerName?: string
  /** A webhook URL, for tests of deliveries. */
  webhookUrl?: string
  branding?: Record<string, string>
  topUpUntilExpiry?: boolean
  guessOnSharedAddress?: boolean
  /** Default: one EVM address, the same on base in both modes. */
  wallets?: SeedWallet[]
  /** The one price that every store gets; default 10.50 USD, once, in test mode. */
  price?: SeedPrice
}

export type SeededStore = {
  account: { accountId: string; email: string }
  store: { storeId: string }
  /** In plain; the database has only hashes of the secret ones. */
  keys: { [M in Mode]: { publishable: string; secret: string } }
  wallets: { walletId: string; network: string; mode: Mode; address: string | undefined }[]
  price: { priceId: string; productId: string; amountCents: number }
}

/** A seller's account with one store, its four keys, wallets and a price: what sign-up and a few clicks make. */
export async function seedStore(db: Db, options: SeedOptions = {}): Promise<SeededStore> {
  const account = await seedAccount(db, options)
  const storeId = newId('store')
  await db`
    insert into stores (store_id, account_id, name, branding, webhook_url, top_up_until_expiry, guess_on_shared_address)
    values (${storeId}, ${account.accountId}, 'Shop', ${db.json(options.branding ?? {})},
      ${options.webhookUrl ?? null}, ${options.topUpUntilExpiry ?? false}, ${options.guessOnSharedAddress ?? true})`
  const keys = {
    test: await seedKeys(db, storeId, 'test'),
    live: await seedKeys(db, storeId, 'live'),
  }
  const address = randomEvmAddress()
  const wanted = options.wallets ?? [
    { network: 'base', mode: 'test' as const, address },
    { network: 'base', mode: 'live' as const, address },
  ]
  const wallets: SeededStore['wallets'] = []
  for (const wallet of wanted) wallets.push(await seedWallet(db, storeId, wallet))
  return {
    account,
    store: { storeId },
    keys,
    wallets,
    price: await seedPrice(db, storeId, options.price),
  }
}

/** A price of its own product. */
export async function seedPrice(
  db: Db,
  storeId: string,
  { mode = 'test', amountCents = 1050, ...rest }: SeedPrice = {},
): Promise<SeededStore['price']> {
  const productId = newId('prod')
  const priceId = newId('price')
  await db`
    insert into products (product_id, store_id, mode, name) values (${productId}, ${storeId}, ${mode}, 'Thing')`
  await db`
    insert into prices (price_id, store_id, mode, product_id, amount_cents, interval, interval_count, networks, tokens)
    values (${priceId}, ${storeId}, ${mode}, ${productId}, ${amountCents}, ${rest.interval ?? null},
      ${rest.intervalCount ?? 1}, ${rest.networks ?? null}, ${rest.tokens ?? null})`
  return { priceId, productId, amountCents }
}

/** A wallet; an xpub's row is made with it, without any address derived yet. */
export async function seedWallet(
  db: Db,
  storeId: string,
  { network, mode = 'test', address, xpub }: SeedWallet,
): Promise<SeededStore['wallets'][number]> {
  const walletId = newId('wal')
  if (xpub !== undefined) await db`insert into xpubs (xpub) values (${xpub}) on conflict do nothing`
  await db`
    insert into wallets (wallet_id, store_id, mode, network, address, xpub)
    values (${walletId}, ${storeId}, ${mode}, ${network}, ${address ?? null}, ${xpub ?? null})`
  return { walletId, network, mode, address }
}

/** An address that nobody has, in the form in which addresses are stored. */
export function randomEvmAddress(): string {
  const address = normalizeAddress('evm', `0x${randomBytes(20).toString('hex')}`)
  if (address === undefined) throw new Error('40 hex digits are an address')
  return address
}

async function seedAccount(db: Db, options: SeedOptions): Promise<SeededStore['account']> {
  if (options.accountId !== undefined) {
    const [row] = await db<{ accountId: string; email: string }[]>`
      select account_id, email from accounts where account_id = ${options.accountId}`
    if (row === undefined) throw new Error('seed the account first')
    return row
  }
  const account = {
    accountId: newId('acct'),
    email: `seller-${randomBytes(6).toString('hex')}@shop.test`,
  }
  await db`
    insert into accounts (account_id, email, password_hash, seller_name, status, plan, open_amount_enabled, email_verified_at)
    values (${account.accountId}, ${account.email}, 'no password', ${options.sellerName ?? 'Seller'},
      ${options.status ?? 'ACTIVE'}, ${options.plan ?? 'FREE'}, ${options.openAmountEnabled ?? true},
      ${options.emailVerified === false ? null : new Date()})`
  return account
}

async function seedKeys(db: Db, storeId: string, mode: Mode) {
  const publishable = newSecret(`pk_${mode}`)
  const secret = newSecret(`sk_${mode}`)
  await db`
    insert into keys (key_id, store_id, mode, kind, key_hash, publishable_key, masked_key)
    values
      (${newId('key')}, ${storeId}, ${mode}, 'PUBLISHABLE', ${hashSecret(publishable)}, ${publishable}, ${publishable}),
      (${newId('key')}, ${storeId}, ${mode}, 'SECRET', ${hashSecret(secret)}, null, ${`sk_${mode}_…${secret.slice(-4)}`})`
  return { publishable, secret }
}
