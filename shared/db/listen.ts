import postgres from 'postgres'
import { addressesOf } from '#shared/db/servers.ts'
import type { Log } from '#shared/log.ts'

export type ListenOptions = {
  /** A direct connection to the server: `LISTEN` does not work through a transaction pooler. */
  url: string
  applicationName: string
  /** Channel → what to do with a notification's payload. Must not throw; what it throws is logged. */
  handlers: Record<string, (payload: string) => void>
  /** Called each time the channels are open: notifications sent while they were not are lost, so look once. */
  onListening?: () => void
  log: Log
}

/** An open ear; `stop` closes its connection and resolves when it is gone. */
export type Listener = { stop(): Promise<void> }

/** Seconds for TCP, TLS and log-in together. */
const CONNECT_TIMEOUT_S = 5
/** Seconds the server may be silent when asked whether it is still there. */
const RESPONSE_TIMEOUT_S = 5
/** Milliseconds between two such questions: a connection that died silently is noticed this late at most. */
const PING_EVERY_MS = 10_000
/** Milliseconds before the next attempt: doubling from the first, up to the last. */
const RECONNECT_MIN_MS = 50
const RECONNECT_MAX_MS = 2_000
/** Seconds for the connection to close. */
const CLOSE_TIMEOUT_S = 1

/**
 * Listens on channels over a connection of its own, and connects again for as long as it takes when that one is lost. A
 * notification only wakes somebody early: nothing may depend on its arrival.
 */
export function listen(options: ListenOptions): Listener {
  const stopping = new AbortController()
  const finished = run(options, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await finished
    },
  }
}

async function run(options: ListenOptions, signal: AbortSignal): Promise<void> {
  let delayMs = RECONNECT_MIN_MS
  while (!signal.aborted) {
    const wasListening = await listenOnce(options, signal)
    if (signal.aborted) return
    delayMs = wasListening ? RECONNECT_MIN_MS : Math.min(delayMs * 2, RECONNECT_MAX_MS)
    await pause(delayMs, signal)
  }
}

/** Until the connection is lost or the listener stopped. Answers whether it ever listened; never throws. */
async function listenOnce(options: ListenOptions, signal: AbortSignal): Promise<boolean> {
  const lost = new AbortController()
  const sql = connect(options, () => lost.abort())
  let isListening = false
  try {
    for (const channel of Object.keys(options.handlers)) await sql`listen ${sql(channel)}`
    isListening = true
    options.log.debug('listening for notifications')
    notify(options, () => options.onListening?.())
    while (!signal.aborted && !lost.signal.aborted) {
      await pause(PING_EVERY_MS, signal, lost.signal)
      if (!signal.aborted && !lost.signal.aborted) await sql`select 1`
    }
    if (!signal.aborted) options.log.warn('lost the connection for notifications, connecting again')
  } catch (error) {
    if (!signal.aborted)
      options.log.warn('no connection for notifications, trying again', { error })
  } finally {
    await sql.end({ timeout: CLOSE_TIMEOUT_S })
  }
  return isListening
}

function connect(options: ListenOptions, onclose: () => void): postgres.Sql {
  const settings = {
    ...addressesOf(options.url),
    max: 1,
    // Neither idle nor old connections are closed: silence is this one's normal state.
    idle_timeout: 0,
    max_lifetime: 0,
    connect_timeout: CONNECT_TIMEOUT_S,
    response_timeout: RESPONSE_TIMEOUT_S,
    fetch_types: false,
    connection: { application_name: options.applicationName },
    onnotice() {},
    onclose,
    onnotify(channel: string, payload: string) {
      notify(options, () => options.handlers[channel]?.(payload))
    },
  }
  return postgres(options.url, settings)
}

/** Runs what the caller gave; a fault in it must not take the connection down. */
function notify({ log }: ListenOptions, call: () => void): void {
  try {
    call()
  } catch (error) {
    log.error('a notification could not be acted on', { error })
  }
}

/** Milliseconds, or less when one of the signals fires. */
function pause(ms: number, ...signals: AbortSignal[]): Promise<void> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve()
  return new Promise((done) => {
    const finish = () => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', finish)
      done()
    }
    const timer = setTimeout(finish, ms)
    for (const signal of signals) signal.addEventListener('abort', finish)
  })
}
