import type { Log } from '#shared/log.ts'
import { unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { AuditOptions, AuditReading, Observation } from './driver.ts'
import { findUnexplained } from './evm-balances.ts'
import {
  assertWithin,
  type By,
  headerCall,
  judged,
  RANGE_TIMEOUT_MS,
  type Reader,
  readBlock,
  readBlockTransfers,
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

export type Auditor = (from: number, to: number, options?: AuditOptions) => Promise<AuditReading>

type Reading = { transfers: Observation[]; lastHash: string }

/** Ranges remembered: those of the last blocks before depth, with room. */
const RANGES_MAX = 4_096
/** Receipts read before the head is looked at again: longer ranges are a catch-up, and their receipts gigabytes. */
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
 * Reads ranges a second time: by logs from a provider that did not read them first, else by receipts where the range is short,
 * else by logs that the balances of everybody who waits have to bear out, else by receipts, the beginning of a range at a
 * time. Logs alone, where the first reading went by hash or while nobody waits, are the last resort.
 */
export function createAuditor(reader: Reader, readers: Readers, log: Log): Auditor {
  const { rpc } = reader
  const parts: Parts = { reader, span: createSpan(), withoutReceipts: new Set(), log }
  let isTold = false
  return async (from, to, options = {}) => {
    const { isThrifty = false } = options
    const first = readers.of(from, to)
    if (first.size < rpc.providerCount && rpc.providerCount > 1) {
      const reading = await byOther(parts, from, to, first.size > 0 ? first : new Set([0]))
      if (reading) return reading
    }
    const isShort = to - from < (isThrifty ? THRIFTY_RECEIPTS_MAX : RECEIPTS_BLOCKS_MAX)
    const brief = isShort ? await byReceipts(parts, from, to) : undefined
    const reading = brief ?? (await byBalances(parts, from, to, options))
    if (reading) return reading
    const readTo = Math.min(to, from + RECEIPTS_BLOCKS_MAX - 1)
    const beginning = isShort || isThrifty ? undefined : await byReceipts(parts, from, readTo)
    if (beginning) return { ...beginning, readTo }
    if (!isThrifty && !isTold) {
      isTold = true
      log.warn('neither receipts nor old balances can be read: blocks are read twice by logs', {
        from,
      })
    }
    const { last, transfers } = await readWhole(parts, from, to, new Set())
    return { transfers, lastHash: last.hash, method: 'logs by range' }
  }
}

type Parts = {
  reader: Reader
  span: Span
  /** Providers that do not have the method. */
  withoutReceipts: Set<number>
  log: Log
}

async function ifPossible<T>(
  { log }: Parts,
  by: string,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'stopped') throw error
    log.debug('blocks cannot be read a second time this way', { by, error })
    return undefined
  }
}

function byOther(parts: Parts, from: number, to: number, except: ReadonlySet<number>) {
  return ifPossible(parts, 'another provider', async () => {
    const { last, transfers, provider } = await readWhole(parts, from, to, except)
    const method = `logs from ${parts.reader.rpc.hostOf(provider)}`
    return { transfers, lastHash: last.hash, method }
  })
}

async function byReceipts(parts: Parts, from: number, to: number) {
  const { reader, withoutReceipts } = parts
  if (withoutReceipts.size >= reader.rpc.providerCount) return undefined
  return ifPossible(parts, 'receipts', async () => {
    return { ...(await readReceipts(reader, from, to, withoutReceipts)), method: 'receipts' }
  })
}

/** Logs again, and whether balances bear them out. Throws `inconsistent` when they do not, and nothing says why. */
async function byBalances(parts: Parts, from: number, to: number, { recipients }: AuditOptions) {
  const holders = await recipients?.()
  if (!holders) return undefined
  const { reader, log } = parts
  const proof = await ifPossible(parts, 'balances', async () => {
    const whole = await readWhole(parts, from, to, new Set())
    const same = { except: reader.rpc.allBut(whole.provider) }
    const blocks = await findUnexplained(reader, { from, to }, holders, whole.transfers, same)
    return { ...whole, blocks }
  })
  if (!proof) return undefined
  const { last, blocks, provider } = proof
  const transfers = proof.transfers.filter((one) => !blocks.includes(one.blockNumber))
  if (blocks.length > 0) log.warn('balances do not bear the logs of these blocks out', { blocks })
  for (const number of blocks) {
    const found = await byReceipts(parts, number, number)
    transfers.push(...(found?.transfers ?? (await readBorneOut(reader, number, holders, provider))))
  }
  transfers.sort((a, b) => a.blockNumber - b.blockNumber || a.index - b.index)
  return { transfers, lastHash: last.hash, method: 'logs borne out by balances' }
}

/** The logs of one block, by its hash, if they are what changed the balances. */
async function readBorneOut(
  reader: Reader,
  number: number,
  holders: readonly string[],
  provider: number,
): Promise<Observation[]> {
  const { rpc } = reader
  const { block } = await readBlock(reader, number)
  const transfers = block ? (await readBlockTransfers(reader, block)).transfers : []
  const range = { from: number, to: number }
  const same = { except: rpc.allBut(provider) }
  const left = await findUnexplained(reader, range, holders, transfers, same)
  if (left.length === 0) return transfers
  throw inconsistent(`no log for money that moved in block ${number}`, rpc.hostOf(provider))
}

/** A whole range, in as many parts as the node wants. */
async function readWhole(
  { reader, span }: Parts,
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
