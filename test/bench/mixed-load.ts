import { readFile } from 'node:fs/promises'
import { HDKey } from '@scure/bip32'
import { randomEvmAddress, type SeededStore, seedStore } from '../support/seed.ts'
import type { PaymentAnswer, Stack } from '../support/stack.ts'

export type MixedOptions = {
  seconds: number
  /** Requests under way at once. */
  concurrency: number
}

export type MixedCounts = {
  /** Requests by call and status: `checkout 201`. */
  answers: Record<string, number>
  /** Token transfers mined while it ran. */
  transferCount: number
  /** What should never have come: statuses of 500 and above, and answers that no call may give. */
  faults: string[]
  perSecond: number
  /** Resident memory of the API, in MiB, every half second; empty where the system does not tell. */
  apiMemoryMiB: number[]
}

const SAMPLE_EVERY_MS = 500
/** Payments that reads, cancels and simulates choose among: the youngest, so that calls meet at the same rows. */
const YOUNG_MAX = 400
const FAULTS_MAX = 20
const OUTCOMES = ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED']
const STATUSES: Record<string, readonly number[]> = {
  checkout: [201],
  read: [200],
  cancel: [200],
  simulate: [200, 409],
}

/** Stores that share an address, have one of their own, or an extended public key. */
export async function seedShops(stack: Stack): Promise<SeededStore[]> {
  const { db } = stack.database
  const shared = stack.seller.wallets[0]?.address ?? randomEvmAddress()
  const xpub = HDKey.fromMasterSeed(crypto.getRandomValues(new Uint8Array(32))).publicExtendedKey
  const wallets = [{ address: shared }, { address: randomEvmAddress() }, { xpub }, { xpub }]
  const shops = [stack.seller]
  for (const wallet of wallets) {
    shops.push(await seedStore(db, { wallets: [{ network: 'base', ...wallet }] }))
  }
  return shops
}

/**
 * Checkouts, reads, cancels and simulates of several stores, as fast as they are answered, while some buyers pay on the
 * chain: all of them at the same young payments.
 */
export async function runMixed(
  stack: Stack,
  shops: readonly SeededStore[],
  { seconds, concurrency }: MixedOptions,
): Promise<MixedCounts> {
  const counts: MixedCounts = {
    ...{ answers: {}, transferCount: 0, faults: [], perSecond: 0, apiMemoryMiB: [] },
  }
  const young: PaymentAnswer[] = []
  const endsAt = performance.now() + seconds * 1_000
  const isOver = () => performance.now() >= endsAt || counts.faults.length >= FAULTS_MAX
  const worker = async () => {
    while (!isOver()) await step(stack, shops, young, counts)
  }
  await Promise.all([
    ...Array.from({ length: concurrency }, worker),
    payAll(stack, young, counts, isOver),
    sample(stack, counts, isOver),
  ])
  const requests = Object.values(counts.answers).reduce((sum, count) => sum + count, 0)
  return { ...counts, perSecond: requests / seconds }
}

async function step(
  stack: Stack,
  shops: readonly SeededStore[],
  young: PaymentAnswer[],
  counts: MixedCounts,
): Promise<void> {
  const dice = Math.random()
  const payment = pick(young)
  if (dice < 0.35 || !payment) {
    const body = await ask(stack, counts, 'checkout', '/v1/checkout', checkoutBody(pick(shops)))
    if (body) young.push(body as PaymentAnswer)
    if (young.length > YOUNG_MAX) young.shift()
    return
  }
  const { paymentId } = payment
  if (dice < 0.75) await ask(stack, counts, 'read', `/v1/payments/${paymentId}`)
  else if (dice < 0.85) await ask(stack, counts, 'cancel', `/v1/payments/${paymentId}/cancel`, {})
  else {
    const body = { outcome: pick(OUTCOMES) }
    await ask(stack, counts, 'simulate', `/v1/test/payments/${paymentId}/simulate`, body)
  }
}

function checkoutBody(shop: SeededStore | undefined) {
  const isPriced = Math.random() < 0.5
  return {
    publishableKey: shop?.keys.test.publishable,
    ...(isPriced
      ? { priceId: shop?.price.priceId }
      : { amount: 1 + Math.floor(Math.random() * 1e6) }),
    ...{ network: 'base', token: 'usdc', metadata: { order: String(Math.random()) } },
  }
}

/** One request; answers its body when it did what was asked. */
async function ask(
  { apiUrl }: Stack,
  counts: MixedCounts,
  name: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`${apiUrl}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'Content-Type': 'application/json', Origin: 'https://shop.example' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  const key = `${name} ${response.status}`
  counts.answers[key] = (counts.answers[key] ?? 0) + 1
  if (!STATUSES[name]?.includes(response.status)) counts.faults.push(`${key}: ${text}`)
  return response.ok ? JSON.parse(text) : undefined
}

/** Pays exactly, too little, too much or twice, and mines. */
async function payAll(
  stack: Stack,
  young: readonly PaymentAnswer[],
  counts: MixedCounts,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const payment = pick(young.slice(-20))
    if (payment) {
      const due = BigInt(payment.amountBaseUnits)
      const amount = pick([due, due, due, due / 2n, due * 2n, due - due / 3n]) ?? due
      if (amount > 0n) {
        await stack.pay(payment, amount)
        counts.transferCount += 1
      }
    }
    await stack.chain.mine()
  }
}

async function sample(stack: Stack, counts: MixedCounts, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const memory = await readMemoryMiB(stack.pid('api'))
    if (memory !== undefined) counts.apiMemoryMiB.push(memory)
    await new Promise((next) => setTimeout(next, SAMPLE_EVERY_MS))
  }
}

async function readMemoryMiB(pid: number | undefined): Promise<number | undefined> {
  // Linux tells it in a file; elsewhere the number is left out.
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kib = /VmRSS:\s+(\d+) kB/.exec(status)?.[1]
  return kib === undefined ? undefined : Number(kib) / 1_024
}

function pick<T>(values: readonly T[]): T | undefined {
  return values[Math.floor(Math.random() * values.length)]
}
