import { type ReadOptions, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { Observation, RangeWithTransfers } from './driver.ts'
import {
  ask,
  BLOCK_TIMEOUT_MS,
  blockCall,
  type Commitment,
  isSkipped,
  type Reader,
  readSlots,
  retrying,
} from './solana-read.ts'
import {
  type Change,
  inconsistent,
  readBlockChanges,
  readBlockTransfers,
  readHeader,
  type SolanaBlock,
} from './solana-shapes.ts'

type Whole = { block: SolanaBlock; transfers: Observation[]; changes: Change[] }
export type BlocksRange = RangeWithTransfers & {
  last: SolanaBlock
  parentHash: string
  /** What changed of the token accounts that were asked about. */
  changes: Change[]
}
/** `accounts`: token accounts whose changes are wanted, too. */
export type BlocksOptions = ReadOptions & { accounts?: ReadonlySet<string> }

/** Blocks of one reading: some megabytes each, one at a time in memory; their transfers stay. */
const BLOCKS_MAX = 16
/** Slots in which a block is looked for at once. */
const SPAN_SLOTS = 64
/** Slots without any block after which the chain counts as gone rather than skipping: some three hours. */
const SKIPPED_SLOTS_MAX = 25_000

/**
 * Every block of an inclusive range of slots with its transfers, each chained to the one before. A slot counts as empty only
 * when the block behind it names a parent before it: a node that has forgotten one is found out.
 */
export async function readBlocks(
  reader: Reader,
  from: number,
  to: number,
  commitment: Commitment,
  options?: BlocksOptions,
): Promise<BlocksRange> {
  return retrying(async () => {
    const slots = await findSlots(reader, from, to, commitment, options)
    const blocks: Whole[] = []
    for (const slot of slots) {
      const next = await readNext(reader, slot, blocks.at(-1)?.block, { from, commitment, options })
      if (next.length === 0) break
      blocks.push(...next)
    }
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (!first || !last) throw new RpcError('lagging', `no block from slot ${from} on yet`)
    return {
      last: last.block,
      parentHash: first.block.parentHash,
      transfers: blocks.flatMap(({ transfers }) => transfers),
      changes: blocks.flatMap(({ changes }) => changes),
    }
  })
}

/** The first slots of a range that hold blocks; behind it when it holds none at all. */
async function findSlots(
  reader: Reader,
  from: number,
  to: number,
  commitment: Commitment,
  options?: ReadOptions,
): Promise<number[]> {
  for (let start = from; start <= from + SKIPPED_SLOTS_MAX; start += SPAN_SLOTS) {
    const end = start + SPAN_SLOTS - 1
    const limit = start > to ? end : Math.min(end, to)
    const slots = await readSlots(reader, start, limit, commitment, options)
    if (slots.length > 0) return slots.slice(0, BLOCKS_MAX)
  }
  throw new RpcError('lagging', `no block within ${SKIPPED_SLOTS_MAX} slots from ${from}`)
}

type Terms = { from: number; commitment: Commitment; options: BlocksOptions | undefined }

/**
 * The block at a slot, and before it those that the node's list left out, found by following parents. Empty when the node
 * cannot give it yet and there is something to show already.
 */
async function readNext(
  reader: Reader,
  slot: number,
  previous: SolanaBlock | undefined,
  terms: Terms,
): Promise<Whole[]> {
  const found: Whole[] = []
  let wanted = slot
  const floor = previous ? previous.number + 1 : terms.from
  while (wanted >= floor) {
    const whole = await readWhole(reader, wanted, terms)
    if (whole === undefined) {
      if (previous && found.length === 0) return []
      throw new RpcError('lagging', `slot ${wanted} is named as a parent and cannot be read`)
    }
    const child = found[0]?.block
    if (child && whole.block.hash !== child.parentHash) {
      throw inconsistent(`blocks of two branches at slot ${child.number}`, 'the node')
    }
    found.unshift(whole)
    wanted = whole.block.parentNumber
  }
  const first = found[0]?.block
  if (previous && first && first.parentHash !== previous.hash) {
    throw inconsistent(`blocks of two branches at slot ${first.number}`, 'the node')
  }
  return found
}

/** Undefined when the node says that it does not have it, yet or any more. */
async function readWhole(
  reader: Reader,
  slot: number,
  { commitment, options: { accounts, ...options } = {} }: Terms,
): Promise<Whole | undefined> {
  const { mints } = reader
  try {
    return await ask(
      reader,
      [blockCall(slot, commitment, 'accounts')],
      ([answer], host) => {
        if (isSkipped(answer)) return undefined
        const result = unwrap(answer, host)
        const block = readHeader(result, slot, host)
        const transfers = readBlockTransfers(result, block, mints, host)
        const changes = accounts ? readBlockChanges(result, slot, { mints, accounts }, host) : []
        return { block, transfers, changes }
      },
      { timeoutMs: BLOCK_TIMEOUT_MS, ...options },
    )
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'lagging') return undefined
    throw error
  }
}
