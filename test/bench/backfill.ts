import { closeDb, type Db, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { createDriver } from '../../indexer/drivers/registry.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import type { BenchContext, Figure } from './bench.ts'
import {
  forgetFollowing,
  insertStrangersSlots,
  insertWaiting,
  readPosition,
  seedSeller,
  startBenchFollower,
  type Waiting,
} from './chain-load.ts'
import { findSquid, SQUID, timeSquid } from './squid.ts'

export const name = 'backfill'

const STRANGERS_SLOTS = 1_000_000
const LOGS_AT_ONE_PERCENT = 200_000
const LOGS_ALL_HITS = 20_000
const STRANGERS_PER_BLOCK = 3_960
const HITS_PER_BLOCK = 1_000
/** Blocks without logs at the end: the last ones are read one by one, which is not what is measured. */
const EMPTY_BLOCKS = 20
const GOAL_RATIO = 0.5
const TIMEOUT_MS = 300_000
/** Rarely enough that looking does not slow down what is looked at. */
const LOOK_EVERY_MS = 20
const CLOSE_TIMEOUT_MS = 1_000

/** Logs per second of each side. */
type Rates = { raw: number; stored: number; squid: number | undefined }

/**
 * A catch-up over blocks full of transfers: logs per second from a local node into Postgres, matched against a million held slots.
 * Beside it the same logs fetched and parsed, nothing stored; and, with `--beside`, another indexer storing the same rows.
 */
export async function run(context: BenchContext): Promise<Figure[]> {
  const squid = await findSquid(context)
  const mixed = await measure(context, squid, LOGS_AT_ONE_PERCENT, 0.01)
  const all = await measure(context, squid, LOGS_ALL_HITS, 1)
  const ratio = mixed.stored / mixed.raw
  return [
    {
      what: '1 % hits: logs per second',
      value: mixed.stored,
      unit: '1/s',
      beside: { what: 'fetched and parsed', value: mixed.raw },
      ratio,
      target: { goal: `${GOAL_RATIO}`, isReached: ratio >= GOAL_RATIO },
    },
    ...besideSquid('1 % hits: logs per second', mixed),
    {
      what: '100 % hits, each moving a payment: logs per second',
      value: all.stored,
      unit: '1/s',
      beside: { what: 'fetched and parsed', value: all.raw },
      ratio: all.stored / all.raw,
    },
    ...besideSquid('100 % hits, each moving a payment: logs per second', all),
  ]
}

function besideSquid(what: string, { stored, squid }: Rates): Figure[] {
  if (squid === undefined) return []
  const ratio = stored / squid
  const beside = { what: SQUID, value: squid }
  const target = { goal: 'ahead', isReached: ratio > 1 }
  return [{ what, value: stored, unit: '1/s', beside, ratio, target }]
}

async function measure(
  context: BenchContext,
  squid: string | undefined,
  logCount: number,
  hitShare: number,
): Promise<Rates> {
  const { db, url } = await context.database()
  const chain = await startTestChain()
  context.defer(() => chain.stop())
  const deployment = chain.deployments({ rpc: [chain.httpUrl] }).base
  const seller = await seedSeller(db, deployment)
  await insertStrangersSlots(db, deployment, STRANGERS_SLOTS)
  const hitCount = Math.round(logCount * hitShare)
  const waiting = await insertWaiting(db, deployment, seller, hitCount)
  const last = await fill(chain, waiting, logCount - hitCount)
  const check = async () => {
    const [row] = await db<{ count: number }[]>`
      select count(*) as count from transfers where state = 'MATCHED'`
    if (row?.count !== hitCount)
      throw new Error(`${row?.count} of ${hitCount} transfers were matched`)
  }
  const raw = logCount / (await timeRaw(deployment, last))
  const theirs =
    squid &&
    (await timeAnew(url, deployment, () => timeSquid(context, squid, { url, chain, last })))
  if (theirs) await check()
  const ours = await timeAnew(url, deployment, () => timeStored(db, deployment, last))
  await check()
  return { raw, stored: logCount / ours, squid: theirs ? logCount / theirs : undefined }
}

/** Each side finds the same: payments that wait, rows that were written once, nothing followed yet. */
async function timeAnew(
  url: string,
  deployment: Deployment,
  time: () => Promise<number>,
): Promise<number> {
  const unbounded = openDb({ url, applicationName: 'bench-reset', unbounded: true })
  await forgetFollowing(unbounded, deployment)
  await closeDb(unbounded, CLOSE_TIMEOUT_MS)
  return time()
}

/** Mines the transfers, hits among strangers' wherever there are any; answers the last block that has some. */
async function fill(
  chain: TestChain,
  waiting: readonly Waiting[],
  strangers: number,
): Promise<number> {
  const { usdc } = chain.tokens
  let paid = 0
  const pay = async (upTo: number) => {
    const part = waiting.slice(paid, upTo)
    paid += part.length
    if (part.length === 0) return
    await chain.payBatch(
      usdc,
      part.map(({ address, amountBaseUnits }) => ({ to: address, amountBaseUnits })),
    )
  }
  for (let done = 0; done < strangers; ) {
    const count = Math.min(STRANGERS_PER_BLOCK, strangers - done)
    await chain.payStrangers(usdc, count)
    done += count
    await pay(Math.round((waiting.length * done) / strangers))
  }
  while (paid < waiting.length) await pay(paid + HITS_PER_BLOCK)
  const { number } = await chain.head()
  await chain.mine(EMPTY_BLOCKS)
  return number
}

/** Seconds for the same blocks through the driver alone. */
async function timeRaw(deployment: Deployment, last: number): Promise<number> {
  const driver = createDriver({ deployment, log: silentLog, nowMs: () => Date.now() })
  await driver.check()
  const startedAt = performance.now()
  for (let from = 1; from <= last; ) {
    from = (await driver.rangeWithTransfers(from, last)).last.number + 1
  }
  const seconds = (performance.now() - startedAt) / 1_000
  await driver.stop()
  return seconds
}

/** Seconds until everything is stored and matched, from the first block that is stored. */
async function timeStored(db: Db, deployment: Deployment, last: number): Promise<number> {
  const run = startBenchFollower(db, deployment)
  const deadline = performance.now() + TIMEOUT_MS
  let startedAt = 0
  for (;;) {
    if (startedAt === 0 && run.isLeading()) startedAt = performance.now()
    if ((await readPosition(db, deployment)) >= last) break
    if (performance.now() > deadline) throw new Error('the backfill did not end')
    await new Promise((next) => setTimeout(next, LOOK_EVERY_MS))
  }
  const seconds = (performance.now() - startedAt) / 1_000
  await run.stop()
  return seconds
}
