import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { deriveAddresses } from '#shared/networks/addresses.ts'
import type { ApiDeps } from '../deps.ts'

/** Addresses derived ahead of their use. */
const AHEAD = 100
/** Below this many the pool is filled up while nobody waits. */
const LOW = 50
/** Addresses derived in one go, some 10 ms of work: between two, other requests get their turn. */
const STEP = 20

/**
 * Derives addresses until {@link AHEAD} are free. Any number of processes may do it at once: each step locks the key's
 * row, and steps of others count. The addresses exist before any buyer can see one.
 */
export async function fillXpubPool(db: Db, xpub: string): Promise<void> {
  for (let step = 0; step < AHEAD / STEP; step += 1) {
    const progress = await readProgress(db, xpub)
    if (progress === undefined || progress.freeCount >= AHEAD) return
    // Derived outside the transaction: a row lock is no place for arithmetic.
    const addresses = deriveAddresses(xpub, progress.derivedCount, STEP)
    await withTransaction(db, (tx) => storeAddresses(tx, xpub, progress.derivedCount, addresses))
  }
}

/** Fills up a pool that runs low, off the request's path. `left` is what the last claim found above its address. */
export function fillInBackground(deps: ApiDeps, xpub: string, left: number): void {
  if (left >= LOW || deps.xpubFills.has(xpub)) return
  deps.xpubFills.add(xpub)
  fillXpubPool(deps.db, xpub)
    // Not the request's fault: the next claim that finds the pool low or empty tries again.
    .catch((error: unknown) => deps.log.warn('addresses were not derived ahead', { cause: error }))
    .finally(() => deps.xpubFills.delete(xpub))
}

async function readProgress(
  db: Db,
  xpub: string,
): Promise<{ derivedCount: number; freeCount: number } | undefined> {
  const rows = await db<{ derivedCount: number; freeCount: number }[]>`
    select k.derived_count, (
        select count(*) from (
          select from xpub_addresses x
          where x.xpub = k.xpub and x.received_at is null and x.free_at < 'infinity'
            and x.free_at <= service_now()
          limit ${AHEAD}
        ) free
      )::integer as free_count
    from xpubs k
    where k.xpub = ${xpub}`
  return rows[0]
}

async function storeAddresses(
  tx: Tx,
  xpub: string,
  firstIndex: number,
  addresses: readonly string[],
): Promise<void> {
  const advanced = await tx`
    update xpubs set derived_count = derived_count + ${addresses.length}
    where xpub = ${xpub} and derived_count = ${firstIndex}`
  // Another process was first with these.
  if (advanced.count === 0) return
  await tx`
    insert into xpub_addresses (xpub, address_index, address)
    select ${xpub}, ${firstIndex} + n - 1, address
    from unnest(${[...addresses]}::text[]) with ordinality as derived (address, n)
    on conflict do nothing`
}
