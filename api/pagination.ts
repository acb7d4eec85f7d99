import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { type TSchema, Type } from '@sinclair/typebox'
import { fail } from '#shared/errors.ts'

/** Rows of a page when the caller names no limit, and at most. */
const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
/** Longest cursor that is looked at, in characters. */
const CURSOR_LENGTH_MAX = 300

/** Spread into a list's query schema: `Type.Object({ ...PAGE_QUERY, status: … }, { additionalProperties: false })`. */
export const PAGE_QUERY = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX })),
  cursor: Type.Optional(Type.String({ maxLength: CURSOR_LENGTH_MAX })),
}

/** The wire form of a list of `item`. */
export function pageSchema<T extends TSchema>(item: T) {
  return Type.Object({
    data: Type.Array(item),
    hasMore: Type.Boolean(),
    nextCursor: Type.Union([Type.String(), Type.Null()]),
  })
}

/** Where a page begins and how long it is. Queries take `limit + 1` rows with an id below `before`, newest first. */
export type PageStart = {
  limit: number
  /** Undefined on the first page. */
  before: string | undefined
  scope: string
}

/**
 * Reads where a page begins. `filters` is everything that the list depends on, its store and modes included: a cursor is
 * good for the same list only, and another one's is refused as `invalid_request`.
 */
export function readPage(
  query: { limit?: number; cursor?: string },
  filters: Readonly<Record<string, unknown>>,
): PageStart {
  const scope = digest(filters)
  const limit = query.limit ?? LIMIT_DEFAULT
  if (query.cursor === undefined) return { limit, before: undefined, scope }
  const text = Buffer.from(query.cursor, 'base64url').toString('utf8')
  const [, cursorScope, id] = /^([0-9a-f]{16}):([a-z]+_[0-9a-z]{1,75})$/.exec(text) ?? []
  if (id === undefined || cursorScope !== scope || encode(scope, id) !== query.cursor) {
    fail('invalid_request', {
      message: 'This cursor does not belong to this list. Begin again without one.',
      param: 'cursor',
    })
  }
  return { limit, before: id, scope }
}

/** A page of at most `limit` of the rows found, which are one more than that when there is a next page. */
export function toPage<Row, Item>(
  start: PageStart,
  rows: readonly Row[],
  idOf: (row: Row) => string,
  view: (row: Row) => Item,
): { data: Item[]; hasMore: boolean; nextCursor: string | null } {
  const shown = rows.slice(0, start.limit)
  const last = shown.at(-1)
  const hasMore = rows.length > start.limit && last !== undefined
  return {
    data: shown.map(view),
    hasMore,
    nextCursor: hasMore ? encode(start.scope, idOf(last)) : null,
  }
}

/** The cursor of the page that begins below `id`. */
export function cursorBelow(start: PageStart, id: string): string {
  return encode(start.scope, id)
}

function encode(scope: string, id: string): string {
  return Buffer.from(`${scope}:${id}`).toString('base64url')
}

function digest(filters: Readonly<Record<string, unknown>>): string {
  const known = Object.entries(filters).filter(([, value]) => value !== undefined)
  const text = JSON.stringify(known.sort(([one], [other]) => (one < other ? -1 : 1)))
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
