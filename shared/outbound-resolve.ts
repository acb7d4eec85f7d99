import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isBlockedAddress } from './outbound-address.ts'

/** How long a name may take to resolve, in milliseconds, before it counts as unresolvable. */
export const RESOLVE_TIMEOUT_MS = 5_000
/** Most addresses of one name that are looked at; a name with more is cut, never left unchecked. */
export const ADDRESS_COUNT_MAX = 32

/** Every address of a name, in the system's order of preference. Throws when there is none. */
export type Lookup = (name: string) => Promise<readonly string[]>

/** Addresses that may all be connected to, or why none may. */
export type Resolved =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly error: 'unresolvable' | 'blocked_address' }

/** Asks the system's resolver, hosts file included, as an ordinary client would. */
export const lookupBySystem: Lookup = async (name) => {
  const found = await systemLookup(name, { all: true, verbatim: true })
  return found.map((entry) => entry.address)
}

/**
 * Resolves the host of a webhook URL and refuses it when *any* of its addresses is one that
 * webhooks must not reach: a name that answers with a public and a private address is an attack.
 *
 * @param host a name, or an IP address without brackets (which is only checked)
 * @param options.allowPrivate `WEBHOOK_ALLOW_PRIVATE`: every address will do
 */
export async function resolveOutbound(
  host: string,
  options: { readonly allowPrivate: boolean; readonly lookup?: Lookup },
): Promise<Resolved> {
  const addresses = isIP(host) ? [host] : await lookUp(host, options.lookup ?? lookupBySystem)
  if (addresses.length === 0) return { ok: false, error: 'unresolvable' }
  if (!options.allowPrivate && addresses.some(isBlockedAddress)) {
    return { ok: false, error: 'blocked_address' }
  }
  return { ok: true, addresses: addresses.slice(0, ADDRESS_COUNT_MAX) }
}

/** A resolver's failure is an answer here: there is no address, whatever the resolver's words. */
async function lookUp(name: string, lookup: Lookup): Promise<readonly string[]> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), RESOLVE_TIMEOUT_MS)
  })
  try {
    return await Promise.race([lookup(name).catch(() => []), late])
  } finally {
    clearTimeout(timer)
  }
}
