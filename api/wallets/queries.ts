import type { Db, Tx } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'

export type WalletRow = {
  walletId: string
  mode: Mode
  network: string
  address: string | null
  xpub: string | null
  createdAt: Date
}

/** Wallets that take slots; newest first, from an id downwards. */
export async function listWallets(
  db: Db,
  storeId: string,
  modes: readonly Mode[],
  before: string,
  limit: number,
): Promise<WalletRow[]> {
  return db`
    select wallet_id, mode, network, address, xpub, created_at
    from wallets
    where store_id = ${storeId} and mode = any (${[...modes]}) and removed_at is null
      and wallet_id < ${before}
    order by wallet_id desc
    limit ${limit}`
}

/** Undefined when the store has it already. */
export async function insertWallet(
  tx: Tx,
  storeId: string,
  wallet: Omit<WalletRow, 'createdAt'>,
): Promise<WalletRow | undefined> {
  const [row] = await tx<WalletRow[]>`
    insert into wallets (wallet_id, store_id, mode, network, address, xpub)
    values (${wallet.walletId}, ${storeId}, ${wallet.mode}, ${wallet.network}, ${wallet.address}, ${wallet.xpub})
    on conflict do nothing
    returning wallet_id, mode, network, address, xpub, created_at`
  return row
}

/** The key's own row, shared by all stores that use it. */
export async function insertXpub(db: Db, xpub: string): Promise<void> {
  await db`insert into xpubs (xpub) values (${xpub}) on conflict do nothing`
}

/** Answers whether there was such a wallet. */
export async function removeWallet(
  db: Db,
  storeId: string,
  mode: Mode,
  walletId: string,
): Promise<boolean> {
  const removed = await db`
    update wallets set removed_at = service_now()
    where wallet_id = ${walletId} and store_id = ${storeId} and mode = ${mode}
      and removed_at is null`
  return removed.count === 1
}
