import { type Deployment, watchedTokens } from '#shared/networks/registry.ts'
import { type Answer, CALL_TIMEOUT_MS, type ReadOptions, type Rpc, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { RpcCall } from '../socket.ts'
import type { BlockRef, BlockWithTransfers, Observation, RangeWithTransfers } from './driver.ts'
import {
  type Contracts,
  inconsistent,
  readHeader,
  readTransfers,
  TRANSFER_TOPIC,
  type TransferLog,
  toObservation,
} from './evm-shapes.ts'

export type Reader = {
  rpc: Rpc
  contracts: Contracts
  /** What every log query asks for: the watched contracts' transfers. */
  filter: { address: readonly string[]; topics: readonly string[] }
}

/** A reading, and who gave it. */
export type By<T> = T & { provider: number }

/** Times a reading is begun anew when a provider contradicts itself or lags: each time others come first. */
const ATTEMPTS_MAX = 3
const DOUBTS = new Set(['inconsistent', 'lagging', 'malformed', 'unable'])
/** Headers asked for in one batch. */
const HEADERS_PER_BATCH = 50
/** Milliseconds for a range of logs, the slowest call there is; short ranges are answered as soon as any call. */
export const RANGE_TIMEOUT_MS = 15_000
const SHORT_RANGE_BLOCKS = 64

export function createReader(rpc: Rpc, deployment: Deployment): Reader {
  const addresses = watchedTokens(deployment).map(({ contract }) => contract)
  return {
    rpc,
    contracts: new Map(addresses.map((address) => [address.toLowerCase(), address])),
    filter: {
      address: addresses.map((address) => address.toLowerCase()),
      topics: [TRANSFER_TOPIC],
    },
  }
}

/** The canonical header at a height or tag; undefined above the node's head. */
export async function readBlock(
  { rpc }: Reader,
  at: number | 'latest',
  options?: ReadOptions,
): Promise<By<{ block: BlockRef | undefined }>> {
  const { answers, provider } = await rpc.batch([headerCall(at)], options)
  const host = rpc.hostOf(provider)
  const judge = () => {
    const header = readHeader(unwrap(answers[0], host), host)
    if (header && at !== 'latest' && header.number !== at) {
      throw inconsistent('the header of another height', host)
    }
    return header
  }
  const block = judged(rpc, provider, judge, { mayRefuse: false })
  return { block, provider }
}

/** All watched transfers of exactly this block. A node that does not know the hash errs: `[]` means none. */
export async function readBlockTransfers(
  reader: Reader,
  block: BlockRef,
  options?: ReadOptions,
): Promise<By<BlockWithTransfers>> {
  const { rpc } = reader
  const { answers, provider } = await rpc.batch([logsCall(reader, block.hash)], options)
  const judge = () => judgeLogs(reader, answers[0], block, provider)
  return judged(rpc, provider, judge, { mayRefuse: false })
}

/**
 * The newest header, and in the same batch the transfers of the block with this hash, which somebody told of. They are there
 * when it is the newest one's; otherwise, or when they do not hold, they are left to {@link readBlockTransfers}.
 */
export async function readNewest(
  reader: Reader,
  toldHash: string,
): Promise<By<{ block: BlockRef | undefined; reading?: By<BlockWithTransfers> }>> {
  const { rpc } = reader
  const { answers, provider } = await rpc.batch([headerCall('latest'), logsCall(reader, toldHash)])
  const host = rpc.hostOf(provider)
  const readHead = () => readHeader(unwrap(answers[0], host), host)
  const block = judged(rpc, provider, readHead, { mayRefuse: false })
  if (block?.hash !== toldHash) return { block, provider }
  try {
    return { block, reading: judgeLogs(reader, answers[1], block, provider), provider }
  } catch (error) {
    if (error instanceof RpcError) return { block, provider }
    throw error
  }
}

function logsCall({ filter }: Reader, blockHash: string): RpcCall {
  return { method: 'eth_getLogs', params: [{ ...filter, blockHash }] }
}

/** The transfers of exactly this block; throws what `unwrap` and `readTransfers` throw, and `inconsistent`. */
function judgeLogs(
  { rpc, contracts }: Reader,
  answer: Answer | undefined,
  block: BlockRef,
  provider: number,
): By<BlockWithTransfers> {
  const host = rpc.hostOf(provider)
  const found = readTransfers(unwrap(answer, host), contracts, host)
  if (found.some((one) => one.blockHash !== block.hash || one.blockNumber !== block.number)) {
    throw inconsistent('logs of another block', host)
  }
  return { block, transfers: found.map((one) => toObservation(one, block.timeMs)), provider }
}

/**
 * The watched transfers of an inclusive range. The headers of its ends come from the same batch: a node that does not have
 * the last block yet answers null for it, where its logs alone would be `[]`, and the first one says which block the
 * range follows.
 */
export async function readRange(
  reader: Reader,
  from: number,
  to: number,
  options: ReadOptions = {},
): Promise<By<Required<RangeWithTransfers>>> {
  const { rpc, contracts, filter } = reader
  const range = { ...filter, fromBlock: toHex(from), toBlock: toHex(to) }
  const query = { method: 'eth_getLogs', params: [range] }
  const calls = [headerCall(to), query, ...(from === to ? [] : [headerCall(from)])]
  const timeoutMs = to - from < SHORT_RANGE_BLOCKS ? CALL_TIMEOUT_MS : RANGE_TIMEOUT_MS
  const { answers, provider } = await rpc.batch(calls, { timeoutMs, ...options })
  const host = rpc.hostOf(provider)
  const judge = () => {
    const header = readLast(answers[0], to, host)
    const start = from === to ? header : readLast(answers[2], from, host)
    const found = readTransfers(unwrap(answers[1], host), contracts, host)
    assertWithin(found, from, header, host)
    return { last: header, first: start, logs: found }
  }
  // A range of one block can't be narrowed: whoever refuses it can't serve it.
  const { last, first, logs } = judged(rpc, provider, judge, { mayRefuse: from < to })
  const transfers = await withTimes(reader, logs, [first, last], provider)
  return { last, transfers, parentHash: first.parentHash, provider }
}

/** Runs a reading again when a provider gave no answer to trust, by others if there are any. */
export async function retrying<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read()
    } catch (error) {
      if (!isDoubt(error) || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

/** Whether another provider, or the same one in a moment, may answer better. */
export function isDoubt(error: unknown): boolean {
  return error instanceof RpcError && DOUBTS.has(error.kind)
}

/**
 * Judges an answer; when it does not hold, the provider is distrusted. Where no node in good order would refuse, a refusal
 * is no answer either: it becomes `unable`.
 */
export function judged<T>(
  rpc: Rpc,
  provider: number,
  judge: () => T,
  { mayRefuse }: { mayRefuse: boolean },
): T {
  try {
    return judge()
  } catch (error) {
    if (!(error instanceof RpcError) || (error.kind === 'refused' && mayRefuse)) throw error
    const { code, message } = error
    const doubt = error.kind === 'refused' ? new RpcError('unable', message, { code }) : error
    rpc.distrust(provider, doubt)
    throw doubt
  }
}

/** The header that goes with a range, or `lagging` when the node does not have that block. */
export function readLast(answer: Answer | undefined, to: number, host: string): BlockRef {
  const header = readHeader(unwrap(answer, host), host)
  if (!header) throw new RpcError('lagging', `${host}: does not have block ${to} yet`)
  if (header.number !== to) throw inconsistent('the header of another height', host)
  return header
}

/** Throws `inconsistent` when a log lies outside the range, or in another last block than the header's. */
export function assertWithin(
  logs: readonly TransferLog[],
  from: number,
  last: BlockRef,
  host: string,
): void {
  for (const { blockNumber, blockHash } of logs) {
    if (blockNumber < from || blockNumber > last.number) throw inconsistent('other blocks', host)
    if (blockNumber === last.number && blockHash !== last.hash) {
      throw inconsistent('logs and a header of different blocks', host)
    }
  }
}

/**
 * Observations with their blocks' times: from the logs where those lie between the times of the headers known, which include the
 * range's ends; else, and on nodes that do not say them, from headers of the blocks that have any.
 */
export async function withTimes(
  { rpc }: Reader,
  logs: readonly TransferLog[],
  known: readonly BlockRef[],
  provider: number,
): Promise<Observation[]> {
  const earliestMs = Math.min(...known.map((block) => block.timeMs))
  const latestMs = Math.max(...known.map((block) => block.timeMs))
  const timeless = logs.filter(({ blockTimeMs = -1 }) => {
    return !(blockTimeMs >= earliestMs && blockTimeMs <= latestMs)
  })
  const numbers = [...new Set(timeless.map((one) => one.blockNumber))]
  const blocks = new Map(known.map((block) => [block.number, block]))
  const unknown = numbers.filter((number) => !blocks.has(number))
  for (let start = 0; start < unknown.length; start += HEADERS_PER_BATCH) {
    const part = unknown.slice(start, start + HEADERS_PER_BATCH)
    const options = { except: rpc.allBut(provider), timeoutMs: RANGE_TIMEOUT_MS }
    const { answers } = await rpc.batch(part.map(headerCall), options)
    const judge = () => {
      part.forEach((number, index) => {
        blocks.set(number, readLast(answers[index], number, rpc.hostOf(provider)))
      })
    }
    judged(rpc, provider, judge, { mayRefuse: false })
  }
  const toTimed = (one: TransferLog) => {
    const block = blocks.get(one.blockNumber)
    if (!block) return toObservation(one, one.blockTimeMs ?? 0)
    if (block.hash === one.blockHash) return toObservation(one, block.timeMs)
    throw inconsistent('a block that was replaced meanwhile', rpc.hostOf(provider))
  }
  return judged(rpc, provider, () => logs.map(toTimed), { mayRefuse: false })
}

export function headerCall(at: number | 'latest'): RpcCall {
  return { method: 'eth_getBlockByNumber', params: [at === 'latest' ? at : toHex(at), false] }
}

export function toHex(value: number): string {
  return `0x${value.toString(16)}`
}
