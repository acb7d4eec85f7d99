import type { Log } from '#shared/log.ts'
import { pause } from './bell.ts'
import {
  type Attempted,
  attempt,
  type DeliverDeps,
  type Prepared,
  prepare,
  recordOf,
  type SecretOpener,
} from './deliver.ts'
import { FRESH_MS, type Fresh } from './fresh.ts'
import { type Job, unpack } from './job.ts'
import type { Lanes, Outcome } from './lanes.ts'
import { BUNDLE_MAX, type Bundle, type Queue } from './queue.ts'
import { GIVE_BACK_MS, type Recorder } from './recorder.ts'

/** Deliveries taken from the queue at once, a count; a job's are taken together. */
const FETCH_MAX = 500
/** Deliveries that wait in this process for their endpoint's turn, a count. */
const WAITING_MAX = 4_000
/** Attempts that may be waiting to be written before no more are begun, a count. */
const UNWRITTEN_MAX = 4_000
/** How often the running attempts are looked at while stopping, in milliseconds. */
const STOP_LOOK_MS = 20

/** What the pump works with. */
export type PumpDeps = DeliverDeps & {
  readonly queue: Queue
  readonly lanes: Lanes<Prepared>
  readonly recorder: Recorder
  readonly fresh: Fresh
  readonly secrets: SecretOpener
  readonly log: Log
  /** A delivery that waited here for so long is given back, in milliseconds: its job would expire
   * while the post is on its way. */
  readonly waitMsMax: number
  readonly onAttempted: (attempted: Attempted) => void
}

/** Takes jobs from the queue through the stages: prepare, post, record. */
export type Pump = {
  /** Takes about as many deliveries as there is room for and begins them; answers how many it took. */
  fill(): Promise<number>
  /** Begins jobs that somebody else took from the queue for this process. */
  take(bundles: readonly Bundle[]): Promise<void>
  /** How many jobs there is room for, a count. */
  room(): number
  /** Gives back what has waited too long for its endpoint. */
  giveBackLate(): void
  /** Begins nothing more, waits for what is on its way, and gives back the rest. */
  stop(timeoutMs: number): Promise<void>
}

/** Makes a pump that does nothing by itself: `fill` is called by its loop. */
export function createPump(deps: PumpDeps): Pump {
  const { lanes, recorder } = deps
  let isStopping = false

  const room = () => {
    if (isStopping || recorder.pendingCount() >= UNWRITTEN_MAX) return 0
    const count = Math.max(0, Math.min(FETCH_MAX, WAITING_MAX - lanes.waitingCount()))
    return Math.ceil(count / BUNDLE_MAX)
  }
  const isLate = (prepared: Prepared) => deps.monotonicMs() - prepared.preparedAtMs > deps.waitMsMax
  const returnJob = (job: Job, deferMs: number) =>
    recorder.add({ kind: 'given-back', job, deferMs })

  function begin(): void {
    if (isStopping) return
    for (let next = lanes.take(); next !== null; next = lanes.take()) {
      run(next.laneKey, next.item).catch((error: unknown) => {
        deps.log.error('an attempt ended in a fault of ours', { error })
      })
    }
  }

  /** What waited for its endpoint's turn is read anew: URL and secrets are those of the attempt. */
  async function readAgain(prepared: Prepared): Promise<Prepared | null> {
    if (deps.monotonicMs() - prepared.preparedAtMs <= FRESH_MS) return prepared
    return (await prepare(deps, deps, [prepared.job])).prepared[0] ?? null
  }

  async function run(laneKey: string, taken: Prepared): Promise<void> {
    let outcome: Outcome = 'unasked'
    try {
      const prepared = await readAgain(taken)
      if (prepared === null) return returnJob(taken.job, 0)
      const attempted = await attempt(deps, prepared)
      const { result } = attempted
      // Cut off by our own shutdown: the endpoint did nothing wrong.
      if (isStopping && result.kind === 'failed') return returnJob(prepared.job, 0)
      outcome = result.kind === 'failed' && result.fault === 'timeout' ? 'timeout' : 'other'
      recorder.add({
        kind: 'attempted',
        job: prepared.job,
        storeId: prepared.delivery.storeId,
        record: recordOf(attempted, deps.random()),
      })
      deps.onAttempted(attempted)
    } catch (error) {
      returnJob(taken.job, GIVE_BACK_MS)
      throw error
    } finally {
      lanes.finish(laneKey, outcome)
      begin()
    }
  }

  async function take(bundles: readonly Bundle[]): Promise<number> {
    const jobs = unpack(bundles)
    if (jobs.length === 0) return 0
    const { prepared, voided } = await prepare(deps, deps, jobs)
    for (const job of voided) recorder.add({ kind: 'voided', job })
    for (const one of prepared) {
      if (isStopping) returnJob(one.job, 0)
      else lanes.add(one.delivery.storeId, one)
    }
    begin()
    return jobs.length
  }

  return {
    room,
    async fill() {
      const count = room()
      return count === 0 ? 0 : take(await deps.queue.fetch(count))
    },
    async take(bundles) {
      await take(bundles)
    },
    giveBackLate() {
      for (const { job } of lanes.withdraw(isLate)) returnJob(job, GIVE_BACK_MS)
    },
    async stop(timeoutMs) {
      isStopping = true
      for (const { job } of lanes.withdraw(() => true)) returnJob(job, 0)
      const limit = AbortSignal.timeout(timeoutMs)
      while (lanes.inFlightCount() > 0 && !limit.aborted) await pause(STOP_LOOK_MS, limit)
      deps.poster.close()
      while (lanes.inFlightCount() > 0) await pause(STOP_LOOK_MS, new AbortController().signal)
    },
  }
}
