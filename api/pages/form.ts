import { fail } from '#shared/errors.ts'
import { readBytes } from '../body.ts'

/** Octets of a form of ours: a token, a password of a kilobyte, all of it percent-encoded. */
const FORM_BYTES_MAX = 8 * 1024
/** Characters of a field; the longest is a password. */
const FIELD_LENGTH_MAX = 2_048

/** A submitted form: a field that is missing, doubled, too long or not storable reads as empty. */
export type Form = { text(name: string): string }

/** Reads a form as browsers send it. Errors: payload_too_large, unsupported_media_type, invalid_request. */
export async function readForm(request: Request): Promise<Form> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/x-www-form-urlencoded') fail('unsupported_media_type')
  const bytes = await readBytes(request)
  if (bytes.length > FORM_BYTES_MAX) fail('payload_too_large')
  return toForm(new URLSearchParams(new TextDecoder().decode(bytes)))
}

/** What stands behind the question mark, read like a form. */
export function readQuery(request: Request): Form {
  return toForm(new URL(request.url).searchParams)
}

function toForm(fields: URLSearchParams): Form {
  return {
    text(name) {
      const [value = '', ...others] = fields.getAll(name)
      const isFine = others.length === 0 && value.length <= FIELD_LENGTH_MAX
      // Postgres takes no NUL in a text.
      return isFine && !value.includes('\u0000') ? value : ''
    },
  }
}
