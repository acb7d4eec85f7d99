import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type {
  BlockRef,
  Driver,
  DriverHealth,
  Observation,
  WakeReason,
} from '../../indexer/drivers/driver.ts'
import { RpcError } from '../../indexer/rpc-error.ts'
import type { Chance } from '../support/chance.ts'
import type { OnChain } from '../support/oracle.ts'

/** A transfer that somebody signed: it is the same one in whichever block it is mined. */
export type Signed = { txHash: string; from: string; to: string; amountBaseUnits: bigint }

/** What is wrong with a node at the moment. */
export type NodeMood =
  | 'well'
  /** Calls fail. */
  | 'failing'
  /** It is some blocks behind. */
  | 'lagging'
  /** Its first readings leave transfers out. */
  | 'omitting'
  /** Its first readings tell of transfers that are not there. */
  | 'inventing'
  /** It never rings. */
  | 'silent'
export const NODE_MOODS: readonly NodeMood[] = [
  ...(['well', 'failing', 'lagging', 'omitting', 'inventing', 'silent'] as const),
]

type Block = BlockRef & { transfers: readonly Observation[] }

/** A chain in memory: blocks with transfers of one token, branches, and as many nodes as one likes. */
export type SimChain = {
  head(): BlockRef
  /** Adds a block, never earlier than the one before. */
  mine(signed: readonly Signed[], timeMs: number): void
  /** Replaces the newest blocks by a branch that is one longer; each transfer in them is mined anew in it, or never. */
  reorganise(depth: number, isKept: (txHash: string) => boolean): void
  /** The transactions on the chain now, with the time of their block. */
  minedAtMs(txHash: string): number | undefined
  /** For the oracle: inclusive heights. */
  read(from: number, to: number): Promise<OnChain[]>
  /** A node of this chain, as a driver. */
  node(mood: () => NodeMood, chance: Chance): Driver
}

/** Milliseconds a node takes to answer, at most. */
const ANSWER_MS_MAX = 4
/** Blocks a lagging node is behind. */
const LAG_BLOCKS = 2
/** Of the calls to a failing node, and of the transfers in readings of one that lies. */
const FAILING_SHARE = 0.5
const LYING_SHARE = 0.3
/** Blocks answered in one range. */
const RANGE_BLOCKS_MAX = 20

export function createChain(contract: string, startMs: number): SimChain {
  const genesis = { number: 0, hash: newHash(), parentHash: newHash(), timeMs: startMs }
  let blocks: Block[] = [{ ...genesis, transfers: [] }]
  const bells = new Set<(reason: WakeReason) => void>()
  const head = (): Block => {
    const last = blocks.at(-1)
    assert.ok(last)
    return last
  }
  const append = (signed: readonly Signed[], timeMs: number) => {
    const { number, hash: parentHash, timeMs: parentMs } = head()
    const block = {
      ...{ number: number + 1, hash: newHash(), parentHash },
      // In whole seconds, as chains tell it; two blocks may share one.
      timeMs: Math.max(parentMs, Math.floor(timeMs / 1_000) * 1_000),
    }
    const place = { blockNumber: block.number, blockHash: block.hash, blockTimeMs: block.timeMs }
    const transfers = signed.map((one, index) => ({ ...one, ...place, index, contract }))
    blocks.push({ ...block, transfers })
  }
  const ring = (reason: WakeReason) => {
    for (const bell of bells) bell(reason)
  }
  return {
    head,
    mine(signed, timeMs) {
      append(signed, timeMs)
      ring('head')
    },
    reorganise(depth, isKept) {
      const from = Math.max(1, blocks.length - depth)
      const replaced = blocks.slice(from)
      blocks = blocks.slice(0, from)
      for (const { transfers, timeMs } of replaced) {
        append(
          transfers.filter(({ txHash }) => isKept(txHash)),
          timeMs,
        )
      }
      append([], head().timeMs)
      ring('head')
    },
    minedAtMs: (txHash) =>
      blocks.find(({ transfers }) => transfers.some((one) => one.txHash === txHash))?.timeMs,
    read: async (from, to) =>
      inRange(blocks, from, to).map(({ amountBaseUnits: amount, ...one }) => ({ ...one, amount })),
    node: (mood, chance) => createNode({ blocks: () => blocks, bells, contract }, mood, chance),
  }
}

type Source = {
  blocks: () => readonly Block[]
  bells: Set<(reason: WakeReason) => void>
  contract: string
}

function createNode(source: Source, mood: () => NodeMood, chance: Chance): Driver {
  const health: DriverHealth = {
    ...{ provider: 'simulated', callCount: 0, errorCount: 0, socketAlive: true },
  }
  const bells = new Set<(reason: WakeReason) => void>()
  let isStopped = false
  /** One call: what the node sees when it answers. */
  const ask = async (isOther = false): Promise<readonly Block[]> => {
    health.callCount += 1
    await new Promise((answer) => setTimeout(answer, chance.below(ANSWER_MS_MAX)))
    if (isStopped) throw new RpcError('stopped', 'the node is not asked any more')
    if (mood() === 'failing' && chance.isIn(FAILING_SHARE)) {
      health.errorCount += 1
      throw new RpcError('network', 'the node does not answer')
    }
    const blocks = source.blocks()
    return mood() === 'lagging' && !isOther
      ? blocks.slice(0, Math.max(1, blocks.length - LAG_BLOCKS))
      : blocks
  }
  const firstReading = (transfers: readonly Observation[]): Observation[] =>
    mood() === 'omitting'
      ? transfers.filter(() => !chance.isIn(LYING_SHARE))
      : transfers.flatMap((one) => {
          const isTwice = mood() === 'inventing' && chance.isIn(LYING_SHARE)
          return isTwice ? [one, { ...one, txHash: newHash(), index: one.index + 1_000 }] : [one]
        })
  return {
    check: async () => {},
    head: async () => refOf(last(await ask())),
    block: async (number) => {
      const found = (await ask()).find((block) => block.number === number)
      return found && refOf(found)
    },
    blockWithTransfers: async (number) => {
      const block = (await ask()).find((one) => one.number === number)
      return block && { block: refOf(block), transfers: firstReading(block.transfers) }
    },
    async rangeWithTransfers(from, to) {
      const blocks = await ask()
      const end = Math.min(to, from + RANGE_BLOCKS_MAX - 1)
      const read = blocks.filter(({ number }) => number >= from && number <= end)
      if (read.at(-1)?.number !== end) throw new RpcError('lagging', `no block ${end} yet`)
      return {
        last: refOf(last(read)),
        transfers: firstReading(read.flatMap(({ transfers }) => transfers)),
        ...(read[0] ? { parentHash: read[0].parentHash } : {}),
      }
    },
    async auditTransfers(from, to) {
      const blocks = await ask(true)
      const end = blocks.find(({ number }) => number === to)
      if (!end) throw new RpcError('lagging', `no block ${to} yet`)
      return { transfers: inRange(blocks, from, to), lastHash: end.hash, method: 'simulated' }
    },
    async proveBlock(number) {
      const block = (await ask(true)).find((one) => one.number === number)
      if (!block) return undefined
      return { transfers: [...block.transfers], blockHash: block.hash, method: 'simulated' }
    },
    wake(onWake) {
      const bell = (reason: WakeReason) => {
        if (mood() !== 'silent') onWake(reason)
      }
      bells.add(bell)
      source.bells.add(bell)
      onWake('connected')
      return { watch() {}, stop: () => void source.bells.delete(bell) }
    },
    health: () => health,
    spare() {},
    async stop() {
      isStopped = true
      for (const bell of bells) source.bells.delete(bell)
    },
  }
}

function inRange(blocks: readonly Block[], from: number, to: number): Observation[] {
  return blocks
    .filter(({ number }) => number >= from && number <= to)
    .flatMap(({ transfers }) => transfers)
}

function last(blocks: readonly Block[]): Block {
  const block = blocks.at(-1)
  assert.ok(block)
  return block
}

function refOf({ number, hash, parentHash, timeMs }: Block): BlockRef {
  return { number, hash, parentHash, timeMs }
}

/** Of a block, or of a transaction. */
export function newHash(): string {
  return `0x${randomBytes(32).toString('hex')}`
}
