import { assert } from '#shared/assert.ts'
import { isDecodable } from '#shared/decodable.ts'

/** One server of a Postgres URL. */
export type PostgresServer = {
  /** A name or an address, that of IPv6 without brackets. */
  readonly host: string
  readonly port: number
  /** The same URL with this server alone: what understands no list is told one after the other. */
  readonly url: string
}

const PORT_DEFAULT = 5432
/** What both drivers understand alike; `prefer` and `allow` would be two things to them. */
const SSL_MODES = ['disable', 'require', 'verify-full']

/** Up to the hosts, the hosts, what follows them. A password with a slash is to be escaped, as in every URL. */
const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^\s/?#]*@)?)([^\s/?#@]*)((?:\/[^\s?#]*)?(?:\?[^\s#]*)?)$/

/**
 * The servers of a Postgres URL in the order in which they are tried, as in `postgres://user:password@a:5432,[::1]:5433/x`.
 * Empty when it is no such URL: the drivers would show one that they cannot read with the password in it.
 */
export function readServers(text: string): PostgresServer[] {
  const [, before = '', hosts = '', after = ''] = SHAPE.exec(text) ?? []
  if (before === '' || text === before) return []
  const servers = hosts.split(',').map((host) => readServer(before + host + after))
  const isWhole = servers.every((server) => server !== undefined)
  return isWhole && (hosts === '' || !hosts.split(',').includes('')) ? servers : []
}

/** The same as options of our driver, which would not find an IPv6 address in the URL; its types do not declare the lists. */
export function addressesOf(url: string): object {
  const servers = readServers(url)
  assert(servers.length > 0, 'a database is named by a Postgres URL')
  return { host: servers.map(({ host }) => host), port: servers.map(({ port }) => port) }
}

function readServer(text: string): PostgresServer | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const sslMode = url.searchParams.get('sslmode')
  if (sslMode !== null && !SSL_MODES.includes(sslMode)) return undefined
  if (![url.username, url.password, url.pathname].every(isDecodable)) return undefined
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1') || 'localhost'
  return { host, port: Number(url.port || PORT_DEFAULT), url: text }
}
