import assert from 'node:assert/strict'
import { newId } from '#shared/ids.ts'
import { type Log, type LogFields, silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { createDoorbell } from '../../indexer/doorbell.ts'
import type { Driver } from '../../indexer/drivers/driver.ts'
import { createSolanaDriver } from '../../indexer/drivers/solana.ts'
import type { Reading } from '../../indexer/drivers/solana-mode.ts'
import { type Run, runDeployment } from '../../indexer/run.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { TEST_DOOR } from './door.ts'
import { assertOneStory } from './oracle.ts'
import { type SeededStore, seedStore, seedWallet } from './seed.ts'
import { randomSolanaAddress, type SvmChain, startSvmChain } from './svm.ts'
import { readSvmTransfers } from './svm-transfers.ts'
import { until } from './until.ts'

/** A Solana, a database, sellers and the indexer's own loop between them, in this process. */
export type Following = {
  chain: SvmChain
  database: TestDatabase
  seller: SeededStore
  address: string
  /** The driver in use; another one after `restart`. */
  driver(): Driver
  /** Lines of the log, message and fields. */
  readonly lines: { level: string; message: string; fields: LogFields | undefined }[]
  start(): Promise<void>
  stop(): Promise<void>
  /** Claims a slot as checkout does, for a whole number of cents. */
  claim(amountCents: number): Promise<Claim>
  /** Sellers at addresses of their own, each with one open payment. */
  openSellers(count: number): Promise<OpenSeller[]>
  statusOf(paymentId: string): Promise<string>
  /** Seals blocks until a payment has this status. */
  untilStatus(
    paymentId: string,
    status: string,
    options?: { isProducing?: boolean; timeoutMs?: number },
  ): Promise<void>
  /** Lets the oracle compare the database with the chain; nothing may be on its way. */
  judge(): Promise<void>
  close(): Promise<void>
}
export type Claim = { paymentId: string; due: bigint; reference: string }
export type OpenSeller = Claim & { address: string }

export type FollowingOptions = {
  reading: Reading
  /** Endpoints out of the chain's; default websocket and HTTP of its first node. */
  rpc?: (chain: SvmChain) => Promise<string[]> | string[]
  nowMs?: () => number
}

const SETTINGS = TEST_DOOR
const NAME = 'solana:test'
const TIMEOUT_MS = 20_000

export async function startFollowing(options: FollowingOptions): Promise<Following> {
  const [chain, database, address] = await Promise.all([
    startSvmChain(),
    createTestDatabase(),
    randomSolanaAddress(),
  ])
  const { db } = database
  const seller = await seedStore(db, { wallets: [{ network: 'solana', address }] })
  const rpc = (await options.rpc?.(chain)) ?? [chain.node.wsUrl, chain.node.httpUrl]
  const deployment = deploymentOf(chain, rpc, options.reading)
  const lines: Following['lines'] = []
  const log = keepingLog(lines)
  let driver: Driver | undefined
  let run: Run | undefined

  const statusOf = async (paymentId: string) => {
    const [row] = await db`select status from payments where payment_id = ${paymentId}`
    return String(row?.['status'])
  }
  const start = async () => {
    driver = createSolanaDriver({ deployment, log, nowMs: () => Date.now() })
    const deps = { db, deployment, driver, doorbell: createDoorbell(), log, settings: SETTINGS }
    run = runDeployment({ ...deps, leader: newId('key'), nowMs: () => Date.now() })
    await until(() => run?.isLeading(), { what: 'the indexer leads', timeoutMs: TIMEOUT_MS })
  }
  const stop = async () => {
    await run?.stop()
    run = undefined
  }
  await start()
  await until(async () => (await db`select 1 from deployments where block_number > 0`).length > 0, {
    what: 'the first block is known',
  })
  return {
    ...{ chain, database, seller, address, lines, statusOf, start, stop },
    driver() {
      assert.ok(driver)
      return driver
    },
    claim: (amountCents) => claim(database, chain, seller, amountCents),
    async openSellers(count) {
      const { storeId } = seller.store
      const open: OpenSeller[] = []
      for (let index = 0; index < count; index += 1) {
        const own = await randomSolanaAddress()
        // A claim takes any wallet of the store: this one alone is left.
        await db`
          update wallets set removed_at = service_now()
          where store_id = ${storeId} and removed_at is null`
        await seedWallet(db, storeId, { network: 'solana', address: own })
        open.push({ ...(await claim(database, chain, seller, 1_000)), address: own })
      }
      return open
    },
    async untilStatus(paymentId, status, { isProducing = true, timeoutMs = TIMEOUT_MS } = {}) {
      await until(
        async () => {
          if (isProducing) chain.produce(2)
          return (await statusOf(paymentId)) === status
        },
        { what: `${paymentId} is ${status}`, timeoutMs, everyMs: 50 },
      )
    },
    async judge() {
      const read = (from: number, to: number) =>
        readSvmTransfers(chain.node.httpUrl, Object.values(chain.mints), from, to)
      await assertOneStory({ db, chains: { [NAME]: { read } } })
    },
    async close() {
      await stop()
      await Promise.all([chain.stop(), database.drop()])
    },
  }
}

export function deploymentOf(chain: SvmChain, rpc: string[], reading: Reading): Deployment {
  return {
    ...{ deployment: NAME, network: 'solana', networkName: 'Solana', mode: 'test' },
    ...{ family: 'solana', confirmations: 32, genesisHash: chain.ledger.genesisHash, reading, rpc },
    tokens: {
      usdc: { contract: chain.mints.usdc, decimals: 6 },
      usdt: { contract: chain.mints.usdt, decimals: 6 },
    },
    ...{ clockToleranceMs: 30_000, blockTimeMs: 400, isOn: true },
  }
}

function keepingLog(lines: Following['lines']): Log {
  const at = (level: string) => (message: string, fields?: LogFields) =>
    void lines.push({ level, message, fields })
  const log: Log = {
    ...silentLog,
    ...{ info: at('info'), warn: at('warn'), error: at('error') },
    with: () => log,
  }
  return log
}

async function claim(
  { db }: TestDatabase,
  chain: SvmChain,
  seller: SeededStore,
  amountCents: number,
): Promise<Claim> {
  const paymentId = newId('pay')
  const reference = await randomSolanaAddress()
  const payment = {
    payment_id: paymentId,
    store_id: seller.store.storeId,
    account_id: seller.account.accountId,
    ...{ mode: 'test', network: 'solana', token: 'usdc', deployment: NAME },
    ...{ contract: chain.mints.usdc, decimals: 6, clock: 'CHAIN', confirmations_required: 32 },
    ...{ amount_cents: amountCents, reference_key: reference },
  }
  const [row] = await db<{ code: string | null; due: bigint }[]>`
    select code, (payment).amount_base_units as due
    from claim_slot(jsonb_populate_record(null::payments, ${db.json(payment)}), 60, null, null, 100)`
  assert.equal(row?.code, null)
  return { paymentId, due: row?.due ?? 0n, reference }
}
