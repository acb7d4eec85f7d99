import type { RangeWithTransfers } from './driver.ts'
import type { Readers } from './evm-audit.ts'
import { type By, type Reader, readRange, retrying } from './evm-read.ts'
import { createSpan } from './evm-span.ts'

type Reading = By<Required<RangeWithTransfers>>
type Ahead = { from: number; to: number; reading: Promise<Reading | undefined> }

/** Ranges this near to the head are not read ahead: their blocks may still be replaced. */
const AHEAD_BLOCKS_MIN = 32

/**
 * Reads ranges one after the other, the next one already while the last is being stored: node and database work at the
 * same time. What was read ahead chains itself by its parent's hash; it is dropped when another range is asked for.
 */
export function createRangeReader(
  reader: Reader,
  readers: Readers,
  headNumber: () => number,
): (from: number, to: number) => Promise<RangeWithTransfers> {
  const span = createSpan()
  let ahead: Ahead | undefined

  const read = (from: number, to: number): Promise<Reading> =>
    span.read(from, to, (first, end) => retrying(() => readRange(reader, first, end)))
  const readAhead = (from: number, wanted: number): Ahead | undefined => {
    const to = Math.min(wanted, headNumber() - AHEAD_BLOCKS_MIN)
    if (from > to) return undefined
    // A failure is met again, and thrown, when the range is asked for.
    return { from, to, reading: read(from, to).catch(() => undefined) }
  }
  return async (from, to) => {
    const known = ahead?.from === from && ahead.to <= to ? ahead : undefined
    ahead = undefined
    const { provider, ...range } = (await known?.reading) ?? (await read(from, to))
    readers.note(from, range.last.number, provider)
    const next = range.last.number + 1
    ahead = readAhead(next, Math.max(to, next + (range.last.number - from)))
    return range
  }
}
