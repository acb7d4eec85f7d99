import { randomBytes } from 'node:crypto'
import type { Config } from '#shared/config.ts'
import { createKeyring } from '#shared/crypto.ts'
import { listen } from '#shared/db/listen.ts'
import type { Db } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import { createMetrics } from '#shared/metrics.ts'
import { awaitSchema, untilReachable } from '#shared/migrate.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { REQUESTS_CHANNEL } from '#shared/requests.ts'
import { readRetired } from './contracts.ts'
import { createDoorbell, type Doorbell } from './doorbell.ts'
import type { Driver } from './drivers/driver.ts'
import { createDriver } from './drivers/registry.ts'
import { createWatch, serveHealth } from './health.ts'
import { type Run, runDeployment } from './run.ts'

export type IndexerDeps = {
  config: Pick<
    Config,
    'slotQuarantineHours' | 'databaseListenUrl' | 'metricsPort' | 'host' | 'publicUrl'
  > & { encryptionKey: Uint8Array }
  db: Db
  deployments: readonly Deployment[]
  log: Log
  nowMs(): number
}

export type Followed = {
  deployment: Deployment
  run: Run
  driver: Driver
  doorbell: Doorbell
  /** When this process began to follow it, by its clock. */
  startedAtMs: number
}

export type Indexer = {
  /**
   * Settles when the schema was checked and following began. Rejects with `SchemaError` when the database is of another
   * version. A database that cannot be reached is waited for.
   */
  ready: Promise<void>
  stop(): Promise<void>
}

/** Follows every given deployment that is on, each isolated from the others' failures. */
export function startIndexer(deps: IndexerDeps): Indexer {
  const followed = new Map<string, Followed>()
  const stopping = new AbortController()
  const metrics = createMetrics()
  const server = serveHealth({ ...deps, metrics, followed })
  const watch = createWatch({ ...deps, metrics, followed })
  const listener = listen({
    url: deps.config.databaseListenUrl ?? '',
    applicationName: 'indexer-listen',
    handlers: { [REQUESTS_CHANNEL]: (name) => followed.get(name)?.doorbell.ring() },
    log: deps.log,
  })
  return {
    ready: begin(deps, followed, stopping.signal),
    async stop() {
      stopping.abort()
      watch.stop()
      await Promise.all([
        listener.stop(),
        server.stop(),
        ...[...followed.values()].map(({ run }) => run.stop()),
      ])
    },
  }
}

async function begin(
  deps: IndexerDeps,
  followed: Map<string, Followed>,
  signal: AbortSignal,
): Promise<void> {
  await awaitSchema(deps, signal)
  if (signal.aborted) return
  const leader = `indexer-${randomBytes(6).toString('hex')}`
  for (const deployment of deps.deployments.filter(({ isOn }) => isOn)) {
    const read = () => readRetired(deps.db, deployment, deps.config.slotQuarantineHours)
    const retired = await untilReachable(deps.log, signal, read)
    if (!retired) return
    followed.set(deployment.deployment, follow(deps, { ...deployment, retired }, leader))
  }
}

function follow(deps: IndexerDeps, deployment: Deployment, leader: string): Followed {
  const { db, nowMs } = deps
  const log = deps.log.with({ deployment: deployment.deployment })
  // A provider's websocket and HTTP endpoint are one node, and so may two endpoints of one host be.
  const hostnames = new Set(deployment.rpc.map((url) => new URL(url).hostname))
  if (deployment.mode === 'live' && hostnames.size < 2) {
    log.warn(
      'only one RPC provider: give two on different hosts, or nobody checks what it leaves out',
    )
  }
  if (deployment.retired?.length) {
    const contracts = deployment.retired.map(({ contract }) => contract)
    log.info('goes on watching contracts that the table named before: payments may', { contracts })
  }
  const driver = createDriver({ deployment, log, nowMs })
  const doorbell = createDoorbell()
  const { slotQuarantineHours: quarantineHours, publicUrl, encryptionKey } = deps.config
  const subscriptions = { publicUrl, keyring: createKeyring(encryptionKey) }
  const settings = { quarantineHours, subscriptions }
  const run = runDeployment({ db, deployment, driver, doorbell, log, leader, nowMs, settings })
  return { deployment, run, driver, doorbell, startedAtMs: nowMs() }
}
