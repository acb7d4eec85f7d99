import { createRpc } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { BlockRef, BlockWithTransfers, Driver, DriverDeps } from './driver.ts'
import { createAuditor, createReaders } from './evm-audit.ts'
import { checkDecimals, checkProviders, verifyChainId } from './evm-check.ts'
import { proveBlock } from './evm-proof.ts'
import { createRangeReader } from './evm-range.ts'
import {
  type By,
  createReader,
  isDoubt,
  type Reader,
  readBlock,
  readBlockTransfers,
  readNewest,
  retrying,
} from './evm-read.ts'
import { createReceipts } from './evm-receipts.ts'
import { type Bell, openBell, PING_CALL } from './evm-wake.ts'

/** Times a block is read, header and logs: it may leave the chain in between, or a provider fail to know it. */
const READS_MAX = 3
/** A head that stood still for this many blocks, and at least this many milliseconds, makes the driver ask another provider. */
const STALE_BLOCKS = 4
const STALE_MS_MIN = 5_000
/** Milliseconds between two such comparisons, unless the head fell back: then one follows at once. */
const COMPARE_EVERY_MS = 10_000

/**
 * Follows an EVM chain over JSON-RPC. Truth comes from headers, and from logs asked for by block hash or together with
 * the header of the range's last block; the websocket only rings.
 */
export function createEvmDriver(deps: DriverDeps): Driver {
  const { deployment, log } = deps
  const rpc = createRpc({
    urls: deployment.rpc,
    pingCall: PING_CALL,
    log,
    verify: (call, host) => verifyChainId(deployment, call, host),
  })
  const reader = createReader(rpc, deployment)
  const readers = createReaders()
  const newest = createNewest(deps, reader)
  const readRanges = createRangeReader(reader, readers, () => newest.number)
  const receipts = createReceipts(reader)
  const audit = createAuditor({ reader, receipts, log }, readers)
  let bell: Bell | undefined

  return {
    async check() {
      await checkProviders(rpc)
      await checkDecimals(rpc, deployment)
    },
    genesisHash: async () => (await retrying(() => readBlock(reader, 0))).block?.hash,
    head: () => newest.read(),
    block: (number) => retrying(async () => (await readBlock(reader, number)).block),
    async blockWithTransfers(number) {
      newest.isByHash = true
      const reading = await readBlockOnce(reader, number, newest.take(number))
      if (!reading) return undefined
      readers.note(number, number, reading.provider)
      return { block: reading.block, transfers: reading.transfers }
    },
    rangeWithTransfers(from, to) {
      newest.isByHash = false
      return readRanges(from, to)
    },
    auditTransfers: audit,
    proveBlock: (number, recipients) => proveBlock({ reader, receipts, log }, number, recipients),
    wake(onWake) {
      bell?.stop()
      bell = openBell(deps, newest.note, onWake)
      return bell
    },
    health() {
      const { seenAtMs } = newest
      return {
        ...rpc.health(),
        socketAlive: bell?.isAlive() ?? false,
        ...(seenAtMs === undefined ? {} : { lastHeadAtMs: seenAtMs }),
      }
    },
    spare: rpc.spare,
    async stop() {
      bell?.stop()
      rpc.stop()
    },
  }
}

/** A block's header and its logs by hash, unless they were read just now; begun anew when a node does not know the hash. */
async function readBlockOnce(
  reader: Reader,
  number: number,
  known: Known | undefined,
): Promise<By<BlockWithTransfers> | undefined> {
  if (known?.reading) return known.reading
  let block = known?.block
  for (let attempt = 1; ; attempt += 1) {
    block ??= await retrying(async () => (await readBlock(reader, number)).block)
    if (!block) return undefined
    const current = block
    try {
      return await readBlockTransfers(reader, current)
    } catch (error) {
      if (!isDoubt(error) || attempt >= READS_MAX) throw error
      block = undefined
    }
  }
}

/** A header that was read just now, maybe with its transfers. */
type Known = { block: BlockRef; reading?: By<BlockWithTransfers> | undefined }

/** 32 bytes as nodes write them. */
const HASH = /^0x[0-9a-f]{64}$/

/** The newest block: read, remembered for the reading that follows at once, and watched for standing still. */
function createNewest({ deployment, nowMs }: DriverDeps, reader: Reader) {
  const { rpc } = reader
  const staleMs = Math.max(STALE_MS_MIN, STALE_BLOCKS * deployment.blockTimeMs)
  let remembered: Known | undefined
  let number = 0
  /** The hash the socket told of last, until the head is read. */
  let toldHash: string | undefined
  let seenHash: unknown
  let seenAtMs: number | undefined
  /** The head that was last read, unlike those the socket told of, and since when it is. */
  let readHash: unknown
  let readAtMs = 0
  let comparedAtMs = Number.NEGATIVE_INFINITY

  const see = (hash: unknown) => {
    if (hash === seenHash) return
    seenHash = hash
    seenAtMs = nowMs()
  }
  /** Another provider's head, when it is ahead of a stale one. */
  const compare = async (head: BlockRef, provider: number): Promise<BlockRef> => {
    comparedAtMs = nowMs()
    const others = { except: new Set([provider]), isWellOnly: true }
    const { block } = await readBlock(reader, 'latest', others).catch(() => ({ block: undefined }))
    if (!block || block.number <= head.number) return head
    const host = rpc.hostOf(provider)
    rpc.distrust(provider, new RpcError('lagging', `${host}: stands still at ${head.number}`))
    return block
  }
  return {
    /** Whether blocks are read by hash just now: then their transfers are asked for together with the head. */
    isByHash: false,
    get seenAtMs() {
      return seenAtMs
    },
    /** Height of the newest block read. */
    get number() {
      return number
    },
    note(head: unknown) {
      if (typeof head !== 'object' || head === null) return
      const { hash } = head as { hash?: unknown }
      see(hash)
      toldHash = typeof hash === 'string' && HASH.test(hash) ? hash : undefined
    },
    async read(): Promise<BlockRef> {
      const hash = this.isByHash ? toldHash : undefined
      toldHash = undefined
      const { block, reading, provider } = await retrying(async () => {
        const read: By<{ block: BlockRef | undefined; reading?: Known['reading'] }> = hash
          ? await readNewest(reader, hash)
          : await readBlock(reader, 'latest')
        if (read.block) return { ...read, block: read.block }
        throw new RpcError('lagging', `${rpc.hostOf(read.provider)}: has no block at all`)
      })
      const now = nowMs()
      if (block.hash !== readHash) readAtMs = now
      readHash = block.hash
      const isOld = now - readAtMs > staleMs || now - block.timeMs > staleMs
      const isDoubtful = block.number < number || (isOld && now - comparedAtMs > COMPARE_EVERY_MS)
      const head = isDoubtful && rpc.providerCount > 1 ? await compare(block, provider) : block
      see(head.hash)
      remembered = { block: head, reading: head === block ? reading : undefined }
      number = head.number
      return head
    },
    /** What `read` answered, once, when it is of this height. */
    take(number: number): Known | undefined {
      const known = remembered?.block.number === number ? remembered : undefined
      remembered = undefined
      return known
    },
  }
}
