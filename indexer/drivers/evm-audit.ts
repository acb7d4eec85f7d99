import type { Log } from '#shared/log.ts'
import { unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { AuditReading, Observation } from './driver.ts'
import {
  assertWithin,
  type By,
  headerCall,
  judged,
  RANGE_TIMEOUT_MS,
  type Reader,
  readLast,
  readRange,
  retrying,
  toHex,
  withTimes,
} from './evm-read.ts'
import { inconsistent, readTransfers, type TransferLog } from './evm-shapes.ts'
import { createSpan, type Span } from './evm-span.ts'

/** Who read which blocks the first time, so that the second reading asks somebody else. */
export type Readers = {
  note(from: number, to: number, provider: number): void
  /** Providers that read any block of the range. */
  of(from: number, to: number): ReadonlySet<number>
}

export type Auditor = (
  from: number,
  to: number,
  options?: { isThrifty: boolean },
) => Promise<AuditReading>

type Reading = { transfers: Observation[]; lastHash: string }

/** Ranges remembered: those of the last blocks before depth, with room. */
const RANGES_MAX = 4_096
/** Longer ranges are a catch-up: their blocks are old, and receipts of all of them would be gigabytes. */
const RECEIPTS_BLOCKS_MAX = 64
/** While nobody waits for a payment a call a second has to do: receipts cost one for each block. */
const THRIFTY_RECEIPTS_MAX = 8
/** Blocks whose receipts are asked for in one batch: some megabytes on a busy chain. */
const RECEIPTS_PER_BATCH = 8
/** How nodes say that they do not have a method: JSON-RPC's own code, and words. */
const METHOD_MISSING = -32_601
const METHOD_MISSING_WORDS = /method.{0,40}not|not.{0,20}support|unsupported|unknown method/i

export function createReaders(): Readers {
  const ranges: { from: number; to: number; provider: number }[] = []
  return {
    note(from, to, provider) {
      const last = ranges.at(-1)
      if (last?.provider === provider && last.to === from - 1) last.to = to
      else ranges.push({ from, to, provider })
      if (ranges.length > RANGES_MAX) ranges.shift()
    },
    of(from, to) {
      const overlapping = ranges.filter((range) => range.from <= to && range.to >= from)
      return new Set(overlapping.map((range) => range.provider))
    },
  }
}

/**
 * Reads ranges a second time: by logs from a provider that did not read them first, else by receipts, else, for long
 * ranges and nodes without receipts, by a range of logs where the first reading went by hash.
 */
export function createAuditor(reader: Reader, readers: Readers, log: Log): Auditor {
  const { rpc } = reader
  const span = createSpan()
  const withoutReceipts = new Set<number>()
  const byOther = async (from: number, to: number, except: ReadonlySet<number>) => {
    try {
      const { last, transfers, provider } = await readWhole(reader, span, from, to, except)
      const method = `logs from ${rpc.hostOf(provider)}`
      return { transfers, lastHash: last.hash, method }
    } catch (error) {
      if (isStopped(error)) throw error
      log.debug('no other provider can read blocks a second time', { from, to, error })
      return undefined
    }
  }
  const byReceipts = async (from: number, to: number) => {
    try {
      return { ...(await readReceipts(reader, from, to, withoutReceipts)), method: 'receipts' }
    } catch (error) {
      if (isStopped(error)) throw error
      log.debug('receipts cannot be read', { from, to, error })
      return undefined
    }
  }
  return async (from, to, { isThrifty } = { isThrifty: false }) => {
    const first = readers.of(from, to)
    if (first.size < rpc.providerCount && rpc.providerCount > 1) {
      const except = first.size > 0 ? first : new Set([0])
      const reading = await byOther(from, to, except)
      if (reading) return reading
    }
    const receiptsMax = isThrifty ? THRIFTY_RECEIPTS_MAX : RECEIPTS_BLOCKS_MAX
    if (to - from < receiptsMax && withoutReceipts.size < rpc.providerCount) {
      const reading = await byReceipts(from, to)
      if (reading) return reading
    }
    const { last, transfers } = await readWhole(reader, span, from, to, new Set())
    return { transfers, lastHash: last.hash, method: 'logs by range' }
  }
}

/** A whole range, in as many parts as the node wants. */
async function readWhole(
  reader: Reader,
  span: Span,
  from: number,
  to: number,
  except: ReadonlySet<number>,
) {
  const transfers: Observation[] = []
  for (let start = from; ; ) {
    const part = await span.read(start, to, (first, last) =>
      retrying(() => readRange(reader, first, last, { except, isWellOnly: except.size > 0 })),
    )
    transfers.push(...part.transfers)
    if (part.last.number >= to) return { ...part, transfers }
    start = part.last.number + 1
  }
}

async function readReceipts(
  reader: Reader,
  from: number,
  to: number,
  withoutReceipts: Set<number>,
): Promise<Reading> {
  const transfers: Observation[] = []
  let lastHash = ''
  for (let start = from; start <= to; start += RECEIPTS_PER_BATCH) {
    const end = Math.min(to, start + RECEIPTS_PER_BATCH - 1)
    const part = await readReceiptsBatch(reader, start, end, withoutReceipts)
    transfers.push(...part.transfers)
    lastHash = part.lastHash
  }
  return { transfers, lastHash }
}

async function readReceiptsBatch(
  reader: Reader,
  from: number,
  to: number,
  withoutReceipts: Set<number>,
): Promise<By<Reading>> {
  const { rpc } = reader
  const numbers = Array.from({ length: to - from + 1 }, (_, offset) => from + offset)
  const calls = numbers.map((number) => {
    return { method: 'eth_getBlockReceipts', params: [toHex(number)] }
  })
  const options = { timeoutMs: RANGE_TIMEOUT_MS, except: withoutReceipts }
  const { answers, provider } = await rpc.batch([headerCall(to), ...calls], options)
  const host = rpc.hostOf(provider)
  const judge = () => {
    const header = readLast(answers[0], to, host)
    const found = numbers.flatMap((number, index) => {
      const answer = answers[index + 1]
      if (answer && 'error' in answer && isMissing(answer.error)) withoutReceipts.add(provider)
      return readBlockReceipts(reader, unwrap(answer, host), number, host)
    })
    assertWithin(found, from, header, host)
    return { last: header, logs: found }
  }
  const { last, logs } = judged(rpc, provider, judge, { mayRefuse: true })
  const transfers = await withTimes(reader, logs, [last], provider)
  return { transfers, lastHash: last.hash, provider }
}

function readBlockReceipts(
  { contracts }: Reader,
  receipts: unknown,
  number: number,
  host: string,
): TransferLog[] {
  if (receipts === null) throw new RpcError('lagging', `${host}: no receipts of block ${number}`)
  if (!Array.isArray(receipts)) throw new RpcError('malformed', `${host}: malformed receipts`)
  const logs = receipts.flatMap((receipt: { logs?: unknown } | null) => {
    if (!Array.isArray(receipt?.logs)) throw new RpcError('malformed', `${host}: malformed receipt`)
    return receipt.logs
  })
  const found = readTransfers(logs, contracts, host)
  if (found.some((one) => one.blockNumber !== number)) {
    throw inconsistent('receipts of another block', host)
  }
  return found
}

function isMissing(error: RpcError): boolean {
  return error.code === METHOD_MISSING || METHOD_MISSING_WORDS.test(error.message)
}

function isStopped(error: unknown): boolean {
  return error instanceof RpcError && error.kind === 'stopped'
}
