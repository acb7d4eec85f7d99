import { assert } from '#shared/assert.ts'
import { type Db, type Tx, withTransaction } from '#shared/db.ts'
import { deriveAddresses } from '#shared/networks/addresses.ts'
import type { ApiDeps } from './deps.ts'

/** Free addresses wanted of every extended key in use. */
const AHEAD = 100
/** Below this many the pool is filled up while nobody waits. */
const LOW = 50
/** Addresses derived in one go, some 10 ms of work: between two, other requests get their turn. */
const STEP = 20
/** Steps of one filling in the background. */
const STEPS_MAX = 2 * (AHEAD / STEP)
/** Times a claim is tried again after addresses were derived, while others take them. */
const CLAIM_STEPS_MAX = 100

/** What an xpub's pool holds. */
type Pool = { derivedCount: number; freeCount: number }

/**
 * Derives the next addresses of an extended key, unless enough are free. Whoever needs them in this process waits for
 * the same step; other processes' steps count too. Addresses exist before any buyer can see one.
 */
export function extendPool(deps: ApiDeps, xpub: string): Promise<{ isFull: boolean }> {
  const running = deps.xpubSteps.get(xpub)
  if (running !== undefined) return running
  const step = takeStep(deps.db, xpub).finally(() => deps.xpubSteps.delete(xpub))
  deps.xpubSteps.set(xpub, step)
  return step
}

/** Claims again, deriving addresses before each time, for as long as the claim finds its pool empty. */
export async function claimFromPool<C extends { code: string | null; xpub: string | null }>(
  deps: ApiDeps,
  first: C,
  claimAgain: () => Promise<C>,
): Promise<C> {
  let claim = first
  for (let step = 0; claim.code === 'pool_empty' && step < CLAIM_STEPS_MAX; step += 1) {
    assert(claim.xpub !== null, 'an empty pool has a name')
    await extendPool(deps, claim.xpub)
    claim = await claimAgain()
  }
  return claim
}

/** Fills up a pool that runs low, off the request's path. `left` is how many lie above the address just taken. */
export function fillInBackground(deps: ApiDeps, xpub: string, left: number): void {
  if (left >= LOW || deps.xpubFills.has(xpub)) return
  deps.xpubFills.add(xpub)
  fill(deps, xpub)
    // Not the request's fault: the next claim that finds the pool low or empty tries again.
    .catch((error: unknown) => deps.log.warn('addresses were not derived ahead', { cause: error }))
    .finally(() => deps.xpubFills.delete(xpub))
}

async function fill(deps: ApiDeps, xpub: string): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const { isFull } = await extendPool(deps, xpub)
    if (isFull) return
  }
}

async function takeStep(db: Db, xpub: string): Promise<{ isFull: boolean }> {
  const pool = await readPool(db, xpub)
  if (pool === undefined || pool.freeCount >= AHEAD) return { isFull: true }
  // Derived outside the transaction: a row lock is no place for arithmetic.
  const addresses = deriveAddresses(xpub, pool.derivedCount, STEP)
  await withTransaction(db, (tx) => storeAddresses(tx, xpub, pool.derivedCount, addresses))
  return { isFull: pool.freeCount + STEP >= AHEAD }
}

async function readPool(db: Db, xpub: string): Promise<Pool | undefined> {
  const rows = await db<Pool[]>`
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
    select ${xpub}, ${firstIndex}::integer + n::integer - 1, address
    from unnest(${[...addresses]}::text[]) with ordinality as derived (address, n)
    on conflict do nothing`
}
