import { randomBytes } from 'node:crypto'
import process, { env } from 'node:process'
import { closeDb, type Db, errorCode, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { migrate } from '#shared/migrate.ts'
import { startTestPostgres } from './postgres-server.ts'
import { until } from './until.ts'

/** A database of its own, made for one suite. */
export type TestDatabase = {
  name: string
  /** As the server's superuser; for processes under test. */
  url: string
  db: Db
  /** Closes `db` and removes the database; connections that others left open are cut. */
  drop(): Promise<void>
}

/** A server that databases can be made on: its superuser's URL, and the name of the migrated template. */
type Server = {
  url: string
  template: string
  /** Copying files is faster where nothing waits for the disk, and slower elsewhere (it forces a checkpoint). */
  strategy: 'file_copy' | 'wal_log'
}

/** Milliseconds for a test's own connections to close. */
const CLOSE_TIMEOUT_MS = 1_000
/** Milliseconds until the connections of a database whose clock was moved are open again. */
const TRAVEL_TIMEOUT_MS = 10_000
/** Attempts to copy the template: the server refuses while somebody is connected to it. */
const COPY_ATTEMPTS_MAX = 5

/**
 * A new database with the service's schema and no rows, copied from a template that was migrated once. All suites of a
 * process share one server: the one of TEST_DATABASE_URL, or an embedded one that cannot outlive this process.
 */
export function createTestDatabase(options: { poolSizeMax?: number } = {}): Promise<TestDatabase> {
  return create(options, (admin, name, { template, strategy }) =>
    copyTemplate(admin, name, template, strategy),
  )
}

/** A new database without any table, for tests of the migrations and of the driver. */
export function createEmptyDatabase(options: { poolSizeMax?: number } = {}): Promise<TestDatabase> {
  return create(options, (admin, name) => admin`create database ${admin(name)}`)
}

/** The URL of the server all suites share, as its superuser: to end backends, to make roles. */
export async function testServerUrl(): Promise<string> {
  return (await sharedServer()).url
}

/**
 * Moves the clock of a database (`service_now()`) by an interval from the real time: `'25 hours'`, `'0'` to come back. It
 * is a setting of the database, so every connection of every process sees it: those open now are cut, and the test's own
 * have come back when this resolves.
 */
export async function travel({ name, db }: TestDatabase, interval: string): Promise<void> {
  const { url } = await sharedServer()
  const offset = await asAdmin(url, async (admin) => {
    const [row] = await admin<
      [{ offset: string }]
    >`select ${interval}::text::interval::text as offset`
    await admin.unsafe(`alter database "${name}" set service.clock_offset = '${row.offset}'`)
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`
    return row.offset
  })
  await until(() => isAgreed(db, offset), {
    what: `every connection to be open again, ${offset} from now`,
    timeoutMs: TRAVEL_TIMEOUT_MS,
  })
}

/** Asks as many at once as the pool has connections, so that each one answers. */
async function isAgreed(db: Db, offset: string): Promise<boolean> {
  const questions = Array.from(
    { length: db.options.max },
    () => db<[{ offset: string }]>`select current_setting('service.clock_offset', true) as offset`,
  )
  return (await Promise.all(questions)).every(([row]) => row.offset === offset)
}

async function create(
  options: { poolSizeMax?: number },
  make: (admin: Db, name: string, server: Server) => Promise<unknown>,
): Promise<TestDatabase> {
  const server = await sharedServer()
  const name = `test_${randomBytes(8).toString('hex')}`
  await asAdmin(server.url, (admin) => make(admin, name, server))
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

/** One server per process, whatever number of test files and module instances it holds. */
const shared = globalThis as { paymentsTestServer?: Promise<Server> }
// Started while files are loaded: a suite's first hook has 5 s, which a first start may exceed on a busy machine.
await sharedServer()

function sharedServer(): Promise<Server> {
  shared.paymentsTestServer ??= startServer()
  return shared.paymentsTestServer
}

async function startServer(): Promise<Server> {
  const given = env['TEST_DATABASE_URL']
  const url = given || (await startTestPostgres())
  const template = `test_template_${process.pid}_${randomBytes(4).toString('hex')}`
  await asAdmin(url, (admin) => admin`create database ${admin(template)}`)
  await migrate(withDatabase(url, template), { log: silentLog })
  return { url, template, strategy: given ? 'wal_log' : 'file_copy' }
}

async function copyTemplate(
  admin: Db,
  name: string,
  template: string,
  strategy: string,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin.unsafe(`create database "${name}" template "${template}" strategy ${strategy}`)
      return
    } catch (error) {
      // 55006: a connection to the template is just being closed.
      if (errorCode(error) !== '55006' || attempt >= COPY_ATTEMPTS_MAX) throw error
    }
  }
}

async function asAdmin<T>(url: string, work: (admin: Db) => PromiseLike<T>): Promise<T> {
  const admin = openDb({ url, applicationName: 'test-admin', poolSizeMax: 1, unbounded: true })
  try {
    return await work(admin)
  } finally {
    await closeDb(admin, CLOSE_TIMEOUT_MS)
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}
