import assert from 'node:assert/strict'
import { type Chance, createChance } from '../support/chance.ts'
import { FAULTS } from '../support/faults.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import {
  networksOf,
  type PaymentAnswer,
  type ProcessName,
  type Stack,
  startStack,
} from '../support/stack.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

/** What was done, and what came of it: everything was confirmed and told, or `chaos` had thrown. */
export type ChaosReport = {
  /** Faults by name. */
  faults: Record<string, number>
  /** Payments paid; each was confirmed. */
  paidCount: number
  /** Checkouts that were refused while something was away; their buyers were told so. */
  refusedCount: number
  /** POSTs received; an event may come more than once. */
  postCount: number
}

type Scene = { stack: Stack; proxy: TcpProxy; node: LyingRpc; chance: Chance }

const PROCESSES: readonly ProcessName[] = ['api', 'indexer', 'dispatcher']
const CONFIRMATIONS = 3
/** Milliseconds between two faults, and of one that lasts. */
const PAUSE_MS_MAX = 2_000
const FAULT_MS_MAX = 4_000
const HARM_EVERY_MS = 300
/** Milliseconds between two checkouts of the buyers together. */
const BUY_EVERY_MS = 50
/** Milliseconds until all is confirmed and told once nothing is wrong any more: a job whose dispatcher died takes up to 60 s. */
const RECOVER_MS = 120_000
/** Prices are far apart, so that no amount is near to another. */
const STEP_CENTS = 1_000

/**
 * The real processes under load while they are killed, the database is cut off or silent, the node lies and the endpoint errs,
 * in an order that a seed decides. Then nothing is wrong any more, and everything paid must be confirmed and told, once.
 */
export async function chaos(options: { seed: number; seconds: number }): Promise<ChaosReport> {
  const scene = await createScene(createChance(options.seed))
  const { stack, proxy, node } = scene
  try {
    const report: ChaosReport = { faults: {}, paidCount: 0, refusedCount: 0, postCount: 0 }
    const endsAt = performance.now() + options.seconds * 1_000
    const isOver = () => performance.now() >= endsAt
    const [paid] = await Promise.all([buy(scene, report, isOver), harm(scene, report, isOver)])
    await untilConfirmed(stack, paid)
    await stack.judge()
    return { ...report, paidCount: paid.length, postCount: stack.receiver.received.length }
  } finally {
    await stack.close()
    await Promise.all([proxy.close(), node.stop()])
  }
}

async function createScene(chance: Chance): Promise<Scene> {
  const around: Partial<Pick<Scene, 'proxy' | 'node'>> = {}
  const stack = await startStack({
    async databaseUrl(url) {
      around.proxy = await startTcpProxy(url)
      return around.proxy.url
    },
    async networks(chain) {
      const node = await startLyingRpc(chain)
      around.node = node
      const { base } = networksOf(chain, CONFIRMATIONS)
      // The liar comes first; the other one tells the truth.
      return { base: { test: { ...base.test, rpc: [node.wsUrl, node.httpUrl, chain.httpUrl] } } }
    },
  })
  const { proxy, node } = around
  if (!proxy || !node) throw new Error('the stack asks for both')
  return { stack, proxy, node, chance }
}

/** Buyers check out and pay at once; one who is refused comes back no more. Answers what was paid. */
async function buy(
  { stack }: Scene,
  report: ChaosReport,
  isOver: () => boolean,
): Promise<PaymentAnswer[]> {
  const paid: PaymentAnswer[] = []
  for (let count = 1; !isOver(); count += 1) {
    try {
      const payment = await stack.checkout({ amount: count * STEP_CENTS })
      await stack.pay(payment)
      paid.push(payment)
    } catch (error) {
      if (!isAway(error)) throw error
      report.refusedCount += 1
    }
    await pause(BUY_EVERY_MS)
  }
  return paid
}

/** Whether a process or the database was away: nobody answered, or was told to come again. Anything else is a fault. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return !(error instanceof assert.AssertionError) || error.message.includes('"unavailable"')
}

/** One fault after another; each is over before the next begins. */
async function harm(scene: Scene, report: ChaosReport, isOver: () => boolean): Promise<void> {
  const { stack, proxy, node, chance } = scene
  const lastMs = () => chance.below(FAULT_MS_MAX)
  const faults = {
    async 'process killed'() {
      const name = chance.pick(PROCESSES)
      await stack.kill(name)
      await pause(lastMs())
      await stack.start(name)
    },
    async 'database away'() {
      proxy.behave(chance.isIn(0.5) ? 'hangUp' : 'silent')
      await pause(lastMs())
      proxy.behave('hangUp')
      proxy.behave('forward')
    },
    async 'node at fault'() {
      const fault = chance.pick(FAULTS)
      const head = (await stack.chain.head()).number
      node.lie(fault.lies?.({ address: stack.seller.wallets[0]?.address ?? '', head }))
      const endsAt = performance.now() + lastMs()
      while (performance.now() < endsAt) {
        fault.harm?.(node)
        await pause(HARM_EVERY_MS)
      }
      fault.heal?.(node)
      node.lie()
    },
    async 'endpoint at fault'() {
      stack.receiver.answer(chance.pick([500, 'never', 'reset', 'garbage'] as const))
      await pause(lastMs())
      stack.receiver.answer(200)
    },
  }
  while (!isOver()) {
    const name = chance.pick(Object.keys(faults) as (keyof typeof faults)[])
    report.faults[name] = (report.faults[name] ?? 0) + 1
    await faults[name]()
    await pause(chance.below(PAUSE_MS_MAX))
  }
}

async function untilConfirmed({ database, chain }: Stack, paid: PaymentAnswer[]): Promise<void> {
  const ids = paid.map(({ paymentId }) => paymentId)
  await until(
    async () => {
      await chain.mine()
      const [row] = await database.db<{ open: number; undelivered: number }[]>`
        select
          (select count(*)::integer from payments
            where payment_id = any (${ids}) and status <> 'CONFIRMED') as open,
          (select count(*)::integer from deliveries where status = 'PENDING') as undelivered`
      if (row?.open !== 0 || row.undelivered !== 0) throw new Error(JSON.stringify(row))
      return true
    },
    { what: 'all that was paid is confirmed and told', timeoutMs: RECOVER_MS, everyMs: 250 },
  )
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
