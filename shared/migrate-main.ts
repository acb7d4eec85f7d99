import { readFileSync } from 'node:fs'
import process from 'node:process'
import { readOptions } from '#shared/arguments.ts'
import { exitOnConfigError, loadConfig } from '#shared/config.ts'
import { createLog, linesTo } from '#shared/log.ts'
import { migrate, SchemaError } from '#shared/migrate.ts'

/** `bun run migrate`: brings the database of DATABASE_URL to the schema of this version, and ends. */
const config = readConfig()
const log = createLog({
  name: 'migrate',
  level: config.logLevel,
  format: config.logFormat,
  write: linesTo(process.stderr),
})
try {
  // A transaction pooler refuses what a migration sets: where there is a direct connection, it is taken.
  const applied = await migrate(config.databaseListenUrl ?? config.databaseUrl, { log })
  log.info('the schema is current', { appliedCount: applied.length })
} catch (error) {
  log.error(error instanceof SchemaError ? error.message : 'the migration failed', { error })
  process.exitCode = 1
}

function readConfig() {
  try {
    readOptions(process.argv.slice(2), {}, 'none')
    return loadConfig(process.env, {
      readFile: (path) => readFileSync(path, 'utf8'),
      isTerminal: process.stderr.isTTY,
      requires: ['databaseUrl'],
    })
  } catch (error) {
    return exitOnConfigError(error, process)
  }
}
