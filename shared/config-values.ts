import { Buffer } from 'node:buffer'
import { BlockList, isIP } from 'node:net'
import { readServers } from '#shared/db/servers.ts'
import { isDecodable } from '#shared/decodable.ts'
import { LOG_LEVELS, type LogLevel } from '#shared/log.ts'
import { parseMailAddress } from '#shared/mail-address.ts'

/** How a variable is written: `parse` answers undefined to what is not of the form. */
export type Format<T> = { shouldBe: string; parse: (text: string) => T | undefined }

/** Octets of an AES-256 key. */
const ENCRYPTION_KEY_LENGTH = 32

export const POSTGRES_URL: Format<string> = {
  shouldBe:
    'a URL such as postgres://user:password@host:5432/database, escaped with %; sslmode in it is disable, require or verify-full',
  parse: (text) => (readServers(text).length > 0 ? text : undefined),
}

export const SMTP_URL: Format<string> = {
  shouldBe: 'a URL that begins with smtp:// or smtps:// and names a host, escaped with %',
  parse: (text) => (isUrl(text, ['smtp:', 'smtps:']) ? text : undefined),
}

export const PROXY_URL: Format<string> = {
  shouldBe: 'a URL that begins with http:// and names a host, escaped with %',
  parse: (text) => (isUrl(text, ['http:']) ? text : undefined),
}

/** Links are made by appending a path, hence no slash, query or fragment at the end. */
export const PUBLIC_URL: Format<string> = {
  shouldBe:
    'a URL that begins with http:// or https://, without slash, query, fragment or user at its end',
  parse: (text) => {
    if (!isUrl(text, ['http:', 'https:']) || /[\s?#]|\/$/.test(text)) return undefined
    const { username, password } = new URL(text)
    return username === '' && password === '' ? text : undefined
  },
}

export const HOST: Format<string> = {
  shouldBe: 'a host name or an IP address without brackets',
  parse: (text) =>
    isIP(text) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text) ? text : undefined,
}

/** 0 asks the system for a free port. */
export const PORT = wholeNumber(0, 65_535)

export const MAIL_ADDRESS: Format<string> = {
  shouldBe: 'one mail address, without a name around it',
  parse: parseMailAddress,
}

export const SWITCH: Format<boolean> = {
  shouldBe: '1 (on) or 0 (off)',
  parse: (text) => (text === '1' ? true : text === '0' ? false : undefined),
}

export const LOG_LEVEL: Format<LogLevel> = oneOf(LOG_LEVELS)

export const ENCRYPTION_KEY: Format<Uint8Array> = {
  shouldBe: `${ENCRYPTION_KEY_LENGTH} bytes in base64, as \`openssl rand -base64 ${ENCRYPTION_KEY_LENGTH}\` writes them`,
  parse: (text) => {
    const key = Buffer.from(text, 'base64')
    // The decoder skips what is not base64: only what encodes back to itself was really a key.
    return key.length === ENCRYPTION_KEY_LENGTH && key.toString('base64') === text
      ? new Uint8Array(key)
      : undefined
  },
}

/** Addresses and networks as one list to check a peer against; an address alone is a network of one. */
export const CIDRS: Format<BlockList> = {
  shouldBe: 'networks such as 10.0.0.0/8 or fd00::/8, separated by commas',
  parse: (text) => {
    const list = new BlockList()
    for (const part of text.split(',')) {
      const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part.trim()) ?? []
      const version = isIP(address)
      const prefixMax = version === 4 ? 32 : 128
      if (version === 0 || Number(prefix ?? 0) > prefixMax) return undefined
      list.addSubnet(address, Number(prefix ?? prefixMax), version === 4 ? 'ipv4' : 'ipv6')
    }
    return list
  },
}

export function wholeNumber(min: number, max: number): Format<number> {
  return {
    shouldBe: `a whole number from ${min} to ${max}`,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
  }
}

export function oneOf<const T extends string>(words: readonly T[]): Format<T> {
  return { shouldBe: words.join(' or '), parse: (text) => words.find((word) => word === text) }
}

function isUrl(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  return protocols.includes(protocol) && hostname !== '' && [username, password].every(isDecodable)
}
