import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { createDoorbell } from '../../indexer/doorbell.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { type Run, runDeployment } from '../../indexer/run.ts'
import { TEST_DOOR } from '../support/door.ts'
import { randomEvmAddress, type SeededStore, seedStore, seedWallet } from '../support/seed.ts'

/** A payment that waits for an amount at an address. */
export type Waiting = { paymentId: string; address: string; amountBaseUnits: bigint }

/** Payments that wait at one address: an address with many is slower, which is another measurement. */
const PAYMENTS_PER_ADDRESS = 20
const PRICE_BASE_UNITS = 10_000_000n

/** Follows a deployment as an operator's process does, in this process. */
export function startBenchFollower(db: Db, deployment: Deployment): Run {
  const nowMs = () => Date.now()
  const log = silentLog
  const driver = createDriver({ deployment, log, nowMs })
  const doorbell = createDoorbell()
  const leader = newId('key')
  return runDeployment({
    db,
    deployment,
    driver,
    doorbell,
    log,
    leader,
    nowMs,
    settings: TEST_DOOR,
  })
}

export async function seedSeller(db: Db, deployment: Deployment): Promise<SeededStore> {
  await db`
    insert into deployments (deployment, confirmations)
    values (${deployment.deployment}, ${deployment.confirmations})`
  return seedStore(db, { wallets: [] })
}

/** Slots of other sellers, in bulk: what a transfer is looked up among. */
export async function insertStrangersSlots(
  db: Db,
  { deployment }: Deployment,
  count: number,
): Promise<void> {
  const part = 50_000
  for (let start = 0; start < count; start += part) {
    await db`
      insert into slots (address, amount_base_units, token, deployment, payment_id, store_id,
        price_base_units, is_exclusive, expires_at)
      select '0xStranger' || n % 1000, 10000001 + n / 1000 * 10, 'usdc', ${deployment},
        'pay_stranger' || n, 'store_stranger', 10000000, false, service_now() + interval '1 hour'
      from generate_series(${start}::int, ${Math.min(count, start + part) - 1}::int) n`
  }
  await db`analyze slots`
}

/** Payments of one seller that wait, and their slots, in bulk; older than the chain, so that it is read from its start. */
export async function insertWaiting(
  db: Db,
  deployment: Deployment,
  seller: SeededStore,
  count: number,
): Promise<Waiting[]> {
  const waiting: Waiting[] = []
  for (let index = 0; index < count; index += PAYMENTS_PER_ADDRESS) {
    const address = randomEvmAddress()
    await seedWallet(db, seller.store.storeId, { network: deployment.network, address })
    for (let tail = 0; tail < PAYMENTS_PER_ADDRESS && index + tail < count; tail += 1) {
      const amountBaseUnits = PRICE_BASE_UNITS + BigInt(tail) * 10n + 1n
      waiting.push({ paymentId: newId('pay'), address, amountBaseUnits })
    }
  }
  const ids = waiting.map(({ paymentId }) => paymentId)
  const addresses = waiting.map(({ address }) => address)
  const amounts = waiting.map(({ amountBaseUnits }) => amountBaseUnits.toString())
  const { storeId } = seller.store
  await db`
    insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract,
      decimals, address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units,
      amount_base_units, created_at, expires_at)
    select t.id, ${storeId}, ${seller.account.accountId}, ${deployment.mode}, ${deployment.network}, 'usdc',
      ${deployment.deployment}, ${deployment.tokens.usdc?.contract ?? ''}, 6, t.address, false, 'CHAIN',
      ${deployment.confirmations}, 1000, ${PRICE_BASE_UNITS}, t.amount::numeric,
      service_now() - interval '1 hour', service_now() + interval '10 hours'
    from unnest(${ids}::text[], ${addresses}::text[], ${amounts}::text[]) t (id, address, amount)`
  await db`
    insert into slots (address, amount_base_units, token, deployment, payment_id, store_id,
      price_base_units, is_exclusive, expires_at)
    select address, amount_base_units, token, deployment, payment_id, store_id, price_base_units, false, expires_at
    from payments where payment_id = any (${ids})`
  await db`analyze payments, slots, wallets`
  return waiting
}

/** Takes back what a follower stored, so that another one finds what the first one found. */
export async function forgetFollowing(db: Db, deployment: Deployment): Promise<void> {
  await db`truncate transfers, inbox, payment_moves, events, blocks, deployments cascade`
  await db`
    update payments set
      status = 'PENDING', received_base_units = 0, tx_hash = null, block_number = null, detected_at = null`
  await db`vacuum analyze payments`
  await db`
    insert into deployments (deployment, confirmations)
    values (${deployment.deployment}, ${deployment.confirmations})`
}

export async function readPosition(db: Db, { deployment }: Deployment): Promise<number> {
  const [row] = await db<{ blockNumber: number | null }[]>`
    select block_number from deployments where deployment = ${deployment}`
  return row?.blockNumber ?? 0
}
