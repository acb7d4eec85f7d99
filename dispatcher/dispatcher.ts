import type { Keyring } from '#shared/crypto.ts'
import { listen } from '#shared/db/listen.ts'
import { type Db, isUnavailable } from '#shared/db.ts'
import { EVENTS_CHANNEL } from '#shared/events.ts'
import type { Log } from '#shared/log.ts'
import { MAIL_KIND } from '#shared/mail-requests.ts'
import { assertSchemaCurrent, SchemaError } from '#shared/migrate.ts'
import type { Lookup } from '#shared/outbound-resolve.ts'
import type { DoorSettings } from '#shared/payments/effects.ts'
import { REQUESTS_CHANNEL } from '#shared/requests.ts'
import { createBacklog } from './backlog.ts'
import { type Bell, createBell, pause } from './bell.ts'
import { createChores } from './chores.ts'
import { createSecretOpener, type Prepared } from './deliver.ts'
import { createFresh } from './fresh.ts'
import { createLanes } from './lanes.ts'
import type { Mailer } from './mailer.ts'
import { createNumbers } from './numbers.ts'
import { ATTEMPT_TIMEOUT_MS, createPoster } from './post.ts'
import { createPump } from './pump.ts'
import { openQueue, QueueLostError } from './queue.ts'
import { createQueuePort } from './queue-port.ts'
import { createRecorder } from './recorder.ts'
import { createRelayTurns } from './relay-turns.ts'
import { createReleaseGate } from './release.ts'

/** Milliseconds and seconds of the dispatcher's clockwork; tests shorten them. */
export type Timing = {
  /** One POST, whole (spec section 6). */
  readonly attemptTimeoutMs: number
  /** A job of a process that died is handed out again after this. */
  readonly jobExpireS: number
  /** A delivery whose job got lost altogether is queued again after this. */
  readonly queuedForMs: number
  /** How often events and jobs are looked for without a wake-up. */
  readonly pollMs: number
  /** How often due deliveries are looked for, at least. */
  readonly sweepMs: number
  /** How often closed payment windows and due subscriptions are looked for. */
  readonly windowMs: number
  /** How often old slots and deliveries that wait too long for their endpoint are looked for. */
  readonly tidyMs: number
  /** How often parked deliveries whose window is over are looked for. */
  readonly parkedMs: number
  /** How often finished requests and counts of long ago are looked for. */
  readonly trimMs: number
}

const TIMING: Timing = {
  attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  jobExpireS: 30,
  queuedForMs: 60_000,
  pollMs: 250,
  sweepMs: 300,
  windowMs: 1_000,
  tidyMs: 1_000,
  parkedMs: 10_000,
  trimMs: 3_600_000,
}
/** Between the end of an attempt and its job's expiry there is at least this, in milliseconds. */
const MARGIN_MS = 1_000
/** Wait after a fault, in milliseconds; doubles up to the second. */
const FAULT_PAUSE_MS = 100
const FAULT_PAUSE_MS_MAX = 5_000
/** Without a successful look at the events for so long the dispatcher is not ready, in milliseconds. */
const READY_MS = 10_000
/** Stopping: what is on its way may take so long, and then what is unwritten, in milliseconds. */
const STOP_POSTS_MS = 2_500
const STOP_RECORD_MS = 1_000

/** What a dispatcher works with; made by an entrance or a test. */
export type DispatcherDeps = {
  /** The pool for everything but the queue; the caller closes it after `stop`. */
  readonly db: Db
  /** For the queue's own few connections. */
  readonly databaseUrl: string
  /** A direct connection for LISTEN; null polls only. */
  readonly listenUrl: string | null
  /** `DATABASE_PREPARE`. */
  readonly prepare: boolean
  readonly keyring: Keyring
  readonly door: DoorSettings
  readonly outbound: {
    readonly allowPrivate: boolean
    readonly egressProxy?: string | null
    readonly lookup?: Lookup
    readonly trustedCa?: string
  }
  /** Absent: mails wait in their rows. */
  readonly mailer?: Mailer
  readonly log: Log
  /** The process's clock in milliseconds since 1970. */
  readonly nowMs: () => number
  readonly monotonicMs: () => number
  readonly random: () => number
  readonly timing?: Partial<Timing>
}

/** A dispatcher at work. */
export type Dispatcher = {
  /** Resolves when it is at work; waits for Postgres as long as it takes. Answers `false` when it was
   * stopped before. Rejects with `SchemaError` when the schema is not this version's: nothing runs then. */
  readonly ready: Promise<boolean>
  /** Whether it is at work and has reached Postgres lately. */
  isReady(): boolean
  /** Prometheus text. */
  renderMetrics(): string
  /** Ends within 5 s: posts on their way may finish, the rest is given back. */
  stop(): Promise<void>
}

/** Starts relaying events, delivering webhooks and closing windows. Returns at once. */
export function startDispatcher(deps: DispatcherDeps): Dispatcher {
  const timing = { ...TIMING, ...deps.timing }
  const stopping = new AbortController()
  const { signal } = stopping
  const wheels = assemble(deps, timing)
  const { bells, lanes, numbers, pump, queue, recorder } = wheels
  let lastRelayAtMs = Number.NEGATIVE_INFINITY

  const relayTurns = createRelayTurns(wheels, timing, signal, () => {
    lastRelayAtMs = deps.monotonicMs()
  })
  const chores = createChores(
    deps,
    timing,
    { numbers, mailBell: bells.mail, giveBackLate: () => pump.giveBackLate() },
    signal,
  )
  const turn = (name: string, step: () => Promise<void>) =>
    loop(deps, queue.reopen, signal, name, step)
  async function run(): Promise<boolean> {
    await connect(deps, queue.reopen, signal)
    if (signal.aborted) return false
    loops = [
      turn('pump', async () => {
        if (!(await pump.fill())) await bells.pump.wait(timing.pollMs, signal)
      }),
      ...Object.entries({ ...relayTurns, ...chores }).map(([name, step]) => turn(name, step)),
    ]
    return true
  }
  let loops: Promise<void>[] = []
  const listener =
    deps.listenUrl === null
      ? null
      : listen({
          url: deps.listenUrl,
          applicationName: 'dispatcher-listen',
          handlers: {
            [EVENTS_CHANNEL]: () => bells.relay.ring(),
            [REQUESTS_CHANNEL]: (kind) => kind === MAIL_KIND && bells.mail.ring(),
          },
          onListening: () => bells.relay.ring(),
          log: deps.log,
        })
  const ready = run()
  return {
    ready,
    isReady: () => loops.length > 0 && deps.monotonicMs() - lastRelayAtMs < READY_MS,
    renderMetrics: () => numbers.render(lanes),
    async stop() {
      stopping.abort()
      await Promise.allSettled([ready])
      await Promise.all([pump.stop(STOP_POSTS_MS), listener?.stop(), ...loops])
      await recorder.drain(STOP_RECORD_MS)
      recorder.stop()
      await queue.stop()
      deps.mailer?.close()
    },
  }
}

/** Makes the parts and connects them; nothing moves yet. */
function assemble(deps: DispatcherDeps, timing: Timing) {
  const bells = createBells()
  const lanes = createLanes<Prepared>()
  const numbers = createNumbers()
  const backlog = createBacklog({
    forgetAfterMs: timing.queuedForMs,
    monotonicMs: deps.monotonicMs,
    isSlow: lanes.isSlow,
    slowStoreIds: lanes.slowKeys,
  })
  const fresh = createFresh(deps)
  const queue = createQueuePort({
    open: () =>
      openQueue({
        databaseUrl: deps.databaseUrl,
        prepare: deps.prepare,
        expireInSeconds: timing.jobExpireS,
        log: deps.log,
      }),
    log: deps.log,
  })
  const recorder = createRecorder({
    ...deps,
    queue,
    gate: createReleaseGate(),
    onWritten(storeIds, released) {
      backlog.ended(storeIds)
      backlog.suspect(released)
      if (backlog.needsRefill()) bells.refill.ring()
      if (pump.mayGoOn()) bells.pump.ring()
    },
  })
  const pump = createPump({
    ...deps,
    queue,
    lanes,
    recorder,
    poster: createPoster({ ...deps.outbound, attemptTimeoutMs: timing.attemptTimeoutMs }),
    fresh,
    secrets: createSecretOpener(deps),
    leftMsMin: timing.attemptTimeoutMs + MARGIN_MS,
    waitMsMax: timing.jobExpireS * 1000 - timing.attemptTimeoutMs - MARGIN_MS,
    onAttempted: numbers.attempted,
  })
  const relayDeps = {
    db: deps.db,
    queue,
    monotonicMs: deps.monotonicMs,
    queuedForMs: timing.queuedForMs,
    rooms: backlog.rooms,
    slowStoreIds: lanes.slowKeys,
    wideStoreIds: backlog.storeIds,
    jobRoom: pump.room,
  }
  return { relayDeps, backlog, fresh, bells, lanes, numbers, pump, queue, recorder }
}

/** One bell for each loop that others wake. */
export type Bells = Record<
  'relay' | 'relayBeside' | 'clear' | 'refill' | 'sweep' | 'pump' | 'mail',
  Bell
>

function createBells(): Bells {
  return {
    relay: createBell(),
    relayBeside: createBell(),
    clear: createBell(),
    refill: createBell(),
    sweep: createBell(),
    pump: createBell(),
    mail: createBell(),
  }
}

/** Waits for Postgres, checks the schema, opens the queue. */
async function connect(
  deps: DispatcherDeps,
  openQueueAgain: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = FAULT_PAUSE_MS; !signal.aborted; waitMs = longer(waitMs)) {
    try {
      await assertSchemaCurrent(deps.db)
      await openQueueAgain()
      return
    } catch (error) {
      if (error instanceof SchemaError) throw error
      deps.log.warn('the database cannot be used yet, trying again', { error })
      await pause(waitMs, signal)
    }
  }
}

/** Repeats a step until the signal fires; a step that failed is repeated after a growing pause. */
async function loop(
  deps: DispatcherDeps,
  openQueueAgain: () => Promise<void>,
  signal: AbortSignal,
  name: string,
  step: () => Promise<void>,
): Promise<void> {
  let waitMs = FAULT_PAUSE_MS
  while (!signal.aborted) {
    try {
      await step()
      waitMs = FAULT_PAUSE_MS
    } catch (error) {
      const level = isUnavailable(error) || error instanceof QueueLostError ? 'warn' : 'error'
      deps.log[level]('a step of the dispatcher failed, trying again', { step: name, error })
      if (error instanceof QueueLostError) {
        await openQueueAgain().catch((cause: unknown) => {
          deps.log.warn('the queue cannot be opened yet', { error: cause })
        })
      }
      await pause(waitMs, signal)
      waitMs = longer(waitMs)
    }
  }
}

function longer(waitMs: number): number {
  return Math.min(waitMs * 2, FAULT_PAUSE_MS_MAX)
}
