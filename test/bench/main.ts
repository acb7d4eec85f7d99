import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { closeDb, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { migrate } from '#shared/migrate.ts'
import { startPostgres } from '#shared/start/postgres.ts'
import * as arrears from './arrears.ts'
import * as backfill from './backfill.ts'
import type { Bench, BenchContext, Figure } from './bench.ts'
import * as checkout from './checkout.ts'
import * as deliver from './deliver.ts'
import * as due from './due.ts'
import * as fair from './fair.ts'
import * as latency from './latency.ts'
import * as list from './list.ts'
import * as mixed from './mixed.ts'
import * as read from './read.ts'
import * as scale from './scale.ts'
import * as wake from './wake.ts'

/**
 * `bun run bench [name] [--seconds N] [--payments N] [--beside FOLDER|install]`: measures and prints a table and JSON. Ratios of one run,
 * never timed tests.
 */
const BENCHES: readonly Bench[] = [
  checkout,
  read,
  list,
  backfill,
  latency,
  deliver,
  wake,
  fair,
  arrears,
  due,
  scale,
  mixed,
]

const CLOSE_TIMEOUT_MS = 1_000
const SPAWN_TIMEOUT_MS = 20_000
/** A load that runs for a time never runs for longer. */
const SECONDS_MAX = 3_600
/** A history is longer than the one it is compared with; a hundred million are more than a disk here holds. */
const PAYMENTS_MIN = 20_000
const PAYMENTS_MAX = 100_000_000

const { values: flags, positionals: wanted } = parseArgs({
  options: {
    seconds: { type: 'string' },
    payments: { type: 'string' },
    beside: { type: 'string' },
  },
  allowPositionals: true,
})
const seconds = flags.seconds === undefined ? undefined : Number(flags.seconds)
if (seconds !== undefined && !(seconds >= 1 && seconds <= SECONDS_MAX)) {
  process.stderr.write(`--seconds is a number from 1 to ${SECONDS_MAX}\n`)
  process.exit(2)
}
const payments = flags.payments === undefined ? undefined : Number(flags.payments)
if (payments !== undefined && !(payments >= PAYMENTS_MIN && payments <= PAYMENTS_MAX)) {
  process.stderr.write(`--payments is a number from ${PAYMENTS_MIN} to ${PAYMENTS_MAX}\n`)
  process.exit(2)
}
const unknown = wanted.find((name) => !BENCHES.some((bench) => bench.name === name))
if (unknown !== undefined) {
  process.stderr.write(`no bench ${unknown}: ${BENCHES.map((bench) => bench.name).join(', ')}\n`)
  process.exit(2)
}

const postgres = await startPostgres({
  dataDirectory: join(mkdtempSync(join(tmpdir(), 'stablecoin-payments-bench-')), 'data'),
  log: silentLog,
  temporary: true,
})
const results: { bench: string; figures: Figure[] }[] = []
try {
  for (const bench of BENCHES) {
    if (wanted.length > 0 && !wanted.includes(bench.name)) continue
    process.stdout.write(`\n${bench.name}\n`)
    const figures = await runBench(bench)
    for (const figure of figures) process.stdout.write(`  ${lineOf(figure)}\n`)
    results.push({ bench: bench.name, figures })
  }
  const report = { machine: describeMachine(), postgres: await describePostgres(), results }
  process.stdout.write(`\n${JSON.stringify(report)}\n`)
} finally {
  await postgres.stop()
}
process.exit(0)

async function runBench(bench: Bench): Promise<Figure[]> {
  const cleanUps: (() => unknown)[] = []
  const context: BenchContext = {
    ...(seconds === undefined ? {} : { seconds }),
    ...(payments === undefined ? {} : { payments }),
    ...(flags.beside === undefined ? {} : { beside: flags.beside }),
    defer: (cleanUp) => cleanUps.push(cleanUp),
    async database() {
      const name = `bench_${randomBytes(6).toString('hex')}`
      const admin = openDb({ url: postgres.url, applicationName: 'bench-admin', unbounded: true })
      await admin`create database ${admin(name)}`
      const url = new URL(postgres.url)
      url.pathname = `/${name}`
      await migrate(url.href, { log: silentLog })
      const db = openDb({ url: url.href, applicationName: 'bench' })
      cleanUps.push(async () => {
        await closeDb(db, CLOSE_TIMEOUT_MS)
        await admin`drop database ${admin(name)} with (force)`
        await closeDb(admin, CLOSE_TIMEOUT_MS)
      })
      return { url: url.href, db }
    },
    async spawn(module, ...args) {
      const child = startModule(module, args)
      cleanUps.push(() => child.kill('SIGKILL'))
      return { line: await firstLine(child), kill: () => child.kill('SIGKILL') }
    },
  }
  try {
    return await bench.run(context)
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp()
  }
}

function startModule(module: string, args: readonly string[]) {
  const path = fileURLToPath(new URL(module, import.meta.url))
  const runtime = 'Deno' in globalThis ? ['run', '-A'] : []
  return spawn(process.execPath, [...runtime, path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function firstLine(child: ReturnType<typeof startModule>): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, SPAWN_TIMEOUT_MS, new Error('a bench process did not start'))
    let text = ''
    child.stdout.on('data', (piece: Buffer) => {
      text += piece.toString()
      const end = text.indexOf('\n')
      if (end < 0) return
      clearTimeout(timer)
      resolve(text.slice(0, end))
    })
  })
}

function lineOf({ what, value, unit, beside, ratio, target }: Figure): string {
  const numbers = [`${what}: ${round(value)} ${unit}`]
  if (beside) numbers.push(`${beside.what}: ${round(beside.value)} ${unit}`)
  if (ratio !== undefined) numbers.push(`ratio ${ratio.toFixed(2)}`)
  if (target) numbers.push(`to reach ${target.goal}: ${target.isReached ? 'yes' : 'NO'}`)
  return numbers.join(' | ')
}

function round(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(2)
}

function describeMachine() {
  const runtime = process.versions['bun'] ?? process.versions['deno'] ?? process.version
  return {
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    runtime,
  }
}

async function describePostgres(): Promise<Record<string, string>> {
  const db = openDb({ url: postgres.url, applicationName: 'bench-settings', poolSizeMax: 1 })
  const rows = await db<{ name: string; setting: string }[]>`
    select name, setting from pg_settings
    where name in ('server_version', 'shared_buffers', 'fsync', 'synchronous_commit', 'full_page_writes',
      'max_connections', 'wal_level')
    order by name`
  await closeDb(db, CLOSE_TIMEOUT_MS)
  return Object.fromEntries(rows.map((row) => [row.name, row.setting]))
}
