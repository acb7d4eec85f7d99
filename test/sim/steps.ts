import type { Chance } from '../support/chance.ts'
import { randomEvmAddress, type SeededStore } from '../support/seed.ts'
import type { PaymentAnswer } from '../support/stack.ts'
import { NODE_MOODS, newHash, type Signed } from './chain.ts'
import { ENDPOINT_MOODS, PART_NAMES, type World } from './world.ts'

/** What was done so far, and what the end is judged by. */
export type Story = {
  payments: PaymentAnswer[]
  /** The store of each payment. */
  shops: Map<string, SeededStore>
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
    ...{
      payments: [],
      shops: new Map(),
      pending: [],
      exact: new Map(),
      touched: new Set(),
      counts: {},
      faults: [],
    },
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
/** Of checkouts, those at a recurring price. */
const SUBSCRIBING_SHARE = 0.2
const OUTCOMES = ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED']
const MINUTES = [1, 10, 40, 90, 25 * 60]

const STEPS = {
  checkout,
  async pay(_world, story, chance) {
    const payment = pickYoung(story, chance)
    if (payment) sign(story, payment, chance)
  },
  async payInHalves(_world, story, chance) {
    const payment = pickYoung(story, chance)
    if (!payment) return
    const due = BigInt(payment.amountBaseUnits)
    for (const part of [due / 2n, due - due / 2n]) send(story, payment, part)
  },
  attach,
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
  ...{ checkout: 30, pay: 25, payInHalves: 5, mine: 30, wait: 10, attach: 3 },
  ...{ reorganise: 3, cancel: 3, simulate: 3 },
  ...{ endpoint: 2, node: 3, travel: 0.5, cut: 0.3, restart: 1 },
}

/** Does one thing that chance decides. */
export async function takeStep(world: World, story: Story, chance: Chance): Promise<void> {
  const name = chance.weighted(WEIGHTS)
  story.counts[name] = (story.counts[name] ?? 0) + 1
  await STEPS[name](world, story, chance)
}

/** A seller gives what lies in the inbox to an open payment, or notes that it was seen to. */
async function attach(world: World, story: Story, chance: Chance): Promise<void> {
  const payment = pickYoung(story, chance)
  const shop = payment && story.shops.get(payment.paymentId)
  if (!shop) return
  const key = shop.keys.test.secret
  const path = `/v1/stores/${shop.store.storeId}/transfers`
  const found = await world.api.call('GET', `${path}?state=UNMATCHED`, { key })
  const transfers: { transferId: string }[] = found.body?.data ?? []
  if (transfers.length === 0) return
  const transfer = `${path}/${chance.pick(transfers).transferId}`
  if (chance.isIn(0.2))
    await ask(world, story, `${transfer}/resolve`, { note: 'Sent back' }, [200, 409], key)
  else {
    const { paymentId } = payment
    await ask(world, story, `${transfer}/attach`, { paymentId }, [200, 404, 409, 422], key)
  }
}

async function checkout(world: World, story: Story, chance: Chance): Promise<void> {
  const shop = chance.pick(world.shops)
  const what = chance.isIn(SUBSCRIBING_SHARE)
    ? { priceId: shop.price.priceId, buyerEmail: `buyer-${chance.below(1_000)}@mail.test` }
    : { amount: chance.pick(PRICE_CENTS) }
  const body = {
    publishableKey: shop.keys.test.publishable,
    ...{ ...what, network: 'base', token: 'usdc' },
  }
  const answer = await ask(world, story, '/v1/checkout', body, [201])
  if (!answer) return
  const payment = answer as PaymentAnswer
  story.payments.push(payment)
  story.shops.set(payment.paymentId, shop)
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
  send(story, payment, amountBaseUnits)
}

function send(story: Story, payment: PaymentAnswer, amountBaseUnits: bigint): void {
  const txHash = newHash()
  story.pending.push({ txHash, from: randomEvmAddress(), to: payment.payTo, amountBaseUnits })
  if (amountBaseUnits === BigInt(payment.amountBaseUnits)) story.exact.set(txHash, payment)
}

/** A request that may find the database away (503), and otherwise must be answered as it may be. */
async function ask(
  { api }: World,
  story: Story,
  path: string,
  body: object,
  statuses: readonly number[],
  key?: string,
): Promise<unknown> {
  const headers = { Origin: 'https://shop.example' }
  const answer = await api.call('POST', path, { body, headers, ...(key ? { key } : {}) })
  if (answer.status !== 503 && !statuses.includes(answer.status)) {
    story.faults.push(`${path}: ${answer.status} ${answer.text}`)
  }
  return answer.status < 300 ? answer.body : undefined
}
