import type { RangeWithTransfers } from './driver.ts'
import type { Readers } from './evm-audit.ts'
import { type By, type Reader, readRange, retrying } from './evm-read.ts'
import { createSpan } from './evm-span.ts'

type Reading = By<Required<RangeWithTransfers>>
type Ahead = { from: number; to: number; reading: Promise<Reading | undefined> }

/** Ranges this near to the head are not read ahead: their blocks may still be replaced. */
const AHEAD_BLOCKS_MIN = 32
/** Ranges read ahead: while one is parsed the node works on the next. */
const AHEAD_MAX = 2

/**
 * Reads ranges one after the other, the next ones already while the last is being stored: node, process and database work at
 * the same time. What was read ahead chains itself by its parent's hash; it is dropped when another range is asked for.
 */
export function createRangeReader(
  reader: Reader,
  readers: Readers,
  headNumber: () => number,
): (from: number, to: number) => Promise<RangeWithTransfers> {
  const span = createSpan()
  let ahead: Ahead[] = []

  const read = (from: number, to: number): Promise<Reading> =>
    span.read(from, to, (first, end) => retrying(() => readRange(reader, first, end)))
  const readAhead = (start: number, wanted: number) => {
    const to = Math.min(wanted, headNumber() - AHEAD_BLOCKS_MIN)
    for (let from = start; ahead.length < AHEAD_MAX && from <= to; ) {
      const end = Math.min(to, from + span.blocks - 1)
      // A failure is met again, and thrown, when the range is asked for.
      ahead.push({ from, to: end, reading: read(from, end).catch(() => undefined) })
      from = end + 1
    }
  }
  return async (from, to) => {
    const [known, ...rest] = ahead
    const isNext = known?.from === from && known.to <= to
    ahead = isNext ? rest : []
    const { provider, ...range } =
      (isNext ? await known.reading : undefined) ?? (await read(from, to))
    readers.note(from, range.last.number, provider)
    const next = range.last.number + 1
    // A node that bears less than was asked for answers less: what was read behind that is not next.
    if (ahead[0]?.from !== next) ahead = []
    const last = ahead.at(-1)?.to ?? range.last.number
    readAhead(last + 1, Math.max(to, last + 1 + (range.last.number - from)))
    return range
  }
}
