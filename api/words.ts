import { Type } from '@sinclair/typebox'
import { fail } from '#shared/errors.ts'
import { MODES } from '#shared/networks/names.ts'

/** Longest id that is looked at, in characters. */
const ID_LENGTH_MAX = 200

/** Sorts after every id: where a list's first page begins. */
export const LAST_ID = '~'

/** A schema of exactly these words. */
export function oneOf<T extends string>(words: readonly T[]) {
  return Type.Union(words.map((word) => Type.Literal(word)))
}

export const ModeWord = oneOf(MODES)

/** A time as it goes out. */
export const Time = Type.String({ description: 'RFC 3339, UTC' })
export const TimeOrNull = Type.Union([Time, Type.Null()])

/** Somebody's reference to an object. What has not its shape is unknown, not malformed. */
export const Reference = Type.String({ maxLength: ID_LENGTH_MAX })

/**
 * A name that people read: not blank, and without what would break a line or turn its direction (control characters,
 * line and paragraph separators, bidirectional overrides and isolates).
 */
export function displayText(lengthMax: number) {
  return Type.String({
    minLength: 1,
    maxLength: lengthMax,
    pattern:
      '^(?=[\\s\\S]*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]+$',
    shouldBe: `a text of 1 to ${lengthMax} characters on one line`,
  })
}

/** RFC 3339 section 5.6; a space in the plus sign's place is what a query string makes of one that was not escaped. */
const RFC3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+ -]\d{2}:\d{2})$/

/** Longest time that is looked at, in characters: nanoseconds and an offset. */
export const TimeInput = Type.String({ maxLength: 35, description: 'RFC 3339 with an offset or Z' })

/** Reads a time of RFC 3339, to the millisecond. Error: invalid_request, naming `param`. */
export function parseTime(text: string, param: string): Date {
  const [, date, clock, zone] = RFC3339.exec(text) ?? []
  const time = new Date(`${date}T${clock}${zone?.toUpperCase().replace(' ', '+')}`)
  // Some parsers take 30 February for 2 March.
  const isDay = new Date(`${date}T00:00:00Z`).toJSON()?.startsWith(date ?? '-') === true
  // What Postgres reads as a Date writes it: an offset may lead beyond these years.
  const year = time.getUTCFullYear()
  if (!isDay || !(year >= 1 && year <= 9_999)) {
    fail('invalid_request', {
      message: 'This should be a time such as 2026-07-02T15:04:05Z.',
      param,
    })
  }
  return time
}
