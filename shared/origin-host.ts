import { isIPv4 } from 'node:net'

/** Why an `Origin` header names no host that a page could have been opened from. */
export type OriginRefusal = 'missing' | 'opaque' | 'malformed'

/** Longest host name (RFC 1035 section 3.1), in characters. */
const HOST_LENGTH_MAX = 253
/** A scheme, a host and a port; longer is not an origin. In characters. */
const ORIGIN_LENGTH_MAX = HOST_LENGTH_MAX + 32

/**
 * The host of an `Origin` header, lower case, in ASCII (punycode) form, without port and trailing dot;
 * or why there is none. A browser sends `scheme://host[:port]` and nothing else (RFC 6454 section 7), so
 * user info, a path or white space is malformed; `null` is the opaque origin of sandboxed pages and files.
 */
export function parseOriginHost(
  header: string | null | undefined,
): { host: string } | { refusal: OriginRefusal } {
  if (header === null || header === undefined || header === '') return { refusal: 'missing' }
  if (header === 'null') return { refusal: 'opaque' }
  if (header.length > ORIGIN_LENGTH_MAX || !/^https?:\/\/[^\s/?#@\\,%]+$/i.test(header)) {
    return { refusal: 'malformed' }
  }
  const host = URL.canParse(header) ? normalizeHost(new URL(header).hostname) : undefined
  return host === undefined ? { refusal: 'malformed' } : { host }
}

/**
 * The same form of a host that a seller names, such as `Example.com` or `shop.example.com.`; undefined
 * when it is not a host alone. Letters beyond ASCII become punycode.
 */
export function parseHost(text: string): string | undefined {
  if (text.length > HOST_LENGTH_MAX + 1 || /[\s/?#@\\,%]/.test(text)) return undefined
  // A port would be dropped silently: a rule for `a.example:8080` would then cover all of `a.example`.
  if (/:\d*$/.test(text) && !text.endsWith(']')) return undefined
  const url = `http://${text}`
  return URL.canParse(url) ? normalizeHost(new URL(url).hostname) : undefined
}

/** Whether rejecting `rejectedHost` rejects `host`: the same one or a sub-domain of it. Both parsed. */
export function isRejectedBy(host: string, rejectedHost: string): boolean {
  // An address has no parent domains: 1.2.3.4 must not fall to a rule for `4` or `3.4`.
  return host === rejectedHost || (!isIPv4(host) && host.endsWith(`.${rejectedHost}`))
}

/** The hosts whose rejection rejects this one: itself and each parent domain, nearest first. */
export function rejectingHosts(host: string): string[] {
  if (isIPv4(host) || host.startsWith('[')) return [host]
  const labels = host.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}

function normalizeHost(hostname: string): string | undefined {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  const isName = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host)
  const isIpv6 = /^\[[0-9a-f:.]+\]$/.test(host)
  return host.length <= HOST_LENGTH_MAX && (isName || isIpv6) ? host : undefined
}
