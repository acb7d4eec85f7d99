import type { Log } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { type Indexer, startIndexer } from '../../indexer/indexer.ts'
import type { TestDatabase } from './database.ts'

/** Hours for which the indexer of a test looks after a payment's slot when it has ended. */
export const QUARANTINE_HOURS = 24

/** An indexer as its entrance starts one, following these deployments on a test's database. */
export async function startTestIndexer({
  database,
  nowMs = () => Date.now(),
  metricsPort,
  ...deps
}: {
  database: TestDatabase
  deployments: readonly Deployment[]
  log: Log
  nowMs?: () => number
  metricsPort?: number
}): Promise<Indexer> {
  const started = startIndexer({
    config: {
      slotQuarantineHours: QUARANTINE_HOURS,
      databaseListenUrl: database.url,
      metricsPort,
      host: '127.0.0.1',
      publicUrl: 'http://localhost',
      encryptionKey: new Uint8Array(32),
    },
    db: database.db,
    nowMs,
    ...deps,
  })
  try {
    await started.ready
    return started
  } catch (error) {
    await started.stop()
    throw error
  }
}
