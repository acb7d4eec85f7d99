import type { Config } from '#shared/config.ts'
import type { Keyring } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import type { Counter, Histogram, Metrics } from '#shared/metrics.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import type { ViewContext } from '#shared/payments/view.ts'
import type { Batcher } from './batch.ts'
import type { CountedClaim, CountedRequest } from './checkout/queries.ts'
import type { PaymentChanges } from './payment-changes.ts'
import type { ShownReading } from './payments/queries.ts'
import type { StreamCounts } from './payments/stream.ts'
import type { BlockCache } from './rate-limit.ts'
import type { Rechecks } from './rechecks.ts'

/** The configuration with what the API cannot run without. */
export type ApiConfig = Config & { encryptionKey: Uint8Array }

/** What an entrance gives the API. */
export type ApiPorts = {
  config: ApiConfig
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
  /** Counts and claims, together with what others check out at the same time. */
  checkouts: Batcher<CountedRequest, CountedClaim>
  /** Reads a payment as it is shown, together with what others read at the same time. */
  payments: Batcher<string, ShownReading | undefined>
  blocked: BlockCache
  rechecks: Rechecks
  changes: PaymentChanges
  streams: StreamCounts
  /** Extended keys whose pools this process is filling up. */
  xpubFills: Set<string>
  /** Their steps under way, by key. */
  xpubSteps: Map<string, Promise<{ isFull: boolean }>>
  /** Seals what must be readable again: renew tokens, webhook secrets. */
  keyring: Keyring
  requestCount: Counter
  errorCount: Counter
  requestSeconds: Histogram
  /** Whether the database was found to have the schema of this code; until then everything is `unavailable`. */
  schema: { isCurrent: boolean }
}
