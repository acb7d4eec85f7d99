import { type BlockList, isIP } from 'node:net'

/** Hops of `X-Forwarded-For` looked at, from the right: no honest chain of proxies is longer. */
const HOPS_MAX = 20

/**
 * Who is calling: the socket's address, or, when that is one of our proxies, the right-most hop of `X-Forwarded-For`
 * that is not. What stands further left is the caller's own claim.
 */
export function clientIp(
  socketAddress: string,
  forwardedFor: string | null,
  trustedProxies: BlockList,
): string {
  let address = unmap(socketAddress)
  if (forwardedFor === null || !isTrusted(address, trustedProxies)) return address
  const hops = forwardedFor.split(',').slice(-HOPS_MAX)
  for (let index = hops.length - 1; index >= 0; index -= 1) {
    const hop = unmap(stripPort(hops[index]?.trim() ?? ''))
    // A proxy that writes no address has told us nothing: the last one that did is the caller.
    if (isIP(hop) === 0) return address
    address = hop
    if (!isTrusted(hop, trustedProxies)) return hop
  }
  return address
}

/** By whom a rate is counted: an IPv4 address, or an IPv6 network of 64 bits, which one household has to itself. */
export function rateKeyOfIp(address: string): string {
  if (isIP(address) !== 6) return address
  return `${expand(address).slice(0, 4).join(':')}::/64`
}

function isTrusted(address: string, trustedProxies: BlockList): boolean {
  const version = isIP(address)
  return version !== 0 && trustedProxies.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** An IPv4 address that a dual-stack socket shows as `::ffff:1.2.3.4`; a zone (`fe80::1%eth0`) says nothing to others. */
function unmap(address: string): string {
  const bare = address.split('%', 1)[0] ?? ''
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)
  return mapped?.[1] ?? bare.toLowerCase()
}

/** `1.2.3.4:5678` and `[2001:db8::1]:5678`, as some proxies write them. */
function stripPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop)?.[1] ?? hop
}

/** The eight groups of an IPv6 address, in lower case without leading zeros. */
function expand(address: string): string[] {
  const [head = '', tail] = address.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  const groups = [...first, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...last]
  return groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}
