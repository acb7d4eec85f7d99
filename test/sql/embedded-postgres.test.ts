import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { closeDb, type Db, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { startPostgres } from '#shared/start/postgres.ts'
import { until } from '../support/until.ts'

/** Milliseconds for a test that makes a database, on a busy machine. */
const timeout = 60_000
const log = silentLog

test(
  'the first start makes the data, a later one resumes them, and stopping leaves no process',
  { timeout },
  inDirectory(async (base) => {
    const dataDirectory = join(base, 'resumed', 'postgres')
    const first = await startPostgres({ dataDirectory, log })
    await query(first.url, async (db) => {
      await db`create table kept (word text)`
      await db`insert into kept values ('kept')`
    })
    const startedAt = performance.now()
    await first.stop()
    assert.ok(performance.now() - startedAt < 3_000)
    assert.equal(isAlive(first.pid), false)

    const second = await startPostgres({ dataDirectory, log })
    try {
      await query(second.url, async (db) => {
        assert.equal((await db`select word from kept`)[0]?.['word'], 'kept')
      })
    } finally {
      await second.stop()
    }
  }),
)

test(
  'a server that was killed is started again with everything it had committed',
  { timeout },
  inDirectory(async (base) => {
    const dataDirectory = join(base, 'killed')
    const first = await startPostgres({ dataDirectory, log })
    await query(first.url, (db) => db`create table kept as select 1 as one`)
    process.kill(first.pid, 'SIGKILL')
    await first.ended
    const second = await startPostgres({ dataDirectory, log })
    try {
      await query(second.url, async (db) => assert.equal((await db`select from kept`).count, 1))
    } finally {
      await second.stop()
    }
  }),
)

test(
  'a starter that was killed takes its server along, and the data are there at the next start',
  { timeout },
  inDirectory(async (base) => {
    const dataDirectory = join(base, 'starter-killed')
    const { child, url, pid } = await startInChild(dataDirectory)
    await query(url, (db) => db`create table kept as select 1 as one`)
    child.kill('SIGKILL')
    await until(() => !isAlive(pid), {
      what: 'the server to end after its starter',
      timeoutMs: 15_000,
    })
    const next = await startPostgres({ dataDirectory, log })
    try {
      await query(next.url, async (db) => assert.equal((await db`select from kept`).count, 1))
    } finally {
      await next.stop()
    }
  }),
)

test(
  'a second start on the same directory is refused in one sentence, and the first serves on',
  { timeout },
  inDirectory(async (base) => {
    const dataDirectory = join(base, 'twice')
    const first = await startPostgres({ dataDirectory, log })
    try {
      await assert.rejects(startPostgres({ dataDirectory, log }), /already runs on .*twice/)
      await query(first.url, async (db) => assert.equal((await db`select`).count, 1))
    } finally {
      await first.stop()
    }
  }),
)

test(
  'a taken port is refused by its number',
  { timeout },
  inDirectory(async (base) => {
    const listener = createServer()
    await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done))
    const address = listener.address()
    assert.ok(address !== null && typeof address === 'object')
    try {
      const refused = startPostgres({ dataDirectory: join(base, 'port'), port: address.port, log })
      await assert.rejects(refused, new RegExp(`port ${address.port} .*taken`))
    } finally {
      await new Promise((done) => listener.close(done))
    }
  }),
)

test(
  'data of another major version are refused and left alone',
  { timeout },
  inDirectory(async (base) => {
    const dataDirectory = join(base, 'older')
    await mkdir(dataDirectory)
    await writeFile(join(dataDirectory, 'PG_VERSION'), '17\n')
    await assert.rejects(startPostgres({ dataDirectory, log }), /made by Postgres 17, this is 18/)
  }),
)

test(
  'a temporary server leaves nothing on the disk',
  { timeout },
  inDirectory(async (base) => {
    const dataDirectory = join(base, 'temporary')
    const server = await startPostgres({ dataDirectory, log, durable: false, temporary: true })
    await server.stop()
    assert.equal(existsSync(dataDirectory), false)
  }),
)

/** A test in a folder of its own. It is removed by the test, since a hook has 5 s whatever the machine is busy with. */
function inDirectory(work: (base: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const base = await mkdtemp(join(tmpdir(), 'embedded-'))
    try {
      // The account that runs Postgres for root must be able to enter.
      await chmod(base, 0o755)
      await work(base)
    } finally {
      await rm(base, { recursive: true, force: true })
    }
  }
}

async function query(url: string, work: (db: Db) => PromiseLike<unknown>): Promise<void> {
  const db = openDb({ url, applicationName: 'test', poolSizeMax: 1 })
  try {
    await work(db)
  } finally {
    await closeDb(db, 1_000)
  }
}

async function startInChild(
  dataDirectory: string,
): Promise<{ child: ChildProcess; url: string; pid: number }> {
  const script = fileURLToPath(new URL('../support/embedded-starter.ts', import.meta.url))
  const args = 'Deno' in globalThis ? ['run', '-A', script] : [script]
  const child = spawn(process.execPath, [...args, dataDirectory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk.toString()
  })
  await until(() => text.includes('\n'), { what: 'the server of the child', timeoutMs: 30_000 })
  return { child, ...(JSON.parse(text) as { url: string; pid: number }) }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // Nobody has this number.
    return false
  }
}
