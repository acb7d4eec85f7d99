import { fail } from '#shared/errors.ts'
import { rateKeyOfIp } from '../client-ip.ts'
import type { ApiDeps } from '../deps.ts'
import { rateHeaders } from '../rate-limit.ts'
import { showPayment } from './service.ts'

/** Open streams of a process, and of one client in it. */
const STREAMS_MAX = 2_000
const STREAMS_PER_CLIENT_MAX = 50
/** Milliseconds between two signs of life: shorter than any idle timeout between us and the page. */
const HEARTBEAT_MS = 10_000
/** Milliseconds a stream lasts; the page's `EventSource` opens a new one by itself. */
const LIFETIME_MS = 60 * 60_000
/** Milliseconds after which a page that lost its stream tries again. */
const RETRY_MS = 3_000
/** Seconds after which a refused page may try again. */
const BUSY_RETRY_S = 10

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Proxies that collect answers before they pass them on (nginx) must not collect this one.
  'X-Accel-Buffering': 'no',
}

/** Open streams of this process by client. */
export type StreamCounts = Map<string, number>

/**
 * Server-sent events: the payment object at once and whenever it changed (contract section 8).
 * Errors: payment_not_found, rate_limited, unavailable.
 */
export async function streamPayment(
  deps: ApiDeps,
  paymentId: string,
  { clientIp, method }: { clientIp: string; method: string },
): Promise<Response> {
  const first = await showPayment(deps, paymentId)
  // The answer to HEAD has no body to wait for the end of.
  if (method === 'HEAD') return new Response(null, { headers: STREAM_HEADERS })
  const client = rateKeyOfIp(clientIp)
  if (deps.changes.count() >= STREAMS_MAX) fail('unavailable', { retryAfterSeconds: BUSY_RETRY_S })
  if ((deps.streams.get(client) ?? 0) >= STREAMS_PER_CLIENT_MAX) {
    const count = { limit: STREAMS_PER_CLIENT_MAX, requestCount: STREAMS_PER_CLIENT_MAX }
    const headers = rateHeaders({ ...count, resetSeconds: BUSY_RETRY_S })
    fail('rate_limited', { retryAfterSeconds: BUSY_RETRY_S, headers })
  }
  let close = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      close = openStream(deps, paymentId, client, first, controller)
    },
    cancel: () => close(),
  })
  return new Response(body, { headers: STREAM_HEADERS })
}

function openStream(
  deps: ApiDeps,
  paymentId: string,
  client: string,
  first: object,
  controller: ReadableStreamDefaultController<Uint8Array>,
): () => void {
  const encoder = new TextEncoder()
  let isOpen = true
  const send = (text: string) => {
    if (isOpen) controller.enqueue(encoder.encode(text))
  }
  let last = ''
  const show = (payment: object) => {
    const same = JSON.stringify({ ...payment, serverTime: undefined })
    if (same === last) return
    last = same
    send(`data: ${JSON.stringify(payment)}\n\n`)
  }
  const refresh = oneAtATime(async () => {
    try {
      show(await showPayment(deps, paymentId))
    } catch (error) {
      // The stream stays: the next change or poll shows the payment.
      deps.log.debug('a stream could not read its payment', { cause: error })
    }
  })

  const unwatch = deps.changes.watch(paymentId, { onChange: refresh, onEnd: () => end() })
  const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT_MS)
  const lifetime = setTimeout(() => end(), LIFETIME_MS)
  deps.streams.set(client, (deps.streams.get(client) ?? 0) + 1)
  const close = () => {
    if (!isOpen) return
    isOpen = false
    clearInterval(heartbeat)
    clearTimeout(lifetime)
    unwatch()
    const left = (deps.streams.get(client) ?? 1) - 1
    if (left > 0) deps.streams.set(client, left)
    else deps.streams.delete(client)
  }
  const end = () => {
    if (isOpen) controller.close()
    close()
  }
  send(`retry: ${RETRY_MS}\n\n`)
  show(first)
  return close
}

/** Runs `work` whenever asked, never twice at once; what is asked meanwhile is one more run. */
function oneAtATime(work: () => Promise<void>): () => void {
  let isRunning = false
  let isWanted = false
  const run = async () => {
    isRunning = true
    do {
      isWanted = false
      await work()
    } while (isWanted)
    isRunning = false
  }
  return () => {
    isWanted = true
    if (!isRunning) void run()
  }
}
