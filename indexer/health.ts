import type { Config } from '#shared/config.ts'
import type { Db } from '#shared/db.ts'
import { READY_TIMEOUT_MS, withDeadline } from '#shared/deadline.ts'
import type { Log } from '#shared/log.ts'
import { type Gauge, METRICS_CONTENT_TYPE, type Metrics } from '#shared/metrics.ts'
import { type Deployment, watchedTokens } from '#shared/networks/registry.ts'
import { readForsaken } from '#shared/payments/queries.ts'
import { type RunningServer, serve } from '#shared/runtime.ts'
import { stalledAfterMs } from '#shared/stalled.ts'
import { readAwaited } from './contracts.ts'
import { type ProgressRow, readProgress } from './cursor.ts'
import type { Followed } from './indexer.ts'

type HealthDeps = {
  config: Pick<Config, 'metricsPort' | 'host'>
  db: Db
  log: Log
  metrics: Metrics
  /** All that this process is to follow: those that are off, too. */
  deployments: readonly Deployment[]
  followed: ReadonlyMap<string, Followed>
  nowMs(): number
}

/** Milliseconds between two refreshes of the numbers, and so how old they are at most. */
const WATCH_EVERY_MS = 5_000
/** Said of a deployment that was switched off while payments wait on it. */
const FORSAKEN =
  'is off, and payments wait on it: they neither settle nor expire before it has an rpc again'
/** Said of a contract that no reading asks for. */
const UNWATCHED =
  'payments name a token contract that is not watched, and nobody can pay them: give all processes the same NETWORKS_FILE and start this one again'
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
    const late = () => new Error(`no answer within ${READY_TIMEOUT_MS} ms`)
    const asked = readForsaken(deps.db, namesOff(deps))
    const forsaken = await withDeadline(asked, READY_TIMEOUT_MS, late)
    const stalled = [...deps.followed.values()].filter((one) => isStalled(deps, one))
    const networks = [...stalled.map(({ deployment }) => deployment.deployment), ...forsaken]
    return Response.json({ status: networks.length === 0 ? 'OK' : 'DEGRADED', stalled: networks })
  } catch (error) {
    deps.log.warn('not ready: the database cannot be reached', { error })
    return Response.json({ status: 'UNAVAILABLE' }, { status: 503 })
  }
}

function namesOff({ deployments }: HealthDeps): string[] {
  return deployments.filter(({ isOn }) => !isOn).map(({ deployment }) => deployment)
}

/**
 * A standby has nothing to see, and who stays off sees nothing. Everybody else should have seen a new head by now, or does not
 * reach any node.
 */
function isStalled({ nowMs }: HealthDeps, one: Followed): boolean {
  if (one.run.isStandingBy()) return false
  if (one.run.isHalted()) return true
  const lastHeadAtMs = one.driver.health().lastHeadAtMs ?? one.startedAtMs
  return nowMs() - lastHeadAtMs > stalledAfterMs(one.deployment.blockTimeMs)
}

/** Keeps the numbers of every deployment up to date, and warns of those that are off while payments wait on them. */
export function createWatch(deps: HealthDeps): { stop(): void } {
  const stalled = deps.metrics.gauge(
    'indexer_stalled',
    'Alarm: whether this process sees no new head, or no node at all, of a deployment that is on or that payments wait on.',
  )
  const noteProcess = createProcessGauges(deps, stalled)
  const noteProgress = createProgressGauges(deps.metrics)
  const noteContracts = createContractsGauge(deps)
  let warned: readonly string[] = []
  const refresh = async () => {
    for (const one of deps.followed.values()) noteProcess(one)
    for (const row of await readProgress(deps.db, [...deps.followed.keys()])) noteProgress(row)
    const forsaken = await readForsaken(deps.db, namesOff(deps))
    for (const deployment of new Set([...warned, ...forsaken])) {
      stalled.set(Number(forsaken.includes(deployment)), { deployment })
      if (!warned.includes(deployment)) deps.log.warn(FORSAKEN, { deployment })
    }
    warned = forsaken
    await noteContracts()
  }
  const timer = setInterval(() => {
    refresh().catch((error) => deps.log.debug('numbers could not be refreshed', { error }))
  }, WATCH_EVERY_MS)
  return { stop: () => clearInterval(timer) }
}

/** Contracts that payments wait for and this process does not watch: an API runs on another table than it does. */
function createContractsGauge({ db, log, metrics, followed }: HealthDeps): () => Promise<void> {
  const unwatched = metrics.gauge(
    'indexer_unwatched_contracts',
    'Alarm: token contracts that new payments name and this process does not watch.',
  )
  const told = new Set<string>()
  return async () => {
    const awaited = await readAwaited(db, [...followed.keys()])
    for (const [deployment, one] of followed) {
      const watched = watchedTokens(one.deployment).map(({ contract }) => contract)
      const unknown = awaited.filter(
        (payment) => payment.deployment === deployment && !watched.includes(payment.contract),
      )
      unwatched.set(unknown.length, { deployment })
      for (const { contract } of unknown) {
        if (!told.has(contract)) log.error(UNWATCHED, { deployment, contract })
        told.add(contract)
      }
    }
  }
}

/** What this process knows by itself. */
function createProcessGauges(deps: HealthDeps, stalled: Gauge): (one: Followed) => void {
  const { metrics } = deps
  const leading = metrics.gauge('indexer_leading', 'Whether this process leads the deployment.')
  const calls = metrics.counter(
    'indexer_rpc_calls_total',
    'JSON-RPC calls since the process started, by the provider’s place in the list.',
  )
  const errors = metrics.counter(
    'indexer_rpc_errors_total',
    'JSON-RPC calls that failed, by the provider’s place in the list.',
  )
  const socket = metrics.gauge('indexer_socket_alive', 'Whether the websocket is alive.')
  return (one) => {
    const { deployment } = one.deployment
    const health = one.driver.health()
    leading.set(Number(one.run.isLeading()), { deployment })
    stalled.set(Number(isStalled(deps, one)), { deployment })
    socket.set(Number(health.socketAlive), { deployment })
    for (const [index, counts] of (health.providers ?? [health]).entries()) {
      const provider = String(index + 1)
      calls.reach(counts.callCount, { deployment, provider })
      errors.reach(counts.errorCount, { deployment, provider })
    }
  }
}

/** What the database knows of a deployment, whoever leads it. */
function createProgressGauges(metrics: Metrics): (row: ProgressRow) => void {
  const behind = metrics.gauge('indexer_blocks_behind', 'Blocks between the cursor and the head.')
  const rate = metrics.gauge(
    'indexer_catch_up_blocks_per_second',
    'Blocks read per second while far behind; 0 at the tip.',
  )
  const eta = metrics.gauge(
    'indexer_catch_up_seconds_left',
    'Seconds until the tip at that rate; 0 at the tip.',
  )
  const unaudited = metrics.gauge('indexer_blocks_unaudited', 'Blocks not read a second time yet.')
  const disagreements = metrics.counter(
    'indexer_disagreements_total',
    'Alarm: transfers and blocks two readings differed about, ever.',
  )
  const held = metrics.gauge(
    'indexer_held_transfers',
    'Alarm: transfers that do not count because two readings differ about them: see ops transfer held.',
  )
  const halted = metrics.gauge(
    'indexer_halted',
    'Alarm: whether the deployment stays off because its node is not what it should be.',
  )
  return (row) => {
    const { deployment } = row
    const perSecond = row.blocksPerSecond ?? 0
    behind.set(row.behind, { deployment })
    rate.set(perSecond, { deployment })
    eta.set(perSecond > 0 ? Math.ceil(row.behind / perSecond) : 0, { deployment })
    unaudited.set(row.unaudited, { deployment })
    disagreements.reach(row.disagreementCount, { deployment })
    held.set(row.heldCount, { deployment })
    halted.set(Number(row.isHalted), { deployment })
  }
}
