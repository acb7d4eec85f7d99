import { type Db, openDb } from '#shared/db.ts'
import { PAYMENTS_CHANNEL } from '#shared/events.ts'
import type { Log } from '#shared/log.ts'

/** Tells those who watch a payment that it may have changed. */
export type PaymentChanges = {
  /** How many watch, all payments together. */
  count(): number
  /** Calls `onChange` at each change and `onEnd` when the process stops. Answers how to stop watching. */
  watch(paymentId: string, watcher: Watcher): () => void
  /** Begins to listen; resolves when it is over. Notifications only save time: the poll finds everything. */
  run(signal: AbortSignal): Promise<void>
}

export type Watcher = { onChange(): void; onEnd(): void }

type Ports = { db: Db; log: Log; listenUrl: string | undefined }
type State = Ports & { watched: Map<string, Set<Watcher>>; seen: Map<string, string> }

/** Milliseconds between two looks at all watched payments. */
const POLL_MS = 2_000
/** Milliseconds until listening is tried again after the database could not be reached. */
const LISTEN_RETRY_MS = 1_000

/** One listener and one poll for all watchers of a process. */
export function createPaymentChanges(ports: Ports): PaymentChanges {
  const state: State = { ...ports, watched: new Map(), seen: new Map() }
  const { watched } = state
  return {
    count: () => [...watched.values()].reduce((sum, watchers) => sum + watchers.size, 0),
    watch(paymentId, watcher) {
      const watchers = watched.get(paymentId) ?? new Set()
      watched.set(paymentId, watchers.add(watcher))
      return () => {
        watchers.delete(watcher)
        if (watchers.size > 0) return
        watched.delete(paymentId)
        state.seen.delete(paymentId)
      }
    },
    async run(signal) {
      signal.addEventListener('abort', () => endAll(state), { once: true })
      await Promise.all([listen(state, signal), poll(state, signal)])
    },
  }
}

async function listen(state: State, signal: AbortSignal): Promise<void> {
  if (state.listenUrl === undefined) return
  const db = openDb({ url: state.listenUrl, applicationName: 'api-listen', poolSizeMax: 1 })
  const wake = (payload: string) => {
    if (payload === '') wakeAll(state)
    else for (const paymentId of payload.split(',')) wakeOne(state, paymentId)
  }
  while (!signal.aborted) {
    try {
      // The driver listens again by itself after an interruption, and says so: what came between is looked up.
      await db.listen(PAYMENTS_CHANNEL, wake, () => wakeAll(state))
      break
    } catch (error) {
      state.log.debug('payments are not listened to yet', { cause: error })
      await waitFor(LISTEN_RETRY_MS, signal)
    }
  }
  if (!signal.aborted) await once(signal)
  await db.end({ timeout: 0 })
}

async function poll(state: State, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await waitFor(POLL_MS, signal)
    if (signal.aborted || state.watched.size === 0) continue
    try {
      await lookAtAll(state)
    } catch (error) {
      state.log.debug('watched payments could not be read', { cause: error })
    }
  }
}

async function lookAtAll(state: State): Promise<void> {
  const rows = await state.db<{ paymentId: string; version: string }[]>`
    select p.payment_id, concat_ws(':', p.status, p.tx_hash, p.block_number,
        case when p.status = 'DETECTED' then d.block_number end) as version
    from payments p
    left join deployments d on d.deployment = p.deployment
    where p.payment_id = any (${[...state.watched.keys()]})`
  for (const { paymentId, version } of rows) {
    const before = state.seen.get(paymentId)
    if (state.watched.has(paymentId)) state.seen.set(paymentId, version)
    if (before !== version) wakeOne(state, paymentId)
  }
}

function wakeOne(state: State, paymentId: string): void {
  for (const watcher of state.watched.get(paymentId) ?? []) watcher.onChange()
}

function wakeAll(state: State): void {
  for (const paymentId of state.watched.keys()) wakeOne(state, paymentId)
}

function endAll(state: State): void {
  for (const watchers of state.watched.values()) for (const watcher of watchers) watcher.onEnd()
}

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}

function once(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
