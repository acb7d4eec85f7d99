import type { Chance } from '../support/chance.ts'
import { randomEvmAddress } from '../support/seed.ts'
import type { PaymentAnswer } from '../support/stack.ts'
import { NODE_MOODS, newHash, type Signed } from './chain.ts'
import { ENDPOINT_MOODS, PART_NAMES, type World } from './world.ts'

/** What was done so far, and what the end is judged by. */
export type Story = {
  payments: PaymentAnswer[]
  /** Signed, and not mined yet. */
  pending: Signed[]
  /** Transfers of exactly what a payment was due, by transaction. */
  exact: Map<string, PaymentAnswer>
  /** Payments that a buyer canceled or a seller simulated: their end is not the chain's to decide. */
  touched: Set<string>
  /** Steps by name. */
  counts: Record<string, number>
  /** Answers that no call may give. */
  faults: string[]
}

export function createStory(): Story {
  return {
    ...{ payments: [], pending: [], exact: new Map(), touched: new Set(), counts: {}, faults: [] },
  }
}

type Step = (world: World, story: Story, chance: Chance) => Promise<void>

/** Payments that steps choose among: the youngest. */
const YOUNG_MAX = 12
/** Transactions mined in one block. */
const BLOCK_SIZE_MAX = 6
/** Of transfers, the share that a reorganisation drops for good. */
const DROPPED_SHARE = 0.3
/** One store's prices are few, so that buyers compete for amounts. */
const PRICE_CENTS = [100, 100, 100, 101, 250, 999_999]
const OUTCOMES = ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED']
const MINUTES = [1, 10, 40, 90, 25 * 60]

const STEPS = {
  checkout,
  async pay(_world, story, chance) {
    const payment = pickYoung(story, chance)
    if (payment) sign(story, payment, chance)
  },
  async mine({ chain, nowMs }, story, chance) {
    chain.mine(story.pending.splice(0, 1 + chance.below(BLOCK_SIZE_MAX)), nowMs())
  },
  async reorganise({ chain, deployment }, _story, chance) {
    const depth = 1 + chance.below(deployment.confirmations - 1)
    chain.reorganise(depth, () => !chance.isIn(DROPPED_SHARE))
  },
  async cancel(world, story, chance) {
    const payment = pickYoung(story, chance)
    if (!payment) return
    story.touched.add(payment.paymentId)
    await ask(world, story, `/v1/payments/${payment.paymentId}/cancel`, {}, [200])
  },
  async simulate(world, story, chance) {
    const payment = pickYoung(story, chance)
    if (!payment) return
    story.touched.add(payment.paymentId)
    const path = `/v1/test/payments/${payment.paymentId}/simulate`
    await ask(world, story, path, { outcome: chance.pick(OUTCOMES) }, [200, 409])
  },
  async wait(_world, _story, chance) {
    await new Promise((done) => setTimeout(done, chance.below(100)))
  },
  async endpoint({ moods }, _story, chance) {
    moods.endpoint = chance.pick(ENDPOINT_MOODS)
  },
  async node({ moods }, _story, chance) {
    moods.nodes[chance.below(2)] = chance.pick(NODE_MOODS)
  },
  travel: (world, _story, chance) => world.travel(chance.pick(MINUTES)),
  cut: (world) => world.cut(),
  restart: (world, _story, chance) => world.restart(chance.pick(PART_NAMES)),
} satisfies Record<string, Step>

const WEIGHTS: Record<keyof typeof STEPS, number> = {
  ...{ checkout: 30, pay: 30, mine: 30, wait: 10 },
  ...{ reorganise: 3, cancel: 3, simulate: 3 },
  ...{ endpoint: 2, node: 3, travel: 0.5, cut: 0.3, restart: 1 },
}

/** Does one thing that chance decides. */
export async function takeStep(world: World, story: Story, chance: Chance): Promise<void> {
  const name = chance.weighted(WEIGHTS)
  story.counts[name] = (story.counts[name] ?? 0) + 1
  await STEPS[name](world, story, chance)
}

async function checkout(world: World, story: Story, chance: Chance): Promise<void> {
  const shop = chance.pick(world.shops)
  const body = {
    publishableKey: shop.keys.test.publishable,
    ...{ amount: chance.pick(PRICE_CENTS), network: 'base', token: 'usdc' },
  }
  const answer = await ask(world, story, '/v1/checkout', body, [201])
  if (answer) story.payments.push(answer as PaymentAnswer)
}

function pickYoung({ payments }: Story, chance: Chance): PaymentAnswer | undefined {
  return payments.length === 0 ? undefined : chance.pick(payments.slice(-YOUNG_MAX))
}

/** A transfer to a payment's address: mostly what is due, sometimes anything else. */
function sign(story: Story, payment: PaymentAnswer, chance: Chance): void {
  const due = BigInt(payment.amountBaseUnits)
  const amountBaseUnits = chance.isIn(0.6)
    ? due
    : chance.pick([due / 2n, due - due / 3n, due * 2n, due + 1n, due - 1n, due / 50n, 1n, 0n])
  const txHash = newHash()
  story.pending.push({ txHash, from: randomEvmAddress(), to: payment.payTo, amountBaseUnits })
  if (amountBaseUnits === due) story.exact.set(txHash, payment)
}

/** A request that may find the database away (503), and otherwise must be answered as it may be. */
async function ask(
  { api }: World,
  story: Story,
  path: string,
  body: object,
  statuses: readonly number[],
): Promise<unknown> {
  const headers = { Origin: 'https://shop.example' }
  const answer = await api.call('POST', path, { body, headers })
  if (answer.status !== 503 && !statuses.includes(answer.status)) {
    story.faults.push(`${path}: ${answer.status} ${answer.text}`)
  }
  return answer.status < 300 ? answer.body : undefined
}
