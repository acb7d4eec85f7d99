import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { deployToken } from '#shared/start/tokens/token.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type RunningCli, startCli } from '../support/cli.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { findFreePort } from '../support/free-port.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 90_000
const NAMES = ['ethereum', 'base', 'arbitrum', 'optimism', 'polygon', 'bnb', 'avalanche']
const DEPLOYMENT_COUNT = 10
/** What ten deployments at rest in one process may take, in MiB (must reach). */
const RSS_MIB_MAX = 250
/** Milliseconds of watching; longer than the longest pass, so that no leader is seen at its best only. */
const WATCH_MS = 20_000
const MINE_EVERY_MS = 1_000

let chain: TestChain
let database: TestDatabase
let directory: string
let indexer: RunningCli
let metricsUrl: string

before(
  async () => {
    ;[chain, database, directory] = await Promise.all([
      startTestChain(),
      createTestDatabase(),
      mkdtemp(join(tmpdir(), 'idle-')),
    ])
    const file = join(directory, 'networks.json')
    await writeFile(file, JSON.stringify(await describeNetworks()))
    const port = await findFreePort()
    metricsUrl = `http://127.0.0.1:${port}/metrics`
    indexer = startCli('indexer/main.ts', [], {
      env: {
        DATABASE_URL: database.url,
        NETWORKS_FILE: file,
        ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
        METRICS_PORT: String(port),
        LOG_FORMAT: 'json',
      },
    })
  },
  { timeout },
)
after(
  async () => {
    indexer.kill('SIGTERM')
    await indexer.ended
    await Promise.all([chain.stop(), database.drop(), rm(directory, { recursive: true })])
  },
  { timeout },
)

/** Deployments on one chain, told apart by their tokens. */
async function describeNetworks() {
  const networks: Record<string, Record<string, object>> = {}
  const places = ['test', 'live'].flatMap((mode) => NAMES.map((name) => ({ mode, name })))
  for (const { mode, name } of places.slice(0, DEPLOYMENT_COUNT)) {
    const token = { name: 'Test USD Coin', symbol: 'USDC', decimals: 6 }
    const contract = await deployToken(chain.httpUrl, token)
    const row = { rpc: [chain.wsUrl, chain.httpUrl], chainId: 31_337 }
    networks[name] = {
      ...networks[name],
      [mode]: { ...row, tokens: { usdc: { contract, decimals: 6 } } },
    }
  }
  return networks
}

/** A number of each deployment. */
async function numbers(name: string): Promise<Map<string, number>> {
  const lines = (await (await fetch(metricsUrl)).text()).split('\n')
  return new Map(
    lines
      .filter((line) => line.startsWith(`${name}{`))
      .map((line) => [
        /deployment="([^"]+)"/.exec(line)?.[1] ?? '',
        Number(line.split(' ').at(-1)),
      ]),
  )
}

async function rssMib(): Promise<number> {
  const status = await readFile(`/proc/${indexer.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
}

test('ten deployments at rest in one process take less than 250 MiB and a call a second each', {
  timeout,
  skip: platform() !== 'linux' && 'the memory of a process is read from /proc',
}, async () => {
  await until(
    async () => {
      const leading = await numbers('indexer_leading')
      return [...leading.values()].filter((one) => one === 1).length === DEPLOYMENT_COUNT
    },
    { what: 'all are led', timeoutMs: 40_000 },
  )
  await until(
    async () => {
      const heads = await database.db`select 1 from deployments where head_number > 0`
      return heads.length === DEPLOYMENT_COUNT
    },
    { what: 'all have looked at the chain', timeoutMs: 20_000 },
  )
  const before = await numbers('indexer_rpc_calls_total')
  const startedAt = performance.now()
  let highestMib = 0
  while (performance.now() - startedAt < WATCH_MS) {
    await chain.mine()
    await new Promise((done) => setTimeout(done, MINE_EVERY_MS))
    highestMib = Math.max(highestMib, await rssMib())
  }
  const after = await numbers('indexer_rpc_calls_total')
  const seconds = (performance.now() - startedAt) / 1_000
  for (const [deployment, count] of after) {
    const calls = count - (before.get(deployment) ?? 0)
    assert.ok(calls > 0, `${deployment} is followed`)
    assert.ok(calls <= seconds + 1, `${deployment}: ${calls} calls in ${seconds} s`)
  }
  assert.ok(highestMib < RSS_MIB_MAX, `${highestMib} MiB`)
})
