import { CONFIG_EXIT_CODE } from '#shared/config.ts'
import type { Log } from '#shared/log.ts'

/** Something that runs until it is stopped or ends by itself. */
export type Running = {
  /** Resolves when it has ended, for whatever reason; with an exit code when it is a process that ended by itself. */
  ended: Promise<{ exitCode: number | null }>
  /** Ends it; nothing of it is left when this resolves. */
  stop(): Promise<void>
}

export type Service = { name: string; start(): Promise<Running> }

export type KeptService = {
  name: string
  stop(): Promise<void>
}

/** Milliseconds before a service that ended is started again: doubles up to the maximum, starts anew after a success. */
const BACKOFF_MS = 250
const BACKOFF_MAX_MS = 5_000
/** A service that ran this long before it ended had been started successfully. */
const SUCCESS_MS = 30_000

/**
 * Starts a service and starts it again whenever it ends. Rejects when the very first start fails. `onHopeless` is told, once, when a
 * process ended because its configuration is wrong; it is then not started again.
 */
export async function keepRunning(
  service: Service,
  { log, onHopeless }: { log: Log; onHopeless: (name: string) => void },
): Promise<KeptService> {
  const state: State = { running: await service.start(), isStopping: false, wake: undefined }
  const done = watchOver(service, state, log, onHopeless)
  return {
    name: service.name,
    async stop() {
      state.isStopping = true
      state.wake?.()
      await state.running?.stop()
      await done
    },
  }
}

type State = { running: Running | undefined; isStopping: boolean; wake: (() => void) | undefined }

async function watchOver(
  service: Service,
  state: State,
  log: Log,
  onHopeless: (name: string) => void,
): Promise<void> {
  let backoffMs = BACKOFF_MS
  let startedAtMs = performance.now()
  while (state.running) {
    const { exitCode } = await state.running.ended
    if (state.isStopping) return
    if (exitCode === CONFIG_EXIT_CODE) {
      onHopeless(service.name)
      return
    }
    if (performance.now() - startedAtMs > SUCCESS_MS) backoffMs = BACKOFF_MS
    log.warn(`${service.name} ended and is started again`, { exitCode, inMs: backoffMs })
    state.running = undefined
    while (!state.running && !state.isStopping) {
      await pause(state, backoffMs)
      backoffMs = Math.min(BACKOFF_MAX_MS, backoffMs * 2)
      if (!state.isStopping) state.running = await tryStart(service, log)
    }
    startedAtMs = performance.now()
    // Asked to stop while it was being started: nobody else will end it.
    if (state.isStopping) await state.running?.stop()
  }
}

async function tryStart(service: Service, log: Log): Promise<Running | undefined> {
  try {
    return await service.start()
  } catch (cause) {
    log.error(`${service.name} could not be started again`, { cause })
    return undefined
  }
}

function pause(state: State, ms: number): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms)
    state.wake = () => {
      clearTimeout(timer)
      done()
    }
  })
}
