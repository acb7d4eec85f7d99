import type { Log } from '#shared/log.ts'
import { RpcError } from '../rpc-error.ts'
import type { AuditOptions, AuditReading, Observation } from './driver.ts'
import { findUnexplained, type KnownBalances } from './evm-balances.ts'
import { type Reader, readBlock, readBlockTransfers, readRange, retrying } from './evm-read.ts'
import type { Receipts } from './evm-receipts.ts'
import { inconsistent } from './evm-shapes.ts'
import { createSpan, type Span } from './evm-span.ts'

/** Who read which blocks the first time, so that the second reading asks somebody else. */
export type Readers = {
  note(from: number, to: number, provider: number): void
  /** Providers that read any block of the range. */
  of(from: number, to: number): ReadonlySet<number>
}

export type Auditor = (from: number, to: number, options?: AuditOptions) => Promise<AuditReading>

/** Ranges remembered: those of the last blocks before depth, with room. */
const RANGES_MAX = 4_096
/** Receipts read before the head is looked at again: longer ranges are a catch-up, and their receipts gigabytes. */
const RECEIPTS_BLOCKS_MAX = 64
/** Blocks of the first range of logs: fewer would take more calls of a network at rest. */
const BLOCKS_FIRST = 32
/**
 * While nobody waits for a payment a call a second has to do, and receipts cost one for each block: so many cost no more than
 * balances, and so many are read where there are none.
 */
const THRIFTY_RECEIPTS_MAX = 3
const THRIFTY_RECEIPTS_ALONE_MAX = 8

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
export function createAuditor(
  { reader, receipts, log }: Pick<Parts, 'reader' | 'receipts' | 'log'>,
  readers: Readers,
): Auditor {
  const { rpc } = reader
  const parts: Parts = { reader, balances: {}, span: createSpan(BLOCKS_FIRST), receipts, log }
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
    const isDear = isThrifty && to - from >= THRIFTY_RECEIPTS_ALONE_MAX
    const beginning = isShort || isDear ? undefined : await byReceipts(parts, from, readTo)
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
  receipts: Receipts
  /** What was read last of balances. */
  balances: KnownBalances
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
  if (!parts.receipts.isSomewhere()) return undefined
  return ifPossible(parts, 'receipts', async () => {
    const { last, transfers } = await parts.receipts.read(from, to)
    return { transfers, lastHash: last.hash, method: 'receipts' }
  })
}

/** Logs again, and whether balances bear them out. Throws `inconsistent` when they do not, and nothing says why. */
async function byBalances(parts: Parts, from: number, to: number, { recipients }: AuditOptions) {
  const holders = await recipients?.()
  if (!holders) return undefined
  const { reader, log } = parts
  const proof = await ifPossible(parts, 'balances', async () => {
    const whole = await readWhole(parts, from, to, new Set())
    const same = { except: reader.rpc.allBut(whole.provider), known: parts.balances }
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
