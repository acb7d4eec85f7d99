import { Buffer } from 'node:buffer'
import type { Log } from '#shared/log.ts'
import { RpcError } from './rpc-error.ts'
import { hostOf, type RpcAnswer, type RpcCall, RpcSocket } from './socket.ts'

/** A way to one provider. Rejects with `RpcError`; a JSON-RPC error is an answer. */
export type Transport = {
  host: string
  send(calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]>
  /** Takes what only the operator may see, the URL's path, query and user, out of a text. */
  scrub(text: string): string
  /** Calls under way reject with kind `stopped`. */
  stop(): void
}

/** Bytes of one answer, after decompression. Receipts of a full block are some 2 MB, a wide log range more. */
const BODY_BYTES_MAX = 32 * 1024 * 1024
/** Parts of a URL shorter than this are words such as `v2`, not keys. */
const SECRET_CHARACTERS_MIN = 5
/** Milliseconds between looks at a websocket that is just connecting. */
const SOCKET_POLL_MS = 20

/**
 * One transport per provider, in the operator's order: every http(s) URL, and a ws(s) URL where no http(s) URL has the
 * same hostname, since both would be the same node.
 */
export function openTransports(
  urls: readonly string[],
  options: { pingCall: RpcCall; log: Log },
): Transport[] {
  const isHttp = (url: string) => /^https?:/.test(url)
  const hostnames = new Set(urls.filter(isHttp).map((url) => new URL(url).hostname))
  return urls.flatMap((url) => {
    if (isHttp(url)) return [openHttp(url)]
    return hostnames.has(new URL(url).hostname) ? [] : [openWebsocket(url, options)]
  })
}

function openHttp(url: string): Transport {
  const { target, headers } = toRequest(url)
  const host = hostOf(url)
  const scrub = createScrub(url)
  const underWay = new Set<AbortController>()
  let isStopped = false
  let nextId = 1
  const exchange = async (body: string, timeoutMs: number) => {
    const abort = new AbortController()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      abort.abort()
    }, timeoutMs)
    underWay.add(abort)
    try {
      const init = {
        method: 'POST',
        headers,
        body,
        redirect: 'error',
        signal: abort.signal,
      } as const
      const response = await fetch(target, init)
      return await readAnswer(response, host)
    } catch (error) {
      if (error instanceof RpcError) throw error
      if (isStopped) throw new RpcError('stopped', `${host}: stopped`)
      if (isLate) throw new RpcError('timeout', `${host}: no answer in ${timeoutMs} ms`)
      throw new RpcError('network', `${host}: ${scrub(reasonOf(error))}`)
    } finally {
      clearTimeout(timer)
      underWay.delete(abort)
    }
  }
  return {
    host,
    scrub,
    async send(calls, timeoutMs) {
      const firstId = nextId
      nextId += calls.length
      const messages = calls.map(({ method, params }, index) => {
        return { jsonrpc: '2.0', id: firstId + index, method, params }
      })
      const body = JSON.stringify(messages.length === 1 ? messages[0] : messages)
      return toAnswers(await exchange(body, timeoutMs), calls.length, firstId, host)
    },
    stop() {
      isStopped = true
      for (const abort of underWay) abort.abort()
    },
  }
}

/** `fetch` refuses user and password in a URL: they go into a header. */
function toRequest(url: string): { target: string; headers: Record<string, string> } {
  const target = new URL(url)
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (target.username !== '' || target.password !== '') {
    const user = `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}`
    headers['authorization'] = `Basic ${Buffer.from(user).toString('base64')}`
    target.username = ''
    target.password = ''
  }
  return { target: target.href, headers }
}

/** Everything of a URL but its scheme and host may be a key. */
function createScrub(url: string): (text: string) => string {
  const { pathname, search, searchParams, username, password } = new URL(url)
  const parts = [url, pathname, search, username, password]
  const secrets = [...parts, ...pathname.split('/'), ...searchParams.values()]
    .filter((part) => part.length >= SECRET_CHARACTERS_MIN)
    .sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((safe, secret) => safe.replaceAll(secret, '…'), text)
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? code : String(message)
}

/** A body whose length is told, and bounded, is left to the runtime: that is thrice as fast as piece by piece. */
async function readAnswer(response: Response, host: string): Promise<unknown> {
  const { headers } = response
  const isPlain = !headers.has('content-encoding')
  const size = isPlain ? Number(headers.get('content-length') ?? Number.NaN) : Number.NaN
  if (size > BODY_BYTES_MAX) {
    await response.body?.cancel()
    throw tooLarge(host)
  }
  const text = size <= BODY_BYTES_MAX ? await response.text() : await readBody(response, host)
  return parse(text, response, host)
}

function tooLarge(host: string): RpcError {
  return new RpcError('too_large', `${host}: answered over ${BODY_BYTES_MAX} bytes`)
}

async function readBody(response: Response, host: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > BODY_BYTES_MAX) throw tooLarge(host)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Statuses under which nodes send a JSON-RPC error that is about the call and not about the node. */
const STATUSES_OF_ANSWERS = new Set([200, 400, 422])

/** The JSON of an answer; throws for every status that says the provider, not the call, is at fault. */
function parse(text: string, response: Response, host: string): unknown {
  const { status, headers } = response
  if (status === 429 || (status === 503 && headers.has('retry-after'))) {
    const retryAfterMs = readRetryAfter(headers.get('retry-after'))
    throw new RpcError('rate_limited', `${host}: HTTP ${status}`, { code: status, retryAfterMs })
  }
  if (status === 413) throw new RpcError('too_large', `${host}: HTTP 413`)
  if (!STATUSES_OF_ANSWERS.has(status)) {
    throw new RpcError('http', `${host}: HTTP ${status}`, { code: status })
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new RpcError('malformed', `${host}: HTTP ${status} without JSON`, { code: status })
  }
}

/** RFC 9110, 10.2.3: seconds, or a date, which is not used since it would need both clocks to agree. */
function readRetryAfter(value: string | null): number | undefined {
  return value !== null && /^\d{1,6}$/.test(value) ? Number(value) * 1_000 : undefined
}

function toAnswers(json: unknown, count: number, firstId: number, host: string): RpcAnswer[] {
  const answers: RpcAnswer[] = []
  if (!Array.isArray(json)) {
    const answer = toAnswer(json)
    // A node may refuse a whole batch with one error, often without an id.
    if (answer && 'error' in answer) return new Array(count).fill(answer)
    if (answer && count === 1 && (json as { id?: unknown }).id === firstId) return [answer]
    throw new RpcError('malformed', `${host}: no JSON-RPC answer`)
  }
  for (const one of json) {
    const answer = toAnswer(one)
    const index = Number((one as { id?: unknown } | null)?.id) - firstId
    if (answer && index >= 0 && index < count) answers[index] = answer
  }
  for (let index = 0; index < count; index += 1) {
    if (!answers[index]) throw new RpcError('malformed', `${host}: left a call unanswered`)
  }
  return answers
}

function toAnswer(json: unknown): RpcAnswer | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  if ('error' in json && json.error !== null) return { error: json.error }
  return 'result' in json ? { result: json.result } : undefined
}

function openWebsocket(url: string, options: { pingCall: RpcCall; log: Log }): Transport {
  const host = hostOf(url)
  let socket: RpcSocket | undefined
  let isStopped = false
  return {
    host,
    scrub: createScrub(url),
    async send(calls, timeoutMs) {
      const deadline = performance.now() + timeoutMs
      // Opened with the first call: a provider that is only a reserve keeps no connection.
      if (!isStopped) socket ??= new RpcSocket({ urls: [url], ...options })
      while (!socket?.isReady && performance.now() < deadline && !isStopped) {
        await new Promise((done) => setTimeout(done, SOCKET_POLL_MS))
      }
      if (!socket || isStopped) throw new RpcError('stopped', `${host}: stopped`)
      return socket.send(calls, Math.max(0, deadline - performance.now()))
    },
    stop() {
      isStopped = true
      socket?.stop()
    },
  }
}
