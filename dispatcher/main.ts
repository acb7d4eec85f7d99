import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { readOptions } from '#shared/arguments.ts'
import { loadConfig, orExit } from '#shared/config.ts'
import { createKeyring } from '#shared/crypto.ts'
import { closeDb, openDb } from '#shared/db.ts'
import { createLog, linesTo } from '#shared/log.ts'
import { startDispatcher } from './dispatcher.ts'
import { serveHealth } from './health.ts'
import { createFileMailer, createSmtpMailer } from './mailer.ts'

/** Milliseconds for open database connections to close, after the dispatcher has stopped. */
const CLOSE_TIMEOUT_MS = 500
/** Milliseconds for a scrape of the metrics that is under way. */
const HEALTH_CLOSE_TIMEOUT_MS = 200

const { config, mailDirectory } = orExit(readConfig, process)
const log = createLog({
  level: config.logLevel,
  format: config.logFormat,
  name: 'dispatcher',
  write: linesTo(process.stdout),
})
const db = openDb({
  url: config.databaseUrl,
  applicationName: 'dispatcher',
  prepare: config.databasePrepare,
})
const keyring = createKeyring(config.encryptionKey)
const { smtpUrl, mailFrom: from } = config
const mailer =
  smtpUrl === undefined
    ? createFileMailer({ directory: mailDirectory, from })
    : createSmtpMailer({ url: smtpUrl, from })
const dispatcher = startDispatcher({
  db,
  databaseUrl: config.databaseUrl,
  listenUrl: config.databaseListenUrl ?? null,
  prepare: config.databasePrepare,
  keyring,
  door: {
    quarantineHours: config.slotQuarantineHours,
    subscriptions: { publicUrl: config.publicUrl, keyring },
  },
  outbound: {
    allowPrivate: config.webhookAllowPrivate,
    egressProxy: config.egressProxy ?? null,
  },
  mailer,
  log,
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
})
const { host, metricsPort: port } = config
const health =
  port === undefined ? undefined : orExit(() => serveHealth({ host, port }, dispatcher), process)
log.info('started')

const stop = async (exitCode: number) => {
  await dispatcher.stop()
  await health?.stop(HEALTH_CLOSE_TIMEOUT_MS)
  await closeDb(db, CLOSE_TIMEOUT_MS)
  process.exit(exitCode)
}
process.once('SIGTERM', () => stop(0))
process.once('SIGINT', () => stop(0))

try {
  if (await dispatcher.ready) log.info('at work')
} catch (error) {
  log.error('the dispatcher cannot run on this database', { cause: error })
  await stop(1)
}

function readConfig() {
  const options = { 'mail-directory': { type: 'string' } } as const
  const told = readOptions(process.argv.slice(2), options, '[--mail-directory FOLDER]')
  const config = loadConfig(process.env, {
    readFile: (path) => readFileSync(path, 'utf8'),
    isTerminal: process.stdout.isTTY === true,
    requires: ['databaseUrl', 'encryptionKey'],
  })
  // Where mails go without SMTP.
  return { config, mailDirectory: resolve(told['mail-directory'] ?? '.data/mail') }
}
