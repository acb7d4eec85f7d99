import { readFileSync } from 'node:fs'
import process from 'node:process'
import { readOptions } from '#shared/arguments.ts'
import { ConfigError, loadConfig, orExit } from '#shared/config.ts'
import { closeDb, openDb } from '#shared/db.ts'
import { createLog, linesTo } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { startIndexer } from './indexer.ts'

/** Milliseconds for open database connections to close, after following has stopped. */
const CLOSE_TIMEOUT_MS = 500

const { config, deployments } = orExit(readConfig, process)
const log = createLog({
  level: config.logLevel,
  format: config.logFormat,
  name: 'indexer',
  write: linesTo(process.stdout),
})
const db = openDb({
  url: config.databaseUrl,
  applicationName: 'indexer',
  prepare: config.databasePrepare,
})
const indexer = orExit(
  () => startIndexer({ config, db, deployments, log, nowMs: () => Date.now() }),
  process,
)
const followed = deployments.filter(({ isOn }) => isOn).map(({ deployment }) => deployment)
log.info('started', { deployments: followed })
if (followed.length === 0) log.warn('nothing to follow: NETWORKS_FILE gives no such network an rpc')

const stop = async (exitCode: number) => {
  await indexer.stop()
  await closeDb(db, CLOSE_TIMEOUT_MS)
  process.exit(exitCode)
}
process.once('SIGTERM', () => stop(0))
process.once('SIGINT', () => stop(0))

try {
  await indexer.ready
} catch (error) {
  log.error('the indexer cannot run on this database', { cause: error })
  await stop(1)
}

function readConfig() {
  const config = loadConfig(process.env, {
    readFile: (path) => readFileSync(path, 'utf8'),
    isTerminal: process.stdout.isTTY === true,
    requires: ['databaseUrl', 'encryptionKey'],
  })
  return { config, deployments: pickDeployments([...config.deployments.values()]) }
}

/** `--network base`, repeatable: both modes of that network. Without it, every deployment. */
function pickDeployments(all: Deployment[]): Deployment[] {
  const options = { network: { type: 'string', multiple: true } } as const
  const { network: names = [] } = readOptions(process.argv.slice(2), options, '[--network NAME]…')
  const known = [...new Set(all.map(({ network }) => network))]
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw new ConfigError([`--network should be one of ${known.join(', ')}: not ${unknown[0]}`])
  }
  return names.length === 0 ? all : all.filter(({ network }) => names.includes(network))
}
