import { checkWebhookUrl, hostOf } from '#shared/outbound-address.ts'
import { type Lookup, resolveOutbound } from '#shared/outbound-resolve.ts'
import { ConnectionError, type ConnectionFault, createConnections } from './connections.ts'
import { proxyOf } from './tunnel.ts'

/** One attempt from its first step to the last byte of the answer, in milliseconds. Spec section 6. */
export const ATTEMPT_TIMEOUT_MS = 15_000
/** Addresses of one name that are tried in one attempt, a count. */
export const ADDRESS_TRIED_COUNT_MAX = 3
/** What receivers see as the sender. */
export const USER_AGENT = 'stablecoin-payments/1 (webhooks)'

/** One POST to a seller's endpoint. */
export type PostRequest = {
  readonly url: string
  /** `X-Service-Event`. */
  readonly eventType: string
  /** `X-Service-Delivery`: the event's id. */
  readonly eventId: string
  /** `X-Service-Signature`, made for this attempt and these bytes. */
  readonly signature: string
  readonly body: Uint8Array
}

/** Why an attempt got no answer, as the seller reads it in the attempt's `error`. */
export type PostFault = ConnectionFault | 'bad_url' | 'unresolvable' | 'blocked_address'

/** What came of one POST. Any 2xx is success, a redirect is an answer like others. */
export type PostResult =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly retryAfter: string | null
      /** First KiB of the body as it came, never decompressed. */
      readonly body: Uint8Array
    }
  | { readonly kind: 'failed'; readonly fault: PostFault; readonly cause?: unknown }

/** Posts webhooks to addresses that were vetted for each attempt. */
export type Poster = {
  post(request: PostRequest): Promise<PostResult>
  /** Ends every connection; running posts fail. */
  close(): void
}

/**
 * Makes the one way out for webhooks. An own small HTTP/1.1 client over `node:net` and `node:tls`,
 * because `fetch` and `node:http` pool connections by name and skip a custom lookup on reuse: here
 * the address that was checked is the address connected to, always.
 *
 * @param deps.allowPrivate `WEBHOOK_ALLOW_PRIVATE`
 * @param deps.egressProxy `EGRESS_PROXY`; connections are tunnelled to the vetted address
 * @param deps.lookup the resolver; the system's unless told otherwise
 * @param deps.trustedCa PEM to trust instead of the system's certificates
 * @param deps.attemptTimeoutMs the 15 s of the spec unless told otherwise
 */
export function createPoster(deps: {
  readonly allowPrivate: boolean
  readonly egressProxy?: string | null
  readonly lookup?: Lookup
  readonly trustedCa?: string
  readonly attemptTimeoutMs?: number
}): Poster {
  const connections = createConnections({
    ...(deps.trustedCa === undefined ? {} : { trustedCa: deps.trustedCa }),
    ...(deps.egressProxy ? { proxy: proxyOf(deps.egressProxy) } : {}),
  })
  const timeoutMs = deps.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS

  async function exchange(request: PostRequest, signal: AbortSignal): Promise<PostResult> {
    const checked = checkWebhookUrl(request.url, deps)
    if (!checked.ok) return { kind: 'failed', fault: 'bad_url', cause: checked.reason }
    const url = new URL(checked.url)
    const name = hostOf(url)
    const resolved = await resolveOutbound(name, deps)
    if (!resolved.ok) return { kind: 'failed', fault: resolved.error }
    const bytes = requestBytes(url, request)
    const isTls = url.protocol === 'https:'
    const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
    let last: ConnectionError | null = null
    for (const address of resolved.addresses.slice(0, ADDRESS_TRIED_COUNT_MAX)) {
      try {
        const target = { address, port, name, isTls }
        const { status, retryAfter, body } = await connections.exchange(target, bytes, signal)
        return { kind: 'answered', status, retryAfter, body }
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error
        last = error
        if (error.fault !== 'connect') break
      }
    }
    return { kind: 'failed', fault: last?.fault ?? 'connect', cause: last?.cause }
  }

  return {
    async post(request) {
      const limit = new AbortController()
      const timer = setTimeout(() => limit.abort(), timeoutMs)
      try {
        return await exchange(request, limit.signal)
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => connections.close(),
  }
}

/** The request as it goes over the wire, in one piece so that it is one write. */
function requestBytes(url: URL, request: PostRequest): Uint8Array {
  const head =
    `POST ${url.pathname}${url.search} HTTP/1.1\r\n` +
    `Host: ${url.host}\r\n` +
    `User-Agent: ${USER_AGENT}\r\n` +
    'Accept: */*\r\n' +
    'Accept-Encoding: identity\r\n' +
    'Content-Type: application/json\r\n' +
    `Content-Length: ${request.body.byteLength}\r\n` +
    `X-Service-Event: ${headerValue(request.eventType)}\r\n` +
    `X-Service-Delivery: ${headerValue(request.eventId)}\r\n` +
    `X-Service-Signature: ${headerValue(request.signature)}\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), request.body])
}

/** Ours are plain ASCII; anything else would be a way to write headers of one's own. */
function headerValue(value: string): string {
  if (!/^[\x20-\x7e]+$/.test(value)) throw new RangeError('a header value with control characters')
  return value
}
