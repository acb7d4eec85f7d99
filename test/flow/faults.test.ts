import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { call } from '../support/api.ts'
import { createChance } from '../support/chance.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import {
  networksOf,
  type PaymentAnswer,
  type ProcessName,
  type Stack,
  startStack,
} from '../support/stack.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 90_000
const PAYMENTS = 12
const KILLS = 5
/** The same kills in the same order each time. */
const SEED = 20_260_702
/** Milliseconds for the API to say 503, and for all to be well again once the database or the node is. */
const ANSWER_MS = 15_000
const RECOVER_MS = 40_000

let stack: Stack
let proxy: TcpProxy
let node: LyingRpc | undefined

before(
  async () => {
    stack = await startStack({
      async databaseUrl(url) {
        proxy = await startTcpProxy(url)
        return proxy.url
      },
      async networks(chain) {
        node = await startLyingRpc(chain)
        const { base } = networksOf(chain, 3)
        return { base: { test: { ...base.test, rpc: [node.wsUrl, node.httpUrl] } } }
      },
    })
  },
  { timeout },
)
after(
  async () => {
    await stack.judge()
    await stack.close()
    await Promise.all([proxy.close(), node?.stop()])
  },
  { timeout },
)

async function statusOf({ paymentId }: PaymentAnswer): Promise<string> {
  const [row] = await stack.database.db`
    select status from payments where payment_id = ${paymentId}`
  return String(row?.['status'])
}

async function untilAll(payments: readonly PaymentAnswer[], status: string): Promise<void> {
  await until(
    async () => {
      await stack.chain.mine()
      const states = await Promise.all(payments.map(statusOf))
      return states.every((one) => one === status)
    },
    { what: `every payment is ${status}`, timeoutMs: RECOVER_MS, everyMs: 250 },
  )
}

async function checkouts(count: number, firstCents: number): Promise<PaymentAnswer[]> {
  const payments: PaymentAnswer[] = []
  // Far apart, so that no amount is near to another.
  for (let index = 0; index < count; index += 1) {
    payments.push(await stack.checkout({ amount: firstCents + index * 1_000 }))
  }
  return payments
}

test('random processes are killed while a dozen payments are under way: all finish, once', {
  timeout,
}, async () => {
  const chance = createChance(SEED)
  const names: ProcessName[] = ['api', 'indexer', 'dispatcher']
  const payments = await checkouts(PAYMENTS, 10_000)
  let nextKillAt = 0
  let kills = 0
  for (const [index, payment] of payments.entries()) {
    await stack.pay(payment)
    if (index < nextKillAt || kills >= KILLS) continue
    const name = chance.pick(names)
    await stack.kill(name)
    await stack.chain.mine(1 + chance.below(3))
    await stack.start(name)
    kills += 1
    nextKillAt = index + 1 + chance.below(2)
  }
  assert.equal(kills, KILLS)
  await untilAll(payments, 'CONFIRMED')
  for (const { paymentId } of payments) {
    await stack.untilReceived(paymentId, ['payment.detected', 'payment.confirmed'])
  }
})

for (const mode of ['hangUp', 'silent'] as const) {
  test(`the database is gone (${mode}) in the middle: 503 in bounded time, then all finish`, {
    timeout,
  }, async () => {
    const payments = await checkouts(3, mode === 'hangUp' ? 100_000 : 200_000)
    await stack.pay(payments[0] as PaymentAnswer)
    proxy.behave(mode)
    const startedAt = performance.now()
    const answer = await call(stack.apiUrl, 'GET', `/v1/payments/${payments[1]?.paymentId}`)
    const elapsedMs = performance.now() - startedAt
    assert.equal(answer.status, 503, answer.text)
    assert.equal(answer.body.error.code, 'unavailable')
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    assert.ok(elapsedMs < ANSWER_MS, `answered in ${elapsedMs} ms`)
    await stack.pay(payments[1] as PaymentAnswer)
    proxy.behave('hangUp')
    proxy.behave('forward')
    await stack.pay(payments[2] as PaymentAnswer)
    await untilAll(payments, 'CONFIRMED')
  })
}

test('the node is gone in the middle: readyz says so within 30 s, then all finish', {
  timeout,
}, async () => {
  const [first, second] = await checkouts(2, 300_000)
  assert.ok(first && second)
  await stack.pay(first)
  node?.lie({ requests: 'reset' })
  node?.cut('reset')
  await stack.pay(second)
  const faults = async () => (await call(stack.apiUrl, 'GET', '/readyz')).body
  const seen = await until(
    async () => {
      const body = await faults()
      return body.status === 'DEGRADED' && body
    },
    { what: 'readyz names the network', timeoutMs: 30_000, everyMs: 250 },
  )
  assert.equal(seen.networks[0].deployment, 'base:test')
  node?.lie()
  await untilAll([first, second], 'CONFIRMED')
  await until(async () => (await faults()).status === 'OK', {
    what: 'all is well',
    timeoutMs: RECOVER_MS,
    everyMs: 250,
  })
})
