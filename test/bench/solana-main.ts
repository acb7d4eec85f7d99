import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { silentLog } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import type { Driver } from '../../indexer/drivers/driver.ts'
import { createSolanaDriver } from '../../indexer/drivers/solana.ts'
import type { Following, OpenSeller } from '../support/svm-follow.ts'
import { until } from '../support/until.ts'

/** `bun test/bench/solana-main.ts [blocks|calls]`: the figures of the Solana driver, as a table and as JSON lines. */

/** Mainnet's pace, and what memory may be taken for it. */
const BLOCKS_PER_SECOND = 2.5
const MEMORY_MB_MAX = 200
const BLOCKS_READ = 150
/** Twice mainnet's pace. */
const PACE_PER_SECOND = 5
/** Slots of mainnet, in milliseconds, and how long each count of sellers is looked at. */
const SLOT_MS = 400
const LOOK_MS = 20_000
const SELLERS = [1, 100, 1_000]
const PAYMENTS = 30
const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'

const write = (text: string) => process.stdout.write(`${text}\n`)
const wanted = process.argv[2]
if (wanted === undefined || wanted === 'blocks') await measureBlocks()
if (wanted === undefined || wanted === 'calls') await measureCalls()
process.exit(0)

/** Block mode on blocks of mainnet's size, from a node in a process of its own. */
async function measureBlocks(): Promise<void> {
  const entrance = fileURLToPath(new URL('./solana-blocks-main.ts', import.meta.url))
  const node = spawn(process.execPath, [entrance], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(node.stdout, 'data')) as [Buffer]
  const { url, genesisHash, blockBytes, first } = JSON.parse(line.toString())
  const deployment = {
    ...{ deployment: 'solana:live', family: 'solana', reading: 'blocks', genesisHash, rpc: [url] },
    tokens: { usdc: { contract: MINT, decimals: 6 } },
  } as unknown as Deployment
  const driver = createSolanaDriver({ deployment, log: silentLog, nowMs: () => Date.now() })
  await driver.check().catch(() => undefined)
  const idleMegabytes = process.memoryUsage().rss / 1e6
  const paced = await readFrom(driver, first, 1_000 / PACE_PER_SECOND)
  const fast = await readFrom(driver, first, 0)
  write(
    JSON.stringify({
      ...{ name: 'solana blocks', blockMegabytes: blockBytes / 1e6, idleMegabytes },
      ...{ pacedPerSecond: PACE_PER_SECOND, paced, fast },
      coreShareAtMainnetPace: paced.cpuSecondsPerBlock * BLOCKS_PER_SECOND,
      limits: { blocksPerSecond: BLOCKS_PER_SECOND, megabytes: MEMORY_MB_MAX },
    }),
  )
  await driver.stop()
  node.kill()
}

/** Reads blocks one by one, each begun so many milliseconds after the last at the earliest. */
async function readFrom(driver: Driver, first: number, everyMs: number) {
  const rss: number[] = []
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  let transferCount = 0
  for (let block = 0; block < BLOCKS_READ; block += 1) {
    const { transfers } = await driver.rangeWithTransfers(first + block, first + block)
    transferCount += transfers.length
    rss.push(process.memoryUsage().rss / 1e6)
    await wait(Math.max(0, startedAt + (block + 1) * everyMs - performance.now()))
  }
  const { user, system } = process.cpuUsage(cpu)
  const half = Math.floor(rss.length / 2)
  return {
    blocksPerSecond: BLOCKS_READ / ((performance.now() - startedAt) / 1_000),
    cpuSecondsPerBlock: (user + system) / 1e6 / BLOCKS_READ,
    transfersPerBlock: transferCount / BLOCKS_READ,
    megabytesFirstHalf: Math.max(...rss.slice(0, half)),
    megabytesSecondHalf: Math.max(...rss.slice(half)),
  }
}

async function measureCalls(): Promise<void> {
  for (const reading of ['accounts', 'blocks'] as const) {
    for (const count of SELLERS) await measure(reading, count)
  }
}

async function measure(reading: 'accounts' | 'blocks', count: number): Promise<void> {
  // Not before it is needed: the virtual machine's memory is not the driver's.
  const { startFollowing } = await import('../support/svm-follow.ts')
  const following = await startFollowing({ reading })
  const { chain } = following
  const claims = await following.openSellers(count)
  const stop = chain.run(SLOT_MS)
  // The first passes subscribe and read each account's history once.
  await wait(10_000)
  const before = totalOf(following)
  await wait(LOOK_MS)
  const calls = ((totalOf(following) - before) * 60_000) / LOOK_MS
  const methods = Object.fromEntries(chain.node.calls)
  const latencies = await payAll(following, claims.slice(0, PAYMENTS))
  stop()
  write(
    JSON.stringify({
      name: 'solana calls',
      ...{ reading, sellers: count, callsPerMinute: Math.round(calls) },
      ...{ detectedP50Ms: percentile(latencies, 0.5), detectedP99Ms: percentile(latencies, 0.99) },
      methods,
    }),
  )
  await following.close()
}

/** Pays one after another and tells how long each took from its block's confirmation to the database, in milliseconds. */
async function payAll(following: Following, claims: readonly OpenSeller[]): Promise<number[]> {
  const { chain } = following
  const confirmedAt = new Map<string, number>()
  chain.ledger.onBlock(() => {
    for (const { signature } of chain.ledger.at('confirmed').transactions) {
      if (!confirmedAt.has(signature)) confirmedAt.set(signature, performance.now())
    }
  })
  const latencies: number[] = []
  for (const { address, due, paymentId } of claims) {
    const txHash = await chain.pay({ to: address, amountBaseUnits: due, isQueued: true })
    const isDetected = async () => (await following.statusOf(paymentId)) !== 'PENDING'
    await until(isDetected, { what: 'detected', timeoutMs: 30_000, everyMs: 5 })
    latencies.push(performance.now() - (confirmedAt.get(txHash) ?? Number.NaN))
    await wait(Math.random() * SLOT_MS * 2)
  }
  return latencies.sort((a, b) => a - b)
}

function totalOf({ chain }: Following): number {
  return [...chain.node.calls.values()].reduce((sum, count) => sum + count, 0)
}

function percentile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
