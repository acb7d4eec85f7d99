import type { Config } from '#shared/config.ts'
import type { Db } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import type { Counter, Histogram, Metrics } from '#shared/metrics.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import type { ViewContext } from '#shared/payments/view.ts'
import type { BlockCache } from './rate-limit.ts'

/** What an entrance gives the API. */
export type ApiPorts = {
  config: Config
  db: Db
  log: Log
  metrics: Metrics
  /** The process's clock in milliseconds; for waiting and counting, never for a time that is stored. */
  nowMs: () => number
}

/** What every endpoint gets as its first argument. */
export type ApiDeps = ApiPorts & {
  /** For `paymentView`. */
  view: ViewContext
  /** For moves of payments. */
  door: DoorSettings
  blocked: BlockCache
  requestCount: Counter
  requestSeconds: Histogram
  /** Whether the database was found to have the schema of this code; until then everything is `unavailable`. */
  schema: { isCurrent: boolean }
}
