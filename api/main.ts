import { readFileSync } from 'node:fs'
import process from 'node:process'
import { readOptions } from '#shared/arguments.ts'
import { loadConfig, orExit } from '#shared/config.ts'
import { closeDb, openDb } from '#shared/db.ts'
import { createLog, linesTo } from '#shared/log.ts'
import { startApi } from './start.ts'

/** Milliseconds for open database connections to close, after the server has stopped. */
const CLOSE_TIMEOUT_MS = 500

const config = orExit(readConfig, process)
const log = createLog({
  level: config.logLevel,
  format: config.logFormat,
  name: 'api',
  write: linesTo(process.stdout),
})
const db = openDb({
  url: config.databaseUrl,
  applicationName: 'api',
  prepare: config.databasePrepare,
})
const api = orExit(() => startApi({ config, db, log, reusePort: true }), process)
log.info('listening', { url: api.url })

const stop = async () => {
  await api.stop()
  await closeDb(db, CLOSE_TIMEOUT_MS)
  process.exit(0)
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)

try {
  await api.ready
} catch (error) {
  log.error('the API cannot run on this database', { cause: error })
  await api.stop()
  process.exit(1)
}

function readConfig() {
  readOptions(process.argv.slice(2), {}, 'none')
  return loadConfig(process.env, {
    readFile: (path) => readFileSync(path, 'utf8'),
    isTerminal: process.stdout.isTTY === true,
    requires: ['databaseUrl', 'encryptionKey'],
  })
}
