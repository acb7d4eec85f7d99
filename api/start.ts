import { createKeyring } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import { createMetrics } from '#shared/metrics.ts'
import { awaitSchema } from '#shared/migrate.ts'
import { serve } from '#shared/runtime.ts'
import { type App, createApp } from './app.ts'
import { createBatcher } from './batch.ts'
import { beginCheckouts } from './checkout/queries.ts'
import type { ApiConfig, ApiDeps, ApiPorts } from './deps.ts'
import { ENDPOINTS } from './endpoints.ts'
import { REFERENCE_PAGES } from './openapi/docs.ts'
import { PAGES } from './pages/pages.ts'
import { createPaymentChanges } from './payment-changes.ts'
import { readShownPayments } from './payments/queries.ts'
import { CHECKOUT_WINDOW_S } from './rate-limit.ts'
import { createRechecks } from './rechecks.ts'

export type RunningApi = {
  /** `http://127.0.0.1:3000`, with the port that it got. */
  url: string
  app: App
  deps: ApiDeps
  /**
   * Settles when the schema was checked: until then everything is answered `unavailable`. Rejects with `SchemaError`
   * when the database is of another version. A database that cannot be reached is waited for.
   */
  ready: Promise<void>
  /** Takes no new requests and ends within {@link STOP_TIMEOUT_MS}. The database stays the caller's. */
  stop(): Promise<void>
}

export type StartOptions = {
  config: ApiConfig
  db: Db
  log: Log
  nowMs?: () => number
  /** Several processes on one port. */
  reusePort?: boolean
}

/** Milliseconds from the request to stop until connections are cut. */
export const STOP_TIMEOUT_MS = 4_000

/** Checkouts claimed in one transaction, and such transactions at a time: claims wait for each other's flush to disk. */
const CHECKOUTS_MAX = 32
const CHECKOUT_RUNS_MAX = 3
/** Payments read in one statement, and such statements at a time. */
const PAYMENTS_MAX = 64
const PAYMENT_RUNS_MAX = 2

/** Starts the API on its port. It answers at once; `ready` says when it can do more than refuse. */
export function startApi(options: StartOptions): RunningApi {
  const { config, log, reusePort = false } = options
  const server = serve({
    ...{ hostname: config.host, port: config.port, variable: 'PORT', reusePort },
    fetch: (request, clientAddress) => app.fetch(request, clientAddress),
  })
  // Links that are made of HOST and PORT need the port that the system chose for 0.
  const publicUrl = config.publicUrl.replace(/:0$/, `:${server.port}`)
  const deps = createDeps({
    ...{ config: { ...config, publicUrl }, log, db: options.db, metrics: createMetrics() },
    nowMs: options.nowMs ?? (() => performance.now()),
  })
  const app = createApp(deps, [...ENDPOINTS, ...REFERENCE_PAGES, ...PAGES])
  const stopping = new AbortController()
  const changesEnd = deps.changes.run(stopping.signal)
  return {
    url: server.url,
    app,
    deps,
    ready: openSchema(deps, stopping.signal),
    async stop() {
      stopping.abort()
      await Promise.all([server.stop(STOP_TIMEOUT_MS), firstOf(changesEnd, STOP_TIMEOUT_MS)])
    },
  }
}

/** Everything that endpoints are given, made from what the entrance has. */
export function createDeps(ports: ApiPorts): ApiDeps {
  const { config, metrics, db, log } = ports
  const keyring = createKeyring(config.encryptionKey)
  return {
    ...ports,
    view: { publicUrl: config.publicUrl, deployments: config.deployments },
    door: {
      quarantineHours: config.slotQuarantineHours,
      subscriptions: { publicUrl: config.publicUrl, keyring },
    },
    ...createBatchers(ports),
    blocked: new Map(),
    rechecks: createRechecks(ports),
    changes: createPaymentChanges({ db, log, listenUrl: config.databaseListenUrl }),
    streams: new Map(),
    xpubFills: new Set(),
    xpubSteps: new Map(),
    keyring,
    requestCount: metrics.counter('api_requests_total', 'Requests by endpoint and status.'),
    errorCount: metrics.counter('api_errors_total', 'Errors answered, by code.'),
    requestSeconds: metrics.histogram(
      'api_request_duration_seconds',
      'Seconds from a request’s arrival to its answer.',
    ),
    schema: { isCurrent: false },
  }
}

function createBatchers({ db, config, nowMs }: ApiPorts): Pick<ApiDeps, 'checkouts' | 'payments'> {
  const rate = { rateLimit: config.rateLimitCheckout, windowSeconds: CHECKOUT_WINDOW_S }
  return {
    checkouts: createBatcher({
      ...{ sizeMax: CHECKOUTS_MAX, runsMax: CHECKOUT_RUNS_MAX, nowMs },
      run: (requests) => beginCheckouts(db, requests, rate, config),
    }),
    payments: createBatcher({
      ...{ sizeMax: PAYMENTS_MAX, runsMax: PAYMENT_RUNS_MAX, nowMs },
      async run(paymentIds) {
        const found = await readShownPayments(db, paymentIds)
        return paymentIds.map((paymentId) => found.get(paymentId))
      },
    }),
  }
}

async function firstOf(done: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([done, timeout])
  clearTimeout(timer)
}

async function openSchema(deps: ApiDeps, signal: AbortSignal): Promise<void> {
  await awaitSchema(deps, signal)
  deps.schema.isCurrent = !signal.aborted
}
