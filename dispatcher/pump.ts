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
import { RELAY_BATCH_MAX } from './relay.ts'

/** Deliveries taken from the queue at once, a count; a job's are taken together. A job more than a whole step of the relay
 * adds, so that taking them shows that nothing is left: a look into an empty queue costs as much as taking. */
const FETCH_MAX = RELAY_BATCH_MAX + BUNDLE_MAX
/** Deliveries that wait in this process for their endpoint's turn, a count. */
const WAITING_MAX = 4_000
/** Endpoints that only wait for their turn, with which no more is taken, a count: what waits here for long is read again. */
const READY_MAX = 250
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
  /** Takes about as many deliveries as there is room for and begins them; answers whether to go on at once. */
  fill(): Promise<boolean>
  /** Begins jobs that somebody else took from the queue for this process. */
  take(bundles: readonly Bundle[]): Promise<void>
  /** How many jobs there is room for, a count. */
  room(): number
  /** Whether it could take jobs again, having left off for want of room and not because there were none. */
  mayGoOn(): boolean
  /** Gives back what has waited too long for its endpoint. */
  giveBackLate(): void
  /** Begins nothing more, waits for what is on its way, and gives back the rest. */
  stop(timeoutMs: number): Promise<void>
}

/** Makes a pump that does nothing by itself: `fill` is called by its loop. */
export function createPump(deps: PumpDeps): Pump {
  const { lanes, recorder } = deps
  const readings = createReadings(async (jobs) => (await prepare(deps, deps, jobs)).prepared)
  let isStopping = false
  /** Whether there may be jobs in the queue that it did not take. */
  let hasLeftSome = false

  const room = () => (isStopping ? 0 : roomOf(deps))
  /** What waited for its endpoint's turn is read anew: URL and secrets are those of the attempt. */
  const isFresh = (prepared: Prepared) => deps.monotonicMs() - prepared.preparedAtMs <= FRESH_MS
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

  async function run(laneKey: string, taken: Prepared): Promise<void> {
    let outcome: Outcome = 'unasked'
    try {
      const prepared = isFresh(taken) ? taken : await readings.read(taken.job)
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

  async function take(bundles: readonly Bundle[]): Promise<void> {
    const { prepared, voided } = await prepare(deps, deps, unpack(bundles))
    for (const job of voided) recorder.add({ kind: 'voided', job })
    for (const one of prepared) {
      if (isStopping) returnJob(one.job, 0)
      else lanes.add(one.delivery.storeId, one)
    }
    begin()
  }

  return {
    room,
    mayGoOn: () => hasLeftSome && room() > 0,
    async fill() {
      const count = room()
      hasLeftSome = true
      if (count === 0) return false
      const bundles = await deps.queue.fetch(count)
      hasLeftSome = bundles.length >= count
      await take(bundles)
      return hasLeftSome
    },
    take,
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

function roomOf({ lanes, recorder }: PumpDeps): number {
  const isBusy = recorder.pendingCount() >= UNWRITTEN_MAX || lanes.readyCount() >= READY_MAX
  const count = isBusy ? 0 : Math.min(FETCH_MAX, WAITING_MAX - lanes.waitingCount())
  return Math.ceil(Math.max(0, count) / BUNDLE_MAX)
}

/** Reads deliveries that are asked for one by one, all of a turn in one statement. */
function createReadings(read: (jobs: readonly Job[]) => Promise<Prepared[]>) {
  let asked = new Map<Job, (prepared: Promise<Prepared | null>) => void>()
  function readAsked(): void {
    const answers = asked
    asked = new Map()
    const found = read([...answers.keys()]).then(
      (prepared) => new Map(prepared.map((one) => [one.job, one])),
    )
    for (const [job, answer] of answers) answer(found.then((byJob) => byJob.get(job) ?? null))
  }
  return {
    /** The delivery of a job that is still its, or null. */
    read(job: Job): Promise<Prepared | null> {
      if (asked.size === 0) setImmediate(readAsked)
      return new Promise((answer) => asked.set(job, answer))
    },
  }
}
