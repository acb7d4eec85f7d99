import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startTestChain, type TestChain } from './anvil.ts'
import { type Claim, createEvmFollowing, type EvmFollowing } from './evm-follow.ts'
import { FAULTS, type Fault } from './faults.ts'
import { type LyingRpc, startLyingRpc } from './lying-rpc.ts'
import { until } from './until.ts'

/** One follower under one fault. `first` pays during the fault, `lost` leaves the chain, `second` pays after the fault. */
export type Cell = {
  name: string
  fault: Fault
  isAlone: boolean
  following: EvmFollowing
  node: LyingRpc
  first: Claim
  lost: Claim
  second: Claim
}

export type Column = {
  chain: TestChain
  cells: readonly Cell[]
  /** Pays every cell's payment of this kind, in one transaction; answers its hash. */
  pay(which: 'first' | 'lost' | 'second'): Promise<string>
  /** Begins every cell's fault. */
  begin(): Promise<void>
}

/** Milliseconds a fault lasts where a single node could not be lived with. */
const FAULT_MS = 2_500
const HARM_EVERY_MS = 400
/** Milliseconds from the end of a fault until all is as it should be (must reach: 15 s). */
const RECOVER_MS = 15_000
/** Milliseconds until what is held is decided: it is looked at every 15 s, and has to be shown wrong twice. */
const DECIDE_MS = 45_000
/** Milliseconds for a whole column on a busy machine. */
const COLUMN_TIMEOUT_MS = 80_000
const MINE_EVERY_MS = 400
const STATES_KEPT = 1_000
/** Cells set up at the same time: each copies a database. */
const CELLS_AT_ONCE = 6

/**
 * Declares a column of the fault matrix: a test for each fault with one provider alone, and with another one beside it that
 * is well. All cells live through one story on one chain at the same time, each with its own node in between, its own
 * database and its own seller. With two providers a fault lasts to the end; one alone gets well after a while, unless
 * the fault can be lived with.
 */
export function declareColumn(
  name: string,
  story: (column: Column) => Promise<void>,
  faults: readonly Fault[] = FAULTS,
): void {
  const names = faults.flatMap((fault) => [
    { fault, isAlone: true, name: `${name}, one provider: ${fault.name}` },
    { fault, isAlone: false, name: `${name}, two providers: ${fault.name}` },
  ])
  const cleanUps: (() => Promise<unknown>)[] = []
  let played: Promise<readonly Cell[]> | undefined
  const play = async () => {
    // An archive: what its logs invent can be disproved for as long as the column lasts.
    const chain = await startTestChain({ statesKept: STATES_KEPT })
    cleanUps.push(() => chain.stop())
    const cells: Cell[] = []
    for (let start = 0; start < names.length; start += CELLS_AT_ONCE) {
      const part = names.slice(start, start + CELLS_AT_ONCE)
      cells.push(...(await Promise.all(part.map((one) => createCell(chain, one, cleanUps)))))
    }
    const timers: ReturnType<typeof setInterval>[] = []
    cleanUps.push(async () => timers.forEach(clearInterval))
    await story({
      chain,
      cells,
      pay: (which) =>
        chain.payBatch(
          chain.tokens.usdc,
          cells.map((cell) => ({ to: cell.following.address, amountBaseUnits: cell[which].due })),
        ),
      begin: () => beginFaults(chain, cells, timers),
    })
    return cells
  }
  after(async () => {
    await Promise.all(
      cleanUps
        .reverse()
        .slice(0, -1)
        .map((cleanUp) => cleanUp()),
    )
    await cleanUps.at(-1)?.()
  })
  for (const { name } of names) {
    test(name, { timeout: COLUMN_TIMEOUT_MS }, async () => {
      played ??= play()
      const cell = (await played).find((one) => one.name === name)
      assert.ok(cell)
      const { following, first, second, lost } = cell
      await following.untilStatus(first.paymentId, 'CONFIRMED', RECOVER_MS)
      await following.untilStatus(second.paymentId, 'CONFIRMED', RECOVER_MS)
      assert.equal(await following.statusOf(lost.paymentId), 'PENDING')
      await until(async () => (await following.heldCount()) === 0, {
        what: 'nothing stays held',
        timeoutMs: DECIDE_MS,
      })
      await following.stop()
      await following.judge()
    })
  }
}

async function createCell(
  chain: TestChain,
  { name, fault, isAlone }: { name: string; fault: Fault; isAlone: boolean },
  cleanUps: (() => Promise<unknown>)[],
): Promise<Cell> {
  const node = await startLyingRpc(chain)
  const other = chain.httpUrl.replace('127.0.0.1', 'localhost')
  const rpc = [node.wsUrl, node.httpUrl, ...(isAlone ? [] : [other])]
  const following = await createEvmFollowing({ chain, rpc })
  cleanUps.push(async () => {
    fault.heal?.(node)
    await following.close()
    await node.stop()
  })
  await following.start()
  const at = (await chain.head()).number
  await until(async () => (await following.position()) >= at, { what: `${name}: started` })
  const first = await following.claim(1_000)
  const lost = await following.claim(50_000)
  const second = await following.claim(2_500_000)
  return { name, fault, isAlone, following, node, first, lost, second }
}

async function beginFaults(
  chain: TestChain,
  cells: readonly Cell[],
  timers: ReturnType<typeof setInterval>[],
): Promise<void> {
  const head = (await chain.head()).number
  for (const { fault, node, following, isAlone } of cells) {
    node.lie(fault.lies?.({ address: following.address, head }) ?? {})
    const timer = setInterval(() => fault.harm?.(node), HARM_EVERY_MS)
    fault.harm?.(node)
    timers.push(timer)
    if (fault.isBearable || (!isAlone && !fault.isTie)) continue
    const end = () => {
      clearInterval(timer)
      fault.heal?.(node)
      node.lie()
    }
    timers.push(setTimeout(end, FAULT_MS))
  }
}

/** Mines, unless told not to, until every follower's payment has this status, or time is up: each cell's own test tells which has not. */
export async function mineUntil(
  { chain, cells }: Column,
  which: 'first' | 'lost' | 'second',
  status: string,
  { isMining = true } = {},
): Promise<void> {
  const deadline = performance.now() + RECOVER_MS
  const waiting = new Set(cells)
  while (waiting.size > 0 && performance.now() < deadline) {
    if (isMining) await chain.mine()
    const look = async (cell: Cell) => {
      if ((await cell.following.statusOf(cell[which].paymentId)) === status) waiting.delete(cell)
    }
    await Promise.all([...waiting].map(look))
    await new Promise((done) => setTimeout(done, MINE_EVERY_MS))
  }
}
