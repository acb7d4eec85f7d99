import { type Db, isUnavailable, withTransaction } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import { requestDeadMail } from '#shared/mail-requests.ts'
import { type AttemptRecord, giveBack, recordAttempts, releaseWaiting } from './attempt-queries.ts'
import { pause } from './bell.ts'
import { createTally, type Job, type Tally } from './job.ts'
import { forgetBundles, preferIndexes } from './queries.ts'
import { type Queue, QueueLostError } from './queue.ts'
import { RELEASE_COUNT_MAX, type ReleaseGate } from './release.ts'

/** Attempts written in one transaction, a count. */
const BATCH_MAX = 1_000
/** Wait before writing is tried again, in milliseconds; doubles up to the second one. */
const RETRY_MS = 100
const RETRY_MS_MAX = 2_000
/** Unattempted deliveries come back so much later, in milliseconds: their endpoint is busy. */
export const GIVE_BACK_MS = 5_000

/** What became of a job: attempted, to be tried again by somebody later, or nobody's any more. */
export type Settlement =
  | {
      readonly kind: 'attempted'
      readonly job: Job
      readonly record: AttemptRecord
      readonly storeId: string
    }
  | { readonly kind: 'given-back'; readonly job: Job; readonly deferMs: number }
  | { readonly kind: 'voided'; readonly job: Job }

/**
 * Writes down what became of jobs, many in one transaction: while one is being committed the next
 * gathers. Holds what it could not write until Postgres is back.
 */
export type Recorder = {
  add(settlement: Settlement): void
  /** Settlements not yet written. */
  pendingCount(): number
  /** Waits until all is written, or the time is up. */
  drain(timeoutMs: number): Promise<void>
  /** Ends waiting for a Postgres that is away. */
  stop(): void
}

/** What the recorder works with. */
export type RecorderDeps = {
  readonly db: Db
  readonly queue: Queue
  readonly gate: ReleaseGate
  readonly log: Log
  readonly monotonicMs: () => number
  /** Called after each commit with the store of each attempt in it, and the stores released. */
  readonly onWritten: (storeIds: readonly string[], released: readonly string[]) => void
}

/** Makes a recorder; it writes as soon as something is added. */
export function createRecorder(deps: RecorderDeps): Recorder {
  const stopping = new AbortController()
  const tally = createTally()
  let pending: Settlement[] = []
  let inHand: readonly Settlement[] = []
  let running: Promise<void> | null = null

  async function run(): Promise<void> {
    while (pending.length > 0 && !stopping.signal.aborted) {
      const { batch, rest } = takeBatch(pending)
      pending = rest
      inHand = batch
      await writeUntilDone({ ...deps, tally }, batch, stopping.signal)
      inHand = []
    }
  }
  return {
    add(settlement) {
      pending.push(settlement)
      // Started in a later microtask, so that all that is added in one go is one transaction.
      running ??= Promise.resolve()
        .then(run)
        .finally(() => {
          running = null
        })
    },
    pendingCount: () => pending.length + inHand.length,
    async drain(timeoutMs) {
      const timer = setTimeout(() => stopping.abort(), timeoutMs)
      while (running !== null && !stopping.signal.aborted) await running
      clearTimeout(timer)
    },
    stop: () => stopping.abort(),
  }
}

/** The next batch: never two settlements of one delivery, since one statement writes a row once. */
function takeBatch(pending: readonly Settlement[]): { batch: Settlement[]; rest: Settlement[] } {
  const batch: Settlement[] = []
  const later: Settlement[] = []
  const seen = new Set<string>()
  let lookedAtCount = 0
  for (const settlement of pending) {
    if (batch.length >= BATCH_MAX) break
    lookedAtCount += 1
    const { deliveryId } = settlement.job
    if (seen.has(deliveryId)) later.push(settlement)
    else batch.push(settlement)
    seen.add(deliveryId)
  }
  return { batch, rest: [...later, ...pending.slice(lookedAtCount)] }
}

type WriteDeps = RecorderDeps & { readonly tally: Tally }

async function writeUntilDone(
  deps: WriteDeps,
  batch: readonly Settlement[],
  signal: AbortSignal,
): Promise<void> {
  let waitMs = RETRY_MS
  while (!signal.aborted) {
    try {
      await write(deps, batch)
      return
    } catch (error) {
      if (isUnavailable(error) || error instanceof QueueLostError) {
        deps.log.warn('attempts cannot be recorded yet', { count: batch.length, error })
        await pause(waitMs, signal)
        waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)
      } else if (batch.length > 1) {
        // One of them cannot be written: the others can.
        for (const settlement of batch) await writeUntilDone(deps, [settlement], signal)
        return
      } else {
        deps.log.error('an attempt cannot be recorded: its delivery will be attempted again', {
          deliveryId: batch[0]?.job.deliveryId,
          error,
        })
        return
      }
    }
  }
}

async function write(deps: WriteDeps, batch: readonly Settlement[]): Promise<void> {
  const jobs = batch.map((one) => one.job)
  const attempted = batch.filter((one) => one.kind === 'attempted')
  const records = attempted.map((one) => one.record)
  const givenBack = batch.flatMap(toGiveBack)
  const storeIds = attempted.map((one) => one.storeId)
  const succeeded = new Set(
    attempted.filter((one) => one.record.isSuccess).map((one) => one.storeId),
  )
  const releasing = deps.gate.due([...succeeded], deps.monotonicMs())
  const releaseCountMax = Math.ceil(RELEASE_COUNT_MAX / Math.max(1, releasing.length))
  const released = await withTransaction(deps.db, async (tx) => {
    await preferIndexes(tx)
    if (records.length > 0) await recordAttempts(tx, records)
    const ended = records.filter((one) => !one.isSuccess && one.nextAttemptAt === null)
    await requestDeadMail(
      tx,
      ended.map((one) => one.job.deliveryId),
    )
    for (const deferMs of new Set(givenBack.map((one) => one.deferMs))) {
      const jobs = givenBack.filter((one) => one.deferMs === deferMs).map((one) => one.job)
      await giveBack(tx, jobs, deferMs)
    }
    const bundles = deps.tally.ended(jobs)
    await deps.queue.settle(tx, bundles)
    await forgetBundles(
      tx,
      bundles.flatMap((bundle) => bundle.freshId ?? []),
    )
    return releasing.length === 0 ? [] : releaseWaiting(tx, releasing, releaseCountMax)
  })
  deps.tally.count(jobs)
  deps.gate.released(releasing, released, releaseCountMax, deps.monotonicMs())
  deps.onWritten(
    storeIds,
    released.map((one) => one.storeId),
  )
}

/** What is to be given back: also the unattempted one of a fresh bundle, which nobody would find once that is forgotten. */
function toGiveBack(settlement: Settlement): { job: Job; deferMs: number }[] {
  const { kind, job } = settlement
  if (kind === 'given-back') return [settlement]
  return kind === 'voided' && job.bundle.freshId !== undefined ? [{ job, deferMs: 0 }] : []
}
