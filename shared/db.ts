import postgres from 'postgres'
import { addressesOf } from '#shared/db/servers.ts'

/** The types the driver is taught: what `numeric` and `int8` are in JavaScript. */
type TaughtTypes = { numeric: bigint; int8: number }

/** A pool of connections; a tagged template on it is one statement in a transaction of its own. */
export type Db = postgres.Sql<TaughtTypes>

/** One open transaction, valid until the function it was given to has settled. */
export type Tx = postgres.TransactionSql<TaughtTypes>

/** Whatever a query can be sent through. */
export type SqlLike = Db | Tx

export type DbOptions = {
  /** `postgres://user:password@host:port/database`; several hosts separated by commas are tried in turn. */
  url: string
  /** Shown in `pg_stat_activity`, so that an operator sees whose connection it is. */
  applicationName: string
  /** Most connections open at once. */
  poolSizeMax?: number
  /** `false` behind a transaction pooler: no prepared statements, and no settings as start-up parameters. */
  prepare?: boolean
  /** Milliseconds the server may be silent while it owes an answer; above its own deadlines. */
  responseTimeoutMs?: number
  /** For migrations only: lifts every deadline of a statement. */
  unbounded?: boolean
}

/**
 * Deadlines the server keeps for us, in milliseconds: a process stopped inside a transaction would otherwise hold its
 * row locks for ever. Behind a transaction pooler, which refuses start-up parameters, the operator sets the same with
 * `alter role … in database … set statement_timeout = …`.
 */
export const STATEMENT_TIMEOUT_MS = 5_000
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000
/** Under the statement's, so that the error says that a lock was the reason. */
export const LOCK_TIMEOUT_MS = 4_500

/** Seconds for TCP, TLS and log-in together. */
const CONNECT_TIMEOUT_S = 5
/** Beyond the server's own deadlines: a server silent for longer is stopped or cut off. */
const RESPONSE_TIMEOUT_MS = 12_000
/** Seconds a query waits for a free connection before it is refused. */
const QUEUE_TIMEOUT_S = 5
/** Seconds before the next attempt to connect after failures: doubling from the first, up to the last. */
const RECONNECT_MIN_S = 0.05
const RECONNECT_MAX_S = 1
/** An unused connection is given back to the server after this many seconds. */
const IDLE_TIMEOUT_S = 60
/** Seconds until a connection is replaced, so that its backend's caches cannot grow for ever. */
const LIFETIME_MAX_S = 30 * 60
/** TCP keep-alive probes begin after this many silent seconds. */
const KEEP_ALIVE_S = 30
/** Default number of connections of a process; `max_connections` of the server bounds their sum. */
const POOL_SIZE_MAX = 10

const OID_INT8 = 20
const OID_NUMERIC = 1700

/**
 * Opens a pool. Nothing is connected before the first query.
 *
 * Columns arrive in camelCase (keys inside JSON untouched) and `sql({ … })` writes them in snake_case. `numeric` arrives as
 * bigint and throws on a fraction; `int8` as number and throws beyond 2^53; `timestamptz` as Date; `jsonb` as objects. A
 * bigint parameter goes out as `numeric`; an object goes out through `sql.json(…)`.
 *
 * Every query settles: errors for which {@link isUnavailable} is true mean the server could not be asked.
 */
export function openDb(options: DbOptions): Db {
  const { url, applicationName, poolSizeMax = POOL_SIZE_MAX, prepare = true } = options
  const settings = {
    // An event that is relayed in a millisecond waited 36 more for its plan to be compiled (Postgres 15): before Postgres 18 a
    // plan that keeps to indexes where it can is taken for so costly that it is compiled at every execution.
    jit: 'off',
    statement_timeout: options.unbounded ? 0 : STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
  }
  return postgres(url, {
    ...addressesOf(url),
    max: poolSizeMax,
    prepare,
    ...undeclared(options),
    backoff: reconnectDelay,
    connect_timeout: CONNECT_TIMEOUT_S,
    idle_timeout: IDLE_TIMEOUT_S,
    max_lifetime: LIFETIME_MAX_S,
    keep_alive: KEEP_ALIVE_S,
    connection: { application_name: applicationName, ...(prepare ? settings : {}) },
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    types: { numeric: NUMERIC, int8: INT8 },
    onnotice: ignoreNotice,
  })
}

/** Options the driver has, the two timeouts by our patch, but does not declare. */
function undeclared({ unbounded, responseTimeoutMs = RESPONSE_TIMEOUT_MS }: DbOptions) {
  return {
    // One statement on the wire per connection: with the default of 100 a slow one delays those queued behind it.
    max_pipeline: 1,
    response_timeout: unbounded ? 0 : responseTimeoutMs / 1000,
    queue_timeout: unbounded ? 0 : QUEUE_TIMEOUT_S,
  }
}

function reconnectDelay(failures: number): number {
  return Math.min(RECONNECT_MIN_S * 2 ** failures, RECONNECT_MAX_S)
}

/** Ends the pool: waits for running statements up to `timeoutMs`, then cuts them off. */
export async function closeDb(db: Db, timeoutMs: number): Promise<void> {
  await db.end({ timeout: timeoutMs / 1000 })
}

/** Most attempts of one transaction when the server asks for it to be tried again. */
const TRANSACTION_ATTEMPTS_MAX = 5
/** Milliseconds waited before the second attempt; grows with the square of the attempt. */
const TRANSACTION_RETRY_MS = 10

/**
 * Runs `fn` in one transaction and answers what it answers; rolls back when it throws. Deadlocks and serialization
 * failures are tried again, so `fn` must have no effects but its statements.
 */
export async function withTransaction<T>(db: Db, fn: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await db.begin(fn)) as T
    } catch (error) {
      if (attempt >= TRANSACTION_ATTEMPTS_MAX || !isRetryable(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, TRANSACTION_RETRY_MS * attempt ** 2))
    }
  }
}

/** The same transaction would probably succeed when run again: serialization failure or deadlock. */
export function isRetryable(error: unknown): boolean {
  const code = errorCode(error)
  return code === '40001' || code === '40P01'
}

/** What the driver and the socket say when a server cannot be reached or went away. */
const UNREACHABLE = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'RESPONSE_TIMEOUT',
  'QUEUE_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
])

/** What a server says that cannot serve now (PostgreSQL's appendix "Error Codes"). */
const REFUSED = new Set([
  '57P01', // admin_shutdown: also what a killed backend says
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now: starting up or in recovery
  '57P05', // idle_session_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // read_only_sql_transaction: a primary that became a standby
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
  '53400', // configuration_limit_exceeded
  '57014', // query_canceled: the statement timeout
  '55P03', // lock_not_available: the lock timeout
])

/** Most causes looked through, in case they form a ring. */
const CAUSES_MAX = 5

/** The database could not answer in time: to be tried later, and no fault of the request (503, not 500). */
export function isUnavailable(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    const code = errorCode(current)
    // Class 08 is "connection exception".
    if (UNREACHABLE.has(code) || REFUSED.has(code) || /^08...$/.test(code)) return true
    current = current.cause
  }
  return false
}

/** The SQLSTATE of a server's error (`23505`), or the driver's or socket's code; empty when there is none. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

const NUMERIC = {
  to: OID_NUMERIC,
  from: [OID_NUMERIC],
  serialize(value: bigint | number | string): string {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      throw new TypeError(`${value} would lose digits as numeric: pass a bigint`)
    }
    return String(value)
  },
  parse(text: string): bigint {
    if (!/^-?\d+$/.test(text)) throw new TypeError(`numeric ${text} is not a whole number`)
    return BigInt(text)
  },
}

const INT8 = {
  to: OID_INT8,
  from: [OID_INT8],
  serialize: (value: number | bigint | string): string => String(value),
  parse(text: string): number {
    const value = Number(text)
    if (!Number.isSafeInteger(value)) throw new RangeError(`int8 ${text} is beyond 2^53`)
    return value
  },
}

function ignoreNotice(): void {
  // "relation already exists, skipping" and the like: nothing that anybody acts on.
}
