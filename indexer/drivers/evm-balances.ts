import { type ReadOptions, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { RpcCall } from '../socket.ts'
import type { Observation } from './driver.ts'
import { RANGE_TIMEOUT_MS, type Reader, toHex } from './evm-read.ts'

/** What a balance is of: a watched contract and a recipient, both in lower case. */
type Holding = { contract: string; holder: string }
type Sheet = readonly bigint[]
/** The balances at the end of the range that was looked at last, by contract and holder: the next one may begin there. */
export type KnownBalances = { at?: number; balances?: ReadonlyMap<string, bigint> }
/** By holding, in the order of blocks: what came in less what went out. */
type Flows = readonly (readonly { blockNumber: number; amount: bigint }[])[]

/**
 * Runs as the code of a contract that is about to be created, so that nothing has to be deployed: asks `balanceOf` for each pair
 * of token and holder (20 bytes each) that follows it, and returns the answers as words; reverts when one token gives none.
 */
const READ_BALANCES = [
  // mem[0] = selector of balanceOf(address) (EIP-20); on the stack: where answers go, and where pairs begin, behind this code.
  `7f70a08231${'00'.repeat(28)}600052606061006e`,
  // Until the end of the code: the pair's token to mem[0x40], its holder to mem[4].
  '5b3881101561006557601481604c39601460148201601039',
  // The static call; its 32 bytes become the next answer.
  '602082602460006040515afa601f3d1116605957600080fd',
  // Both pointers on, and again; then all answers are returned.
  '5b60280190602001906029565b50606090036060f3',
].join('')
/** Pairs of one call: the answer counts as the code of a contract, 24,576 bytes at most (EIP-170), and so does its gas. */
const PAIRS_PER_CALL = 500
/** Balances are looked at this often: money that came and went in between is not seen. */
const SAMPLE_BLOCKS = 128
/** Balances read on the search for unexplained blocks: some dozen of them in 500 blocks. Beyond, logs are worth nothing. */
const SHEETS_MAX = 200

/**
 * Looks whether transfers, the logs' word, explain how the balances of `holders` changed over an inclusive range: the chain's
 * state knows nothing of the index that logs are answered from. A few calls for hundreds of blocks. Where they do not, the
 * search narrows down to single blocks.
 *
 * Throws `RpcError` when the node has forgotten the state of these blocks, or when nearly nothing is explained.
 */
export async function findUnexplained(
  reader: Reader,
  { from, to }: { from: number; to: number },
  holders: readonly string[],
  transfers: readonly Observation[],
  { known = {}, ...options }: ReadOptions & { known?: KnownBalances },
): Promise<number[]> {
  const holdings = toHoldings(reader, holders)
  if (holdings.length === 0) return []
  const flows = toFlows(holdings, transfers)
  let sheetCount = 0
  const readSheets = (numbers: readonly number[]) => {
    sheetCount += numbers.length
    if (sheetCount > SHEETS_MAX) throw new RpcError('inconsistent', 'logs explain no balances')
    return readBalances(reader, holdings, numbers, options)
  }
  const search = async (
    low: number,
    high: number,
    atLow: Sheet,
    atHigh: Sheet,
  ): Promise<number[]> => {
    if (isExplained(flows, low, high, atLow, atHigh)) return []
    if (high - low === 1) return [high]
    const middle = Math.floor((low + high) / 2)
    const [atMiddle = []] = await readSheets([middle])
    const below = await search(low, middle, atLow, atMiddle)
    return [...below, ...(await search(middle, high, atMiddle, atHigh))]
  }
  const heights = toHeights(from - 1, to)
  const atBegin = known.at === from - 1 ? recall(holdings, known) : undefined
  const sheets = atBegin
    ? [atBegin, ...(await readSheets(heights.slice(1)))]
    : await readSheets(heights)
  const unexplained: number[] = []
  for (const [index, high] of heights.entries()) {
    const [low, atLow, atHigh] = [heights[index - 1], sheets[index - 1], sheets[index]]
    if (low === undefined || !atLow || !atHigh) continue
    unexplained.push(...(await search(low, high, atLow, atHigh)))
  }
  const last = sheets.at(-1) ?? []
  known.at = to
  known.balances = new Map(holdings.map((one, place) => [keyOf(one), last[place] ?? 0n]))
  return unexplained
}

/** The balances of all these holdings, where all are known. */
function recall(holdings: readonly Holding[], { balances }: KnownBalances): Sheet | undefined {
  const sheet = holdings.flatMap((one) => balances?.get(keyOf(one)) ?? [])
  return sheet.length === holdings.length ? sheet : undefined
}

function keyOf({ contract, holder }: Holding): string {
  return `${contract} ${holder}`
}

/**
 * Reads how the balances of `holders` changed in one block, and answers a judge of readings of it: whether they are what changed
 * them. Throws `RpcError` when the node has forgotten the state.
 */
export async function readChanges(
  reader: Reader,
  number: number,
  holders: readonly string[],
  options: ReadOptions,
): Promise<(transfers: readonly Observation[]) => boolean> {
  const holdings = toHoldings(reader, holders)
  const [before = [], after = []] = await readBalances(
    reader,
    holdings,
    [number - 1, number],
    options,
  )
  return (transfers) => isExplained(toFlows(holdings, transfers), number - 1, number, before, after)
}

function toHoldings({ contracts }: Reader, holders: readonly string[]): Holding[] {
  return [...contracts.keys()].flatMap((contract) =>
    holders.map((holder) => ({ contract, holder: holder.toLowerCase() })),
  )
}

/** Both ends, and heights in between. */
function toHeights(low: number, high: number): number[] {
  const heights = [low]
  for (let next = low + SAMPLE_BLOCKS; next < high; next += SAMPLE_BLOCKS) heights.push(next)
  return [...heights, high]
}

function toFlows(holdings: readonly Holding[], transfers: readonly Observation[]): Flows {
  const flows = holdings.map((): { blockNumber: number; amount: bigint }[] => [])
  const places = new Map(holdings.map((one, place) => [keyOf(one), place]))
  const note = (one: Observation, holder: string, amount: bigint) => {
    const place = places.get(`${one.contract.toLowerCase()} ${holder}`)
    if (place !== undefined) flows[place]?.push({ blockNumber: one.blockNumber, amount })
  }
  const known = new Set(holdings.map(({ holder }) => holder))
  for (const one of transfers) {
    const { toKey = one.to.toLowerCase(), fromKey = one.from.toLowerCase() } = one
    if (known.has(toKey)) note(one, toKey, one.amountBaseUnits)
    if (known.has(fromKey)) note(one, fromKey, -one.amountBaseUnits)
  }
  return flows
}

function isExplained(
  flows: Flows,
  low: number,
  high: number,
  atLow: Sheet,
  atHigh: Sheet,
): boolean {
  return flows.every((flow, place) => {
    const moved = flow
      .filter(({ blockNumber }) => blockNumber > low && blockNumber <= high)
      .reduce((sum, { amount }) => sum + amount, 0n)
    return (atHigh[place] ?? 0n) - (atLow[place] ?? 0n) === moved
  })
}

/** The balances of all holdings at each of these heights, in one batch. */
async function readBalances(
  { rpc }: Reader,
  holdings: readonly Holding[],
  numbers: readonly number[],
  options: ReadOptions,
): Promise<Sheet[]> {
  const parts: Holding[][] = []
  for (let start = 0; start < holdings.length; start += PAIRS_PER_CALL) {
    parts.push(holdings.slice(start, start + PAIRS_PER_CALL))
  }
  const calls = numbers.flatMap((number) => parts.map((part) => toCall(part, number)))
  const batch = { timeoutMs: RANGE_TIMEOUT_MS, ...options }
  const { answers, provider } = await rpc.batch(calls, batch)
  const host = rpc.hostOf(provider)
  return numbers.map((_, index) =>
    parts.flatMap((part, place) =>
      readWords(unwrap(answers[index * parts.length + place], host), part.length, host),
    ),
  )
}

function toCall(part: readonly Holding[], number: number): RpcCall {
  const pairs = part.map(({ contract, holder }) => contract.slice(2) + holder.slice(2))
  return {
    method: 'eth_call',
    params: [{ data: `0x${READ_BALANCES}${pairs.join('')}` }, toHex(number)],
  }
}

function readWords(value: unknown, count: number, host: string): bigint[] {
  if (
    typeof value !== 'string' ||
    value.length !== 2 + count * 64 ||
    !/^0x[\da-f]*$/i.test(value)
  ) {
    throw new RpcError('malformed', `${host}: answered malformed balances`)
  }
  return Array.from({ length: count }, (_, index) =>
    BigInt(`0x${value.slice(2 + index * 64, 66 + index * 64)}`),
  )
}
