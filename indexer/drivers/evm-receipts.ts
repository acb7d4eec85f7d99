import { type Answer, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { BlockRef, Observation } from './driver.ts'
import {
  assertWithin,
  type By,
  headerCall,
  judged,
  RANGE_TIMEOUT_MS,
  type Reader,
  readLast,
  toHex,
  withTimes,
} from './evm-read.ts'
import { inconsistent, readTransfers, type TransferLog } from './evm-shapes.ts'

export type Receipts = {
  /** Whether any provider has the method, as far as is known. */
  isSomewhere(): boolean
  /** The watched transfers of an inclusive range, by a provider that is not excepted. Throws `RpcError`. */
  read(from: number, to: number, except?: ReadonlySet<number>): Promise<Reading>
}

type Reading = By<{ transfers: Observation[]; last: BlockRef }>

/** Blocks whose receipts are asked for in one batch: some megabytes on a busy chain. */
const BLOCKS_PER_BATCH = 8
/** How nodes say that they do not have a method: JSON-RPC's own code, and words. */
const METHOD_MISSING = -32_601
const METHOD_MISSING_WORDS = /method.{0,40}not|not.{0,20}support|unsupported|unknown method/i

/** Reads transfers from receipts, which nodes keep apart from the index that they answer logs by. */
export function createReceipts(reader: Reader): Receipts {
  const { rpc } = reader
  const without = new Set<number>()
  /** The last header read: usually the one before the next range, whose times it bounds without a call. */
  let newest: BlockRef | undefined
  return {
    isSomewhere: () => without.size < rpc.providerCount,
    async read(from, to, except = new Set()) {
      const transfers: Observation[] = []
      for (let start = from; ; start += BLOCKS_PER_BATCH) {
        const end = Math.min(to, start + BLOCKS_PER_BATCH - 1)
        const before = newest?.number === start - 1 ? newest : undefined
        const options = { except: new Set([...without, ...except]), before }
        const part = await readBatch(reader, start, end, options, (one) => without.add(one))
        newest = part.last
        transfers.push(...part.transfers)
        if (end === to) return { ...part, transfers }
      }
    },
  }
}

async function readBatch(
  reader: Reader,
  from: number,
  to: number,
  { except, before }: { except: ReadonlySet<number>; before: BlockRef | undefined },
  onMissing: (provider: number) => void,
): Promise<Reading> {
  const { rpc } = reader
  const numbers = Array.from({ length: to - from + 1 }, (_, offset) => from + offset)
  const calls = numbers.map((number) => {
    return { method: 'eth_getBlockReceipts', params: [toHex(number)] }
  })
  const ends = from === to || before ? [to] : [to, from]
  const batch = [...ends.map(headerCall), ...calls]
  const { answers, provider } = await rpc.batch(batch, { timeoutMs: RANGE_TIMEOUT_MS, except })
  const host = rpc.hostOf(provider)
  const judge = () => {
    const known = ends.map((end, index) => readLast(answers[index], end, host))
    const found = numbers.flatMap((number, index) => {
      const answer = answers[index + ends.length]
      if (isMissing(answer)) onMissing(provider)
      return readBlockReceipts(reader, unwrap(answer, host), number, host)
    })
    const [last] = known as [BlockRef]
    assertWithin(found, from, last, host)
    return { last, known, found }
  }
  const { last, known, found } = judged(rpc, provider, judge, { mayRefuse: true })
  const bounds = before ? [before, ...known] : known
  return { transfers: await withTimes(reader, found, bounds, provider), last, provider }
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

function isMissing(answer: Answer | undefined): boolean {
  if (!answer || !('error' in answer)) return false
  return answer.error.code === METHOD_MISSING || METHOD_MISSING_WORDS.test(answer.error.message)
}
