import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process, { env } from 'node:process'
import { closeDb, type Db, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { migrate } from '#shared/migrate.ts'
import { startPostgres } from '#shared/start/postgres.ts'

/** A database of its own, with the service's schema and no rows. */
export type TestDatabase = {
  name: string
  url: string
  db: Db
  /** Closes `db` and removes the database; connections that others left open are cut. */
  drop(): Promise<void>
}

/** A server that databases can be made on: its superuser's URL, and the name of the migrated template. */
type Server = { url: string; template: string }

/** Milliseconds for a test's own connections to close. */
const CLOSE_TIMEOUT_MS = 1_000
/** Attempts to copy the template: the server refuses while somebody is connected to it. */
const COPY_ATTEMPTS_MAX = 5

/**
 * A new database, copied from a template that was migrated once. All suites of a process share one server: the one of
 * TEST_DATABASE_URL, or an embedded one in memory-like settings that cannot outlive this process.
 */
export async function createTestDatabase(
  options: { poolSizeMax?: number } = {},
): Promise<TestDatabase> {
  const server = await sharedServer()
  const name = `test_${randomBytes(8).toString('hex')}`
  await asAdmin(server.url, (admin) => copy(admin, server.template, name))
  const url = withDatabase(server.url, name)
  const db = openDb({ url, applicationName: 'test', ...options })
  return {
    name,
    url,
    db,
    async drop() {
      await closeDb(db, CLOSE_TIMEOUT_MS)
      await asAdmin(
        server.url,
        (admin) => admin`drop database if exists ${admin(name)} with (force)`,
      )
    },
  }
}

/** A database without any table, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const { url: serverUrl } = await sharedServer()
  const name = `test_${randomBytes(8).toString('hex')}`
  await asAdmin(serverUrl, (admin) => admin`create database ${admin(name)}`)
  const url = withDatabase(serverUrl, name)
  const db = openDb({ url, applicationName: 'test' })
  return {
    name,
    url,
    db,
    async drop() {
      await closeDb(db, CLOSE_TIMEOUT_MS)
      await asAdmin(
        serverUrl,
        (admin) => admin`drop database if exists ${admin(name)} with (force)`,
      )
    },
  }
}

/**
 * Moves the clock of a database (`service_now()`) by an interval from the real time: `'25 hours'`, `'0'` to come back. It
 * is a setting of the database, so every connection of every process sees it: those open now are cut and open again.
 */
export async function travel(database: TestDatabase, interval: string): Promise<void> {
  const server = await sharedServer()
  await asAdmin(server.url, async (admin) => {
    const [checked] = await admin<{ text: string }[]>`select (${interval}::interval)::text as text`
    await admin.unsafe(
      `alter database "${database.name}" set service.clock_offset = '${checked?.text}'`,
    )
    await admin`
      select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database.name}`
  })
}

/** One server per process, whatever number of test files and module instances it holds. */
const shared = globalThis as { paymentsTestServer?: Promise<Server> }

function sharedServer(): Promise<Server> {
  shared.paymentsTestServer ??= startServer()
  return shared.paymentsTestServer
}

async function startServer(): Promise<Server> {
  const given = env['TEST_DATABASE_URL']
  const url = given || (await startEmbedded())
  const template = `template_${process.pid}_${randomBytes(4).toString('hex')}`
  await asAdmin(url, (admin) => admin`create database ${admin(template)}`)
  await migrate(withDatabase(url, template), { log: silentLog })
  return { url, template }
}

async function startEmbedded(): Promise<string> {
  const name = `stablecoin-payments-test-${process.pid}-${randomBytes(4).toString('hex')}`
  const server = await startPostgres({
    dataDirectory: join(tmpdir(), name),
    log: silentLog,
    durable: false,
    temporary: true,
  })
  return server.url
}

async function copy(admin: Db, template: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin`create database ${admin(name)} template ${admin(template)}`
      return
    } catch (error) {
      // 55006: a connection to the template is just being closed.
      const isInUse = (error as { code?: unknown }).code === '55006'
      if (!isInUse || attempt >= COPY_ATTEMPTS_MAX) throw error
    }
  }
}

async function asAdmin(url: string, work: (admin: Db) => Promise<unknown>): Promise<void> {
  const admin = openDb({ url, applicationName: 'test-admin', poolSizeMax: 1, unbounded: true })
  try {
    await work(admin)
  } finally {
    await closeDb(admin, CLOSE_TIMEOUT_MS)
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}
