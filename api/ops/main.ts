import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { ConfigError, type Env, loadConfig } from '#shared/config.ts'
import { createKeyring } from '#shared/crypto.ts'
import { closeDb, openDb } from '#shared/db.ts'
import { assertSchemaCurrent } from '#shared/migrate.ts'
import { readBeside, START_DIRECTORY } from './beside.ts'
import { type OpenedDeps, runOps } from './run.ts'

/** Milliseconds for open database connections to close. */
const CLOSE_TIMEOUT_MS = 500
/** A command asks one thing after the other, some two or four at once. */
const POOL_SIZE_MAX = 4

process.exitCode = await runOps(
  process.argv.slice(2),
  {
    out: (line) => process.stdout.write(line),
    err: (line) => process.stderr.write(line),
  },
  open,
)

/** Throws `ConfigError`, `SchemaError`, and what the driver throws of a database that cannot be reached. */
async function open(): Promise<OpenedDeps> {
  const env = process.env['DATABASE_URL']?.trim() ? process.env : embeddedEnv(process.env)
  const config = loadConfig(env, {
    readFile: (path) => readFileSync(path, 'utf8'),
    requires: ['databaseUrl'],
  })
  const db = openDb({
    url: config.databaseUrl,
    applicationName: 'ops',
    poolSizeMax: POOL_SIZE_MAX,
    prepare: config.databasePrepare,
  })
  const close = () => closeDb(db, CLOSE_TIMEOUT_MS)
  try {
    await assertSchemaCurrent(db)
  } catch (error) {
    await close()
    throw error
  }
  const { encryptionKey } = config
  return {
    deps: {
      ...{ db, config, readInput: () => text(process.stdin) },
      keyring: encryptionKey && createKeyring(encryptionKey),
      note: (line) => process.stderr.write(`${line}\n`),
    },
    close,
  }
}

/** What `bun start` gives its processes, as far as it is running here. */
function embeddedEnv(env: Env): Env {
  const databaseUrl = readBeside('database-url')
  if (databaseUrl === undefined) {
    throw new ConfigError([
      'DATABASE_URL should be set, since no `bun start` runs in this directory: postgres://user:password@host:5432/payments',
    ])
  }
  const networksFile = join(START_DIRECTORY, 'networks.json')
  return {
    NETWORKS_FILE: readBeside('networks.json') === undefined ? undefined : networksFile,
    ENCRYPTION_KEY: readBeside('encryption-key'),
    PUBLIC_URL: readBeside('public-url'),
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim())),
    DATABASE_URL: databaseUrl,
  }
}
