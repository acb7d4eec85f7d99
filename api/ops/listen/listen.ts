import { Buffer } from 'node:buffer'
import { signatureHeader } from '#shared/webhook-signature.ts'
import { ApiFault, type ListedEvent, type Source } from './source.ts'

export type ListenDeps = {
  source: Source
  /** Where the API is, for the person who reads what is printed. */
  baseUrl: string
  /** Where events are posted. */
  forwardTo: string
  /** The `whsec_…` that they are signed with. */
  secret: string
  /** The sequence behind which to begin; undefined: only what is emitted from now on. */
  after: number | undefined
  /** Milliseconds since 1970. */
  nowMs(): number
  print(line: string): void
  signal: AbortSignal
}

/** Milliseconds between two looks for events. */
const POLL_MS = 1_000
/** Milliseconds waited after a fault; doubles up to the second. */
const BACKOFF_MS = 1_000
const BACKOFF_MS_MAX = 30_000
/** What an endpoint is given for one answer, as from a real delivery (spec section 6). */
const POST_TIMEOUT_MS = 15_000
/** Attempts to post one event: then it is passed over, since the person watching has seen why. */
const ATTEMPT_COUNT_MAX = 5

/**
 * Posts a store's events to a place of one's own as they are emitted, in order, each signed like a webhook. Resolves when
 * the signal fires. Throws {@link ApiFault} when the API will not answer however often it is asked.
 */
export async function listenForEvents(deps: ListenDeps): Promise<void> {
  const { source, signal, print } = deps
  const storeId = await enduring(deps, () => source.readStoreId())
  if (storeId === undefined) return
  let sequence = deps.after ?? (await enduring(deps, () => source.readNewest(storeId)))
  if (sequence === undefined) return
  print(`Ready: events of ${storeId} after sequence ${sequence} go to ${deps.forwardTo}`)
  print(`They are signed with ${deps.secret}`)
  while (!signal.aborted) {
    const from: number = sequence
    const events = await enduring(deps, () => source.readAfter(storeId, from))
    for (const event of events ?? []) {
      if (!(await forward(deps, event))) return
      sequence = event.sequence
    }
    if (events?.length === 0) await pause(POLL_MS, signal)
  }
}

/** Asks until there is an answer; undefined when the signal fired. Says what is wrong once, not each time. */
async function enduring<T>(deps: ListenDeps, ask: () => Promise<T>): Promise<T | undefined> {
  let said = ''
  for (let waitMs = BACKOFF_MS; !deps.signal.aborted; waitMs = longer(waitMs)) {
    try {
      return await ask()
    } catch (error) {
      if (deps.signal.aborted) return undefined
      if (error instanceof ApiFault && error.isHopeless) throw error
      const line = `! the API at ${deps.baseUrl} does not answer, trying again: ${reasonOf(error)}`
      if (line !== said) deps.print(line)
      said = line
      await pause(waitMs, deps.signal)
    }
  }
  return undefined
}

/** Posts until it is taken, or a bounded number of times; false when the signal fired before. */
async function forward(deps: ListenDeps, event: ListedEvent): Promise<boolean> {
  for (let attempt = 1, waitMs = BACKOFF_MS; ; attempt += 1, waitMs = longer(waitMs)) {
    const outcome = await post(deps, event)
    if (deps.signal.aborted) return false
    const isTaken = typeof outcome === 'number' && outcome >= 200 && outcome < 300
    deps.print(`${isTaken ? '→' : '!'} ${event.sequence} ${event.type} ${event.id}: ${outcome}`)
    if (isTaken) return true
    if (attempt === ATTEMPT_COUNT_MAX) {
      deps.print(`! ${event.id} is passed over; --after ${event.sequence - 1} begins with it again`)
      return true
    }
    await pause(waitMs, deps.signal)
    if (deps.signal.aborted) return false
  }
}

/** One attempt: the answer's status, or why there was none. */
async function post(deps: ListenDeps, { body, id, type }: ListedEvent): Promise<number | string> {
  const bytes = Buffer.from(body)
  const seconds = Math.floor(deps.nowMs() / 1000)
  try {
    const response = await fetch(deps.forwardTo, {
      method: 'POST',
      body: bytes,
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'stablecoin-payments-listen',
        'X-Service-Event': type,
        'X-Service-Delivery': id,
        'X-Service-Signature': signatureHeader(bytes, [deps.secret], seconds),
      },
      redirect: 'manual',
      signal: AbortSignal.any([deps.signal, AbortSignal.timeout(POST_TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return response.status
  } catch (error) {
    return reasonOf(error)
  }
}

function longer(waitMs: number): number {
  return Math.min(waitMs * 2, BACKOFF_MS_MAX)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
  })
}
