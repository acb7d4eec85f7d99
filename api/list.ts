import type { Mode } from '#shared/networks/registry.ts'
import { cursorBelow, type PageStart } from './pagination.ts'

/**
 * Rows that one page may pass over in search of those its filters ask for. Keeps a list's cost flat whatever it is
 * filtered by; a page that ends here is short, and says that there is more.
 */
export const SCANNED_MAX = 10_000

/** Searches made for a page while nothing is found: a page is only empty when 100,000 rows in a row were not wanted. */
const SEARCHES_MAX = 10

/** Sorts behind every id: ids are letters and digits of ASCII. */
const ABOVE_ALL_IDS = '~'

/** What a list's query is asked for: one mode, ids in [`from`, `before`), newest first. */
export type Stretch = { mode: Mode; from: string; before: string; limit: number }

/** What was found in a stretch. `scannedTo` is set when the search ended before the stretch did: the last id seen. */
export type Found<Row> = { rows: Row[]; scannedTo: string | undefined }

export type List<Row> = {
  /** Rows of a stretch, filtered; at most `limit`. */
  read(stretch: Stretch): Promise<Row[]>
  /**
   * The id of the {@link SCANNED_MAX}-th row of a stretch before filters; undefined when there are fewer. Absent when a
   * list has no filters but its mode.
   */
  readScanEnd?(stretch: Stretch): Promise<string | undefined>
  idOf(row: Row): string
}

/** Rows of one page, and where the next one begins; undefined at the end. */
export type Slice<Row> = { rows: Row[]; next: string | undefined }

/**
 * Reads a slice of a list that goes over several modes. Each mode is a stretch of an index of its own, so that the few
 * objects of one are found at once behind the many of another.
 */
export async function readSlice<Row>(
  list: List<Row>,
  modes: readonly Mode[],
  where: { before: string | undefined; from?: string | undefined; limit: number },
): Promise<Slice<Row>> {
  const { from = '', limit } = where
  let before = where.before ?? ABOVE_ALL_IDS
  for (let search = 1; ; search += 1) {
    const stretch = { from, before, limit: limit + 1 }
    const found = await Promise.all(modes.map((mode) => readStretch(list, { mode, ...stretch })))
    const slice = mergeFound(found, limit, list.idOf)
    const { rows, next } = slice
    if (rows.length > 0 || next === undefined || search === SEARCHES_MAX) return slice
    before = next
  }
}

async function readStretch<Row>(list: List<Row>, stretch: Stretch): Promise<Found<Row>> {
  const rows = await list.read(stretch)
  const isShort = rows.length < stretch.limit
  return { rows, scannedTo: isShort ? await list.readScanEnd?.(stretch) : undefined }
}

/** The newest `limit` rows of what was found, none older than where a search broke off. Pure. */
export function mergeFound<Row>(
  found: readonly Found<Row>[],
  limit: number,
  idOf: (row: Row) => string,
): Slice<Row> {
  // Below the newest place where a search broke off, rows of that mode may be missing.
  const edge =
    found
      .map(({ scannedTo }) => scannedTo ?? '')
      .sort()
      .at(-1) ?? ''
  const known = found
    .flatMap(({ rows }) => rows)
    .filter((row) => idOf(row) >= edge)
    .sort((a, b) => (idOf(a) > idOf(b) ? -1 : 1))
  const rows = known.slice(0, limit)
  const last = rows.at(-1)
  if (known.length > limit && last !== undefined) return { rows, next: idOf(last) }
  return { rows, next: edge === '' ? undefined : edge }
}

/** The wire form of a slice. */
export function sliceToPage<Row, Item>(
  start: PageStart,
  { rows, next }: Slice<Row>,
  view: (row: Row) => Item,
): { data: Item[]; hasMore: boolean; nextCursor: string | null } {
  return {
    data: rows.map(view),
    hasMore: next !== undefined,
    nextCursor: next === undefined ? null : cursorBelow(start, next),
  }
}
