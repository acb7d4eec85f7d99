import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import {
  closeDb,
  type Db,
  errorCode,
  isUnavailable,
  openDb,
  type SqlLike,
  type Tx,
} from '#shared/db.ts'
import type { Log } from '#shared/log.ts'

/** Where the service's own migrations lie. */
export const MIGRATIONS_DIRECTORY = new URL('../sql/', import.meta.url)

/** The database's schema is not the one this code was written for. The message says what to do. */
export class SchemaError extends Error {
  override name = 'SchemaError'
}

type Migration = { name: string; sha256: string; text: string }
type Applied = { name: string; sha256: string }

/** Milliseconds a migrator waits for another one that is at work on the same migration. */
const OTHER_MIGRATOR_WAIT_MS = 10 * 60_000
/** Milliseconds a migration waits for a table: every other transaction is over sooner, by its own timeouts. */
const TABLE_LOCK_TIMEOUT_MS = 30_000
/** Attempts to create the list of migrations while others create it too. */
const CREATE_ATTEMPTS_MAX = 20
/** Milliseconds for the migrator's connection to close. */
const CLOSE_TIMEOUT_MS = 1_000

/**
 * Brings a database to the newest schema: each `NNNN_name.sql` in a transaction of its own, in order, once. Any number of
 * processes may do this at once. Answers the names it applied itself.
 * Throws {@link SchemaError} when the database knows a migration the directory does not, or one that was changed since.
 */
export async function migrate(
  url: string,
  { log, directory = MIGRATIONS_DIRECTORY }: { log: Log; directory?: URL | string },
): Promise<string[]> {
  const migrations = await readMigrations(directory)
  const db = openDb({ url, applicationName: 'migrate', poolSizeMax: 1, unbounded: true })
  try {
    await createList(db)
    const applied: string[] = []
    for (const migration of missing(migrations, await readApplied(db))) {
      if (!(await apply(db, migration))) continue
      applied.push(migration.name)
      log.info('migration applied', { migration: migration.name })
    }
    compare(migrations, await readApplied(db))
    return applied
  } finally {
    await closeDb(db, CLOSE_TIMEOUT_MS)
  }
}

/**
 * Resolves when the database has exactly the migrations of the directory; every process asks this before it serves.
 * Throws {@link SchemaError} otherwise.
 */
export async function assertSchemaCurrent(
  sql: SqlLike,
  directory: URL | string = MIGRATIONS_DIRECTORY,
): Promise<void> {
  compare(await readMigrations(directory), await readApplied(sql))
}

/**
 * What every process does first: resolves when the schema is the code's, or when told to stop. A database that cannot be
 * reached is waited for; one of another version throws {@link SchemaError}.
 */
export async function awaitSchema(
  { db, log }: { db: SqlLike; log: Log },
  signal: AbortSignal,
): Promise<void> {
  await untilReachable(log, signal, () => assertSchemaCurrent(db))
}

/** Milliseconds between two looks for a database that cannot be reached. */
const RETRY_MS = 500

/** Does what a process cannot begin without, waiting for a database that cannot be reached; undefined when told to stop. */
export async function untilReachable<T>(
  log: Log,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      log.warn('waiting for the database', { error })
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
  return undefined
}

async function readMigrations(directory: URL | string): Promise<Migration[]> {
  const base = typeof directory === 'string' ? directory.replace(/\/?$/, '/') : directory
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort()
  const migrations: Migration[] = []
  for (const name of names) {
    if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(name)) {
      throw new SchemaError(`${name} should be called NNNN_name.sql, in lower case`)
    }
    if (migrations.at(-1)?.name.slice(0, 4) === name.slice(0, 4)) {
      throw new SchemaError(`two migrations have the number ${name.slice(0, 4)}`)
    }
    const path = typeof base === 'string' ? `${base}${name}` : new URL(name, base)
    // A checkout with Windows line endings is the same migration.
    const text = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n')
    migrations.push({ name, text, sha256: createHash('sha256').update(text).digest('hex') })
  }
  return migrations
}

/** unique_violation, duplicate_table, duplicate_object: which one depends on how far the other one is. */
const CREATED_MEANWHILE = new Set(['23505', '42P07', '42710'])

async function createList(db: Db): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await db`
        create table if not exists migrations (
          name text primary key,
          sha256 text not null,
          applied_at timestamptz not null default current_timestamp
        )`
      return
    } catch (error) {
      // "if not exists" looks before it creates: of two at once, one meets the other's row in the system catalogue.
      if (attempt >= CREATE_ATTEMPTS_MAX || !CREATED_MEANWHILE.has(errorCode(error))) throw error
    }
  }
}

async function readApplied(sql: SqlLike): Promise<Applied[]> {
  try {
    return await sql<Applied[]>`select name, sha256 from migrations order by name collate "C"`
  } catch (error) {
    if (errorCode(error) !== '42P01') throw error
    throw new SchemaError('the database has no schema yet: run `bun run migrate`')
  }
}

/** Answers whether this process applied it; `false` when another one had. */
async function apply(db: Db, migration: Migration): Promise<boolean> {
  try {
    return await db.begin((tx) => run(tx, migration))
  } catch (error) {
    throw new Error(`migration ${migration.name} failed, nothing of it was kept`, { cause: error })
  }
}

async function run(tx: Tx, { name, sha256, text }: Migration): Promise<boolean> {
  await tx.unsafe(
    `set local lock_timeout = ${OTHER_MIGRATOR_WAIT_MS}; set local statement_timeout = 0`,
  )
  // First the row: a second migrator waits here on the key until this one has committed or failed.
  const claimed = await tx`
    insert into migrations (name, sha256) values (${name}, ${sha256})
    on conflict (name) do nothing`
  if (claimed.count === 0) return false
  await tx.unsafe(`set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`)
  await tx.unsafe(text)
  return true
}

function missing(migrations: Migration[], applied: Applied[]): Migration[] {
  refuseStrangers(migrations, applied)
  const names = new Set(applied.map(({ name }) => name))
  const rest = migrations.filter(({ name }) => !names.has(name))
  const last = applied.at(-1)
  const [first] = rest
  if (first && last && first.name < last.name) {
    throw new SchemaError(`${first.name} comes before ${last.name}, which the database already has`)
  }
  return rest
}

function compare(migrations: Migration[], applied: Applied[]): void {
  const [first] = missing(migrations, applied)
  if (first) throw new SchemaError(`the database lacks ${first.name}: run \`bun run migrate\``)
}

function refuseStrangers(migrations: Migration[], applied: Applied[]): void {
  const known = new Map(migrations.map((migration) => [migration.name, migration.sha256]))
  for (const { name, sha256 } of applied) {
    const expected = known.get(name)
    if (expected === undefined) {
      throw new SchemaError(
        `the database has ${name}, which this version does not know: run a newer one`,
      )
    }
    if (expected !== sha256) {
      throw new SchemaError(
        `${name} was changed after the database had it: put it back and add a new migration`,
      )
    }
  }
}
