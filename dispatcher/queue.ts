import { PgBoss } from 'pg-boss'
import { type PostgresServer, readServers } from '#shared/db/servers.ts'
import { STATEMENT_TIMEOUT_MS, type Tx } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'

/** pg-boss keeps its tables in a schema of its own, in the same database. */
export const QUEUE_SCHEMA = 'pgboss'
const QUEUE_NAME = 'deliveries'

/** Connections of the queue's own pool: one fetches, the others are for its housekeeping. */
const POOL_SIZE_MAX = 3
/** A statement without an answer for so long went to a server that is gone, in milliseconds. */
const ANSWER_TIMEOUT_MS = 12_000
/** For one server, in milliseconds; another may be up. */
const CONNECT_TIMEOUT_MS = 5_000
/** The queue's own sessions do not wait for the disk: they hand jobs out and tidy up, and a handing-out
 * that a crash of the server undoes is one that comes back, as after any crash. Jobs are added and
 * removed in the transactions of the rows they are about, which do wait. */
const SESSION_OPTIONS = `-c statement_timeout=${STATEMENT_TIMEOUT_MS} -c synchronous_commit=off`
/** How often abandoned jobs are looked for, in seconds. */
const MONITOR_INTERVAL_S = 2
/** How often leftovers are deleted, in seconds. */
const MAINTENANCE_INTERVAL_S = 60
/** A job nobody fetched or one that ended badly is deleted after so long, in seconds: the delivery's
 * row is the truth, and has long been promoted again. */
const RETENTION_S = 300
/** Times an abandoned job is handed out again, a count; then the delivery is promoted anew. */
const RETRY_COUNT_MAX = 2
/** How long stopping may wait for the queue's own statements, in milliseconds. */
const STOP_TIMEOUT_MS = 1_000

/** Deliveries that travel in one job, a count: a job costs the queue some hundred microseconds, however
 * much it carries, and a dispatcher that dies holds up so many with each. */
export const BUNDLE_MAX = 100

/** A delivery that was promoted: what a job says of it. */
export type Promotion = {
  readonly deliveryId: string
  /** `deliveries.queued_until` as text: a promotion whose token is no longer the row's is void. */
  readonly token: string
}

/** Deliveries promoted together: what a job says. */
export type Promotions = {
  /** The one token of them all. */
  readonly token: string
  readonly deliveryIds: readonly string[]
  /** `fresh_bundles.bundle_id` of deliveries that were queued as they were made; absent for those that came off the schedule. */
  readonly freshId?: string
}

/** A job in the hands of this process. */
export type Bundle = Promotions & {
  readonly id: string
  /** With the id, names this handing-out: settling a later one by mistake is impossible. */
  readonly retryCount: number
}

/** The queue of due deliveries. Only transport: losing all of it delays deliveries, nothing more. */
export type Queue = {
  /** Adds jobs in the caller's transaction. @throws QueueLostError */
  send(tx: Tx, jobs: readonly Promotions[]): Promise<void>
  /**
   * Takes up to `count` jobs, oldest first; each is this process's until it is settled or expires. In the caller's transaction,
   * when one is given: then also those that were added in it, and all of them only when it commits.
   */
  fetch(count: number, tx?: Tx): Promise<Bundle[]>
  /** Removes jobs in the caller's transaction. */
  settle(tx: Tx, bundles: readonly Bundle[]): Promise<void>
  /** Ends its connections. */
  stop(): Promise<void>
}

/** pg-boss has lost its tables or rows: open the queue anew. */
export class QueueLostError extends Error {
  override readonly name = 'QueueLostError'
}

type QueueOptions = {
  readonly databaseUrl: string
  /** `false` behind a transaction pooler, which takes no start-up parameters. */
  readonly prepare: boolean
  /** A fetched job that is not settled within it is handed out again. */
  readonly expireInSeconds: number
  readonly log: Log
}

/**
 * Opens the queue, creating its tables when they are missing; any number of processes may do so at
 * once. Rejects when Postgres cannot be reached.
 */
export async function openQueue(options: QueueOptions): Promise<Queue> {
  const servers = readServers(options.databaseUrl)
  const faults: unknown[] = []
  // pg-boss's own driver knows one server only: the first that takes what opening writes, which a standby does not.
  for (const server of servers) {
    try {
      return await openAt(server, servers.length > 1, options)
    } catch (error) {
      faults.push(error)
    }
  }
  throw faults.at(-1)
}

/** @param hasOthers whether another server may be asked when this one is gone or is a standby now */
async function openAt(
  server: PostgresServer,
  hasOthers: boolean,
  options: QueueOptions,
): Promise<Queue> {
  const boss = new PgBoss({
    connectionString: inTermsOfPg(server.url),
    application_name: 'dispatcher-queue',
    schema: QUEUE_SCHEMA,
    max: POOL_SIZE_MAX,
    // Handed on to `pg`, which would wait for a silent server for ever.
    ...{ query_timeout: ANSWER_TIMEOUT_MS, connectionTimeoutMillis: CONNECT_TIMEOUT_MS },
    ...{ keepAlive: true },
    ...(options.prepare ? { options: SESSION_OPTIONS } : {}),
    schedule: false,
    monitorVacuum: false,
    superviseIntervalSeconds: MONITOR_INTERVAL_S,
    monitorIntervalSeconds: MONITOR_INTERVAL_S,
    maintenanceIntervalSeconds: MAINTENANCE_INTERVAL_S,
  })
  boss.on('error', (error) => options.log.warn('the queue had an error', { error }))
  const stop = () => boss.stop({ graceful: false, close: true, timeout: STOP_TIMEOUT_MS })
  try {
    await boss.start()
    await declareQueue(boss, options.expireInSeconds)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    async send(tx, jobs) {
      if (jobs.length === 0) return
      const rows = jobs.map((data) => ({ data }))
      const ids = await boss.insert(QUEUE_NAME, rows, { db: within(tx), returnId: true })
      if (ids?.length !== jobs.length) throw new QueueLostError('the queue took no jobs')
    },
    async fetch(count, tx) {
      const options = { batchSize: count, ...(tx === undefined ? {} : { db: within(tx) }) }
      const fetched = boss.fetch<Promotions>(QUEUE_NAME, options)
      const jobs = await (tx === undefined && hasOthers ? orElsewhere(fetched) : fetched)
      return jobs.map(({ id, data, retryCount }) => ({ ...data, id, retryCount }))
    },
    async settle(tx, bundles) {
      if (bundles.length === 0) return
      const attempts = bundles.map(({ id, retryCount }) => ({ id, retryCount }))
      await boss.deleteJob(QUEUE_NAME, attempts, { db: within(tx) })
    },
    stop,
  }
}

/** An `sslmode` as Postgres's own clients and our driver take it: to pg alone, `require` would ask for a known certificate. */
function inTermsOfPg(url: string): string {
  return url.includes('sslmode=') ? `${url}&uselibpqcompat=true` : url
}

/** Whatever failed on the queue's own connection, the next opening asks every server anew. */
async function orElsewhere<T>(fetched: Promise<T>): Promise<T> {
  try {
    return await fetched
  } catch (cause) {
    throw new QueueLostError('the server of the queue did not answer', { cause })
  }
}

/** Bundles promotions that came off the schedule. */
export function bundle(promotions: readonly Promotion[]): Promotions[] {
  const idsOf = new Map<string, string[]>()
  for (const { deliveryId, token } of promotions) {
    const ids = idsOf.get(token)
    if (ids === undefined) idsOf.set(token, [deliveryId])
    else ids.push(deliveryId)
  }
  return [...idsOf].flatMap(([token, ids]) =>
    Array.from({ length: Math.ceil(ids.length / BUNDLE_MAX) }, (_, index) => ({
      token,
      deliveryIds: ids.slice(index * BUNDLE_MAX, (index + 1) * BUNDLE_MAX),
    })),
  )
}

async function declareQueue(boss: PgBoss, expireInSeconds: number): Promise<void> {
  // In pg-boss's common table, of which this queue is all there is: unlike a partition of its own, a
  // queue there can be declared again after somebody emptied pg-boss's tables.
  const settings = {
    expireInSeconds,
    retryLimit: RETRY_COUNT_MAX,
    retryDelay: 0,
    retentionSeconds: RETENTION_S,
    deleteAfterSeconds: RETENTION_S,
  }
  await boss.createQueue(QUEUE_NAME, settings)
  await boss.updateQueue(QUEUE_NAME, settings)
  // pg-boss reads a queue's settings before its first statement: so now, and not between two that are to follow each other.
  await boss.insert(QUEUE_NAME, [])
}

/** The driver would send a statement without values unprepared; its types do not know `simple`. */
const PREPARED = { prepare: true, simple: false }

/** Lets pg-boss run its statements inside our transaction; planned once each, which took as long as running them. */
function within(tx: Tx) {
  return {
    async executeSql(text: string, values: unknown[] = []) {
      return { rows: [...(await tx.unsafe(text, values as never[], PREPARED))] }
    },
  }
}
