import type { Config } from '#shared/config.ts'
import type { Db } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import { METRICS_CONTENT_TYPE, type Metrics } from '#shared/metrics.ts'
import { type RunningServer, serve } from '#shared/runtime.ts'
import { stalledAfterMs } from '#shared/stalled.ts'
import type { Followed } from './indexer.ts'

type HealthDeps = {
  config: Pick<Config, 'metricsPort' | 'host'>
  db: Db
  log: Log
  metrics: Metrics
  followed: ReadonlyMap<string, Followed>
  nowMs(): number
}

/** Milliseconds between two refreshes of the numbers, and so how old they are at most. */
const WATCH_EVERY_MS = 5_000
/** Milliseconds for open requests to end. */
const STOP_TIMEOUT_MS = 500

/** Serves /healthz, /readyz and /metrics on `METRICS_PORT`; nothing when there is none. */
export function serveHealth(deps: HealthDeps): { stop(): Promise<void> } {
  const { metricsPort, host } = deps.config
  if (metricsPort === undefined) return { stop: async () => {} }
  const server: RunningServer = serve({
    hostname: host,
    port: metricsPort,
    variable: 'METRICS_PORT',
    fetch: (request) => answer(deps, new URL(request.url).pathname),
  })
  return { stop: () => server.stop(STOP_TIMEOUT_MS) }
}

async function answer(deps: HealthDeps, path: string): Promise<Response> {
  if (path === '/healthz') return Response.json({ status: 'OK' })
  if (path === '/readyz') return answerReadiness(deps)
  if (path === '/metrics') {
    return new Response(deps.metrics.render(), {
      headers: { 'Content-Type': METRICS_CONTENT_TYPE },
    })
  }
  return new Response(null, { status: 404 })
}

async function answerReadiness(deps: HealthDeps): Promise<Response> {
  try {
    await deps.db`select 1`
  } catch (error) {
    deps.log.warn('not ready: the database cannot be reached', { error })
    return Response.json({ status: 'UNAVAILABLE' }, { status: 503 })
  }
  const stalled = [...deps.followed.values()].filter((one) => isStalled(deps, one))
  const networks = stalled.map(({ deployment }) => deployment.deployment)
  return Response.json({ status: networks.length === 0 ? 'OK' : 'DEGRADED', stalled: networks })
}

function isStalled({ nowMs }: HealthDeps, { driver, deployment, run }: Followed): boolean {
  if (!run.isLeading()) return false
  const { lastHeadAtMs } = driver.health()
  return (
    lastHeadAtMs === undefined || nowMs() - lastHeadAtMs > stalledAfterMs(deployment.blockTimeMs)
  )
}

/** Keeps the numbers of every followed deployment up to date. */
export function createWatch(deps: HealthDeps): { stop(): void } {
  const { metrics } = deps
  const gauges = {
    leading: metrics.gauge('indexer_leading', 'Whether this process leads the deployment.'),
    stalled: metrics.gauge('indexer_stalled', 'Whether the chain shows no new head.'),
    behind: metrics.gauge('indexer_blocks_behind', 'Blocks between the cursor and the head.'),
    unaudited: metrics.gauge('indexer_blocks_unaudited', 'Blocks not read a second time yet.'),
    calls: metrics.gauge('indexer_rpc_calls', 'JSON-RPC calls since the process started.'),
    errors: metrics.gauge('indexer_rpc_errors', 'JSON-RPC calls that failed.'),
    socket: metrics.gauge('indexer_socket_alive', 'Whether the websocket is alive.'),
  }
  const refresh = async () => {
    for (const one of deps.followed.values()) {
      const labels = { deployment: one.deployment.deployment }
      const health = one.driver.health()
      gauges.leading.set(Number(one.run.isLeading()), labels)
      gauges.stalled.set(Number(isStalled(deps, one)), labels)
      gauges.calls.set(health.callCount, labels)
      gauges.errors.set(health.errorCount, labels)
      gauges.socket.set(Number(health.socketAlive), labels)
    }
    const rows = await deps.db<{ deployment: string; behind: number; unaudited: number }[]>`
      select deployment, greatest(0, head_number - block_number) as behind,
        greatest(0, block_number - audited_number) as unaudited
      from deployments
      where deployment = any (${[...deps.followed.keys()]}) and block_number is not null`
    for (const { deployment, behind, unaudited } of rows) {
      gauges.behind.set(behind, { deployment })
      gauges.unaudited.set(unaudited, { deployment })
    }
  }
  const timer = setInterval(() => {
    refresh().catch((error) => deps.log.debug('numbers could not be refreshed', { error }))
  }, WATCH_EVERY_MS)
  return { stop: () => clearInterval(timer) }
}
