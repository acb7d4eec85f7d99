import { Buffer } from 'node:buffer'
import { type TSchema, Type } from '@sinclair/typebox'
import { type ErrorCode, fail } from '#shared/errors.ts'
import { type IdPrefix, isId } from '#shared/ids.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import { TOKENS } from '#shared/networks/names.ts'
import { oneOf } from './words.ts'

/** Contract section 1. */
const METADATA_KEYS_MAX = 20
/** UTF-8 bytes of metadata as JSON (contract section 1). */
export const METADATA_BYTES_MAX = 2_048
/** What a seller may ask for one thing, in cents: what an open amount may be (contract section 1). */
const AMOUNT_CENTS_MAX = 100_000_000
/** Characters of a URL: what every browser and proxy takes. */
const URL_LENGTH_MAX = 2_048
/** Longest mail address that is looked at, in characters. */
const MAIL_LENGTH_MAX = 254

const SPACE_OR_CONTROL = /[\s\p{Cc}]/u

/** A field that may be emptied again by sending null. */
export function clearable<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

export const TokenName = oneOf(TOKENS)
export const AmountCents = Type.Integer({
  minimum: 1,
  maximum: AMOUNT_CENTS_MAX,
  description: 'US cents',
})
export const UrlText = Type.String({ maxLength: URL_LENGTH_MAX, description: 'http or https' })
export const MailText = Type.String({ maxLength: MAIL_LENGTH_MAX })
/** Seller's or buyer's own data: text by text. Its bytes are counted where it is used. */
export const Metadata = Type.Record(Type.String(), Type.String(), {
  maxProperties: METADATA_KEYS_MAX,
})

/** Refuses what cannot be an id exactly as an id that nobody has: nothing else of a path reaches a query. */
export function checkId(prefix: IdPrefix, text: string, code: ErrorCode): void {
  if (!isId(prefix, text)) fail(code)
}

/** Refuses metadata over its bytes; the schema has counted the keys. Error: invalid_request. */
export function checkMetadata(metadata: Record<string, string> | null | undefined): void {
  if (metadata && Buffer.byteLength(JSON.stringify(metadata), 'utf8') > METADATA_BYTES_MAX) {
    fail('invalid_request', {
      message: 'Metadata holds at most 20 keys and 2,048 bytes of JSON.',
      param: 'metadata',
    })
  }
}

/** Refuses what is no absolute http or https URL, or carries a password. Error: invalid_request. */
export function checkUrl(text: string | null | undefined, param: string): void {
  if (text === null || text === undefined) return
  // The parser passes over spaces and control characters, inside the scheme too; a header or a page does not.
  const url = SPACE_OR_CONTROL.test(text) || !URL.canParse(text) ? undefined : new URL(text)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!isWeb || url.username !== '' || url.password !== '') {
    fail('invalid_request', { message: 'This should be an http or https URL.', param })
  }
}

/** One mail address in lower case; undefined when there is none. Error: invalid_request. */
export function readMailAddress(text: string | undefined, param: string): string | undefined {
  if (text === undefined) return undefined
  return (
    parseMailAddress(text) ??
    fail('invalid_request', { message: 'This should be one mail address.', param })
  )
}

/** The field when it has a value, and nothing otherwise: what is absent is absent, not null (contract section 1). */
export function whenSet<K extends string, V>(
  name: K,
  value: V | null | undefined,
): { [Name in K]?: V } {
  return (value === null || value === undefined ? {} : { [name]: value }) as { [Name in K]?: V }
}
