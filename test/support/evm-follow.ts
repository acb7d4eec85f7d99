import assert from 'node:assert/strict'
import { newId } from '#shared/ids.ts'
import { type Log, silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { createDoorbell } from '../../indexer/doorbell.ts'
import type { Driver } from '../../indexer/drivers/driver.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { type Run, runDeployment } from '../../indexer/run.ts'
import type { TestChain } from './anvil.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { TEST_DOOR } from './door.ts'
import { assertOneStory } from './oracle.ts'
import { randomEvmAddress, type SeededStore, type SeedOptions, seedStore } from './seed.ts'
import { until } from './until.ts'

/** `base:test` on a local chain, a database, a seller, and the indexer's own loop between them, in this process. */
export type EvmFollowing = {
  database: TestDatabase
  seller: SeededStore
  address: string
  deployment: Deployment
  driver(): Driver
  run(): Run
  start(): Promise<void>
  stop(): Promise<void>
  /** Claims a slot as checkout does, for a whole number of cents. */
  claim(amountCents: number): Promise<Claim>
  statusOf(paymentId: string): Promise<string>
  untilStatus(paymentId: string, status: string, timeoutMs?: number): Promise<void>
  /** Where the cursor stands. */
  position(): Promise<number>
  /** Transfers that do not count because readings differ about them. */
  heldCount(): Promise<number>
  /** Lets the oracle compare the database with the chain; nothing may be on its way. */
  judge(): Promise<void>
  close(): Promise<void>
}
export type Claim = { paymentId: string; due: bigint }

export type EvmFollowingOptions = {
  chain: TestChain
  rpc?: string[]
  changes?: Partial<Deployment>
  seed?: SeedOptions
  log?: Log
  /** A database that others have, too. */
  database?: TestDatabase
}

const SETTINGS = TEST_DOOR
const NAME = 'base:test'
const TIMEOUT_MS = 20_000
/** Connections of one follower: many share a server. */
const POOL_SIZE_MAX = 2

export async function createEvmFollowing(options: EvmFollowingOptions): Promise<EvmFollowing> {
  const { chain, log = silentLog, rpc, changes } = options
  const database = options.database ?? (await createTestDatabase({ poolSizeMax: POOL_SIZE_MAX }))
  const { db } = database
  const address = randomEvmAddress()
  const seller = await seedStore(db, { wallets: [{ network: 'base', address }], ...options.seed })
  const deployment = { ...chain.deployments(rpc ? { rpc } : {}).base, ...changes } as Deployment
  let driver: Driver | undefined
  let run: Run | undefined

  const statusOf = async (paymentId: string) => {
    const [row] = await db`select status from payments where payment_id = ${paymentId}`
    return String(row?.['status'])
  }
  const stop = async () => {
    await run?.stop()
    run = undefined
  }
  return {
    ...{ database, seller, address, deployment, statusOf, stop },
    driver() {
      assert.ok(driver)
      return driver
    },
    run() {
      assert.ok(run)
      return run
    },
    async start() {
      const nowMs = () => Date.now()
      driver = createDriver({ deployment, log, nowMs })
      const deps = { db, deployment, driver, doorbell: createDoorbell(), log, settings: SETTINGS }
      run = runDeployment({ ...deps, leader: newId('key'), nowMs })
    },
    claim: (amountCents) => claim(database, deployment, seller, amountCents),
    async untilStatus(paymentId, status, timeoutMs = TIMEOUT_MS) {
      await until(async () => (await statusOf(paymentId)) === status, {
        what: `${paymentId} is ${status}`,
        timeoutMs,
        everyMs: 100,
      })
    },
    async position() {
      const [row] = await db<{ blockNumber: number | null }[]>`
        select block_number from deployments where deployment = ${NAME}`
      return row?.blockNumber ?? 0
    },
    async heldCount() {
      const rows = await db`select 1 from transfers where is_held`
      return rows.length
    },
    async judge() {
      const contracts = Object.values(deployment.tokens).map(({ contract }) => contract)
      await assertOneStory({ db, chains: { [NAME]: { httpUrl: chain.httpUrl, contracts } } })
    },
    async close() {
      await stop()
      if (!options.database) await database.drop()
    },
  }
}

async function claim(
  { db }: TestDatabase,
  deployment: Deployment,
  seller: SeededStore,
  amountCents: number,
): Promise<Claim> {
  const paymentId = newId('pay')
  const [token, facts] = Object.entries(deployment.tokens)[0] ?? []
  const payment = {
    payment_id: paymentId,
    store_id: seller.store.storeId,
    account_id: seller.account.accountId,
    ...{ mode: 'test', network: deployment.network, token, deployment: deployment.deployment },
    ...{ contract: facts?.contract, decimals: facts?.decimals, clock: 'CHAIN' },
    confirmations_required: deployment.confirmations,
    amount_cents: amountCents,
  }
  const [row] = await db<{ code: string | null; due: bigint }[]>`
    select code, (payment).amount_base_units as due
    from claim_slot(jsonb_populate_record(null::payments, ${db.json(payment)}), 60, null, null, 100)`
  assert.equal(row?.code, null)
  return { paymentId, due: row?.due ?? 0n }
}
