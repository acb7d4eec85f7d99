import { BlockList, isIP } from 'node:net'

/** Longest webhook URL taken, in characters. */
export const WEBHOOK_URL_LENGTH_MAX = 2_048

/** Either a URL that may be called, in its normal form and without fragment, or why not. */
export type CheckedUrl =
  | { readonly ok: true; readonly url: string }
  | { readonly ok: false; readonly reason: string }

/**
 * IPv4 ranges nobody on the public internet answers from, by RFC 6890 and IANA's special-purpose
 * registry. Clouds put their metadata into 169.254/16, 100.64/10 and 192.0.0/24; Azure's is the one
 * public-looking address at the end.
 */
const BLOCKED_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['168.63.129.16', 32],
]

/**
 * Of IPv6 only global unicast (2000::/3) is reachable at all, which leaves out loopback, v4-mapped,
 * NAT64, unique local, link-local and multicast in one rule. These parts of it are special too:
 * IETF protocols with Teredo and ORCHID, documentation, 6to4, and the second documentation range.
 */
const GLOBAL_UNICAST_IPV6 = ['2000::', 3] as const
const BLOCKED_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

/**
 * Ports from 1024 on where no web server listens but another protocol might take an HTTP request
 * for commands: the "bad ports" of the WHATWG Fetch standard, and common databases and brokers.
 */
const BAD_PORTS: ReadonlySet<number> = new Set([
  1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 3306, 3659, 4045, 4190, 5060, 5061, 5432,
  5672, 5984, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 9092, 9200, 10080,
  11211, 27017,
])

const blockedIpv4 = blockListOf(BLOCKED_IPV4, 'ipv4')
const blockedIpv6 = blockListOf(BLOCKED_IPV6, 'ipv6')
const globalUnicastIpv6 = blockListOf([GLOBAL_UNICAST_IPV6], 'ipv6')

/**
 * Whether webhooks must not be sent to this IP address: private, loopback, link-local, carrier NAT,
 * metadata, documentation, multicast, reserved, or an IPv6 form that wraps an IPv4 address.
 *
 * @param ip dotted IPv4 or IPv6 without brackets; anything else counts as blocked
 */
export function isBlockedAddress(ip: string): boolean {
  if (ip.includes('%')) return true
  const family = isIP(ip)
  if (family === 4) return blockedIpv4.check(ip, 'ipv4')
  if (family === 6) return !globalUnicastIpv6.check(ip, 'ipv6') || blockedIpv6.check(ip, 'ipv6')
  return true
}

/**
 * Checks what can be told about a webhook URL without asking DNS: scheme, user info, port and an
 * address written as host, in any notation (the URL parser turns decimal, octal and hex into
 * dotted). A name still has to be resolved and every address of it checked.
 *
 * @param options.allowPrivate `WEBHOOK_ALLOW_PRIVATE`: also http, any port and private addresses
 */
export function checkWebhookUrl(
  text: string,
  options: { readonly allowPrivate: boolean },
): CheckedUrl {
  if (text.length > WEBHOOK_URL_LENGTH_MAX) {
    return refuse(`must be at most ${WEBHOOK_URL_LENGTH_MAX} characters`)
  }
  const url = URL.parse(text)
  if (url === null) return refuse('must be an absolute URL')
  const isHttp = url.protocol === 'http:'
  if (url.protocol !== 'https:' && !(isHttp && options.allowPrivate)) {
    return refuse('must begin with https://')
  }
  if (url.username !== '' || url.password !== '') {
    return refuse('must not contain a user name or password')
  }
  const host = hostOf(url)
  if (host === '') return refuse('must name a host')
  if (url.port === '0') return refuse('must not use port 0')
  if (!options.allowPrivate) {
    if (!isSanePort(url.port)) return refuse('must use port 443 or another port of a web server')
    if (isLocalName(host) || (isIP(host) !== 0 && isBlockedAddress(host))) {
      return refuse('must not point to a private, loopback, link-local or metadata address')
    }
  }
  url.hash = ''
  return { ok: true, url: url.href }
}

/** Host of a URL as a name or a bare IP address: no brackets, no trailing dot. */
export function hostOf(url: URL): string {
  const host = url.hostname
  if (host.startsWith('[')) return host.slice(1, -1)
  return host.endsWith('.') ? host.slice(0, -1) : host
}

function isSanePort(port: string): boolean {
  if (port === '' || port === '80' || port === '443') return true
  const number = Number(port)
  return number >= 1024 && !BAD_PORTS.has(number)
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}

function refuse(reason: string): CheckedUrl {
  return { ok: false, reason }
}

function blockListOf(
  ranges: readonly (readonly [string, number])[],
  family: 'ipv4' | 'ipv6',
): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}
