import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { travel } from '../support/database.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

/** Milliseconds: a flow starts nothing slow, but shares two cores with everything else. */
const timeout = 90_000
const DETECTED_AND_CONFIRMED = ['payment.detected', 'payment.confirmed']

let stack: Stack
before(
  async () => {
    stack = await startStack({
      seed: {
        wallets: ['base', 'ethereum', 'bnb'].map((network) => ({
          network,
          address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        })),
      },
    })
  },
  { timeout },
)
after(
  async () => {
    await stack.judge()
    await stack.close()
  },
  { timeout },
)

test('paid exactly: detected, confirmed at depth, both told with a genuine signature', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ metadata: { order: 'A-1' } })
  assert.equal(payment.status, 'PENDING')
  assert.equal(payment.amount, '10.50')
  assert.notEqual(BigInt(payment.amountBaseUnits) % 10n, 0n)
  const txHash = await stack.pay(payment)
  const detected = await stack.untilStatus(payment.paymentId, 'DETECTED', { isMining: false })
  assert.equal(detected.txHash, txHash)
  const confirmed = await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  assert.ok(confirmed.confirmations >= 3)
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
  const data = stack.eventData(payment.paymentId, 'payment.confirmed')
  assert.equal(data['amountBaseUnits'], payment.amountBaseUnits)
  assert.equal(data['txHash'], txHash)
  assert.equal(data['status'], 'CONFIRMED')
  assert.equal(data['originHost'], 'shop.example')
  assert.deepEqual(data['metadata'], { order: 'A-1' })
  assert.ok(Number(data['confirmations']) >= 3)
  assert.equal('expectedAmount' in data, false)
})

test('paid the price without the tail: confirmed', { timeout }, async () => {
  const payment = await stack.checkout({ amount: 777 })
  await stack.pay(payment, 7_770_000n)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})

test('paid less: underpaid once all that was seen is at depth', { timeout }, async () => {
  const payment = await stack.checkout({ amount: 40_000 })
  const less = BigInt(payment.amountBaseUnits) - 100_000_000n
  await stack.pay(payment, less)
  await stack.untilStatus(payment.paymentId, 'UNDERPAID')
  await stack.untilReceived(payment.paymentId, ['payment.detected', 'payment.underpaid'])
  const data = stack.eventData(payment.paymentId, 'payment.underpaid')
  assert.equal(data['receivedAmountBaseUnits'], String(less))
  assert.equal(data['amount'], '400.00')
  assert.match(String(data['expectedAmount']), /^400\.00\d\d\d[1-9]$/)
})

test('paid more: overpaid and credited', { timeout }, async () => {
  const payment = await stack.checkout({ amount: 1_500_000 })
  await stack.pay(payment, BigInt(payment.amountBaseUnits) + 1n)
  await stack.untilStatus(payment.paymentId, 'OVERPAID')
  await stack.untilReceived(payment.paymentId, ['payment.detected', 'payment.overpaid'])
})

test('paid in two transfers: confirmed when both are at depth', { timeout }, async () => {
  const payment = await stack.checkout({ amount: 9_000_000 })
  const half = BigInt(payment.amountBaseUnits) / 2n
  await stack.pay(payment, half)
  await stack.pay(payment, BigInt(payment.amountBaseUnits) - half)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})

test('18 decimals: exact to the last base unit', { timeout }, async () => {
  const payment = await stack.checkout({ amount: 100_000_000, network: 'bnb' })
  assert.equal(payment.decimals, 18)
  assert.match(payment.amountBaseUnits, /^100000000\d{4}0{12}$|^1000000\d{18}$/)
  await stack.pay(payment)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  const short = await stack.checkout({ amount: 12_345, network: 'bnb' })
  await stack.pay(short, 123_450_000_000_000_000_000n - 1n)
  await stack.untilStatus(short.paymentId, 'UNDERPAID')
  const data = stack.eventData.bind(stack)
  await stack.untilReceived(short.paymentId, ['payment.detected', 'payment.underpaid'])
  assert.equal(
    data(short.paymentId, 'payment.underpaid')['receivedAmount'],
    '123.449999999999999999',
  )
})

test('canceled against a transfer in the same instant: one of the two, never both', {
  timeout,
}, async () => {
  // Somebody waits all the while: an indexer at rest would take its time for what comes late.
  await stack.checkout({ amount: 19_000 })
  for (let round = 0; round < 5; round += 1) {
    const payment = await stack.checkout({ amount: 20_000 + round })
    const [, canceled] = await Promise.all([
      stack.pay(payment),
      stack.post(`/v1/payments/${payment.paymentId}/cancel`),
    ])
    assert.equal(canceled.status, 200, canceled.text)
    const end = canceled.body.status === 'CANCELED' ? 'CANCELED' : 'CONFIRMED'
    await stack.untilStatus(payment.paymentId, end)
    await until(
      async () => {
        const rows = await stack.database.db`
          select state, reason from transfers where address = ${payment.payTo}
            and amount_base_units = ${BigInt(payment.amountBaseUnits)}`
        return rows.length === 1 && rows[0]?.['reason'] === (end === 'CANCELED' ? 'LATE' : null)
      },
      { what: 'the transfer is attributed or late', timeoutMs: 30_000 },
    )
  }
})

test('a reorganisation before depth takes the transfer back, and its return is credited once', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ amount: 31_337 })
  await stack.pay(payment)
  await stack.untilStatus(payment.paymentId, 'DETECTED', { isMining: false })
  await stack.chain.reorg(1)
  await stack.chain.mine()
  const back = await stack.untilStatus(payment.paymentId, 'PENDING', { isMining: false })
  assert.equal(back.txHash, null)
  // With the same nonce and fee it may be the very same transaction, in another block.
  const again = await stack.pay(payment)
  const confirmed = await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  assert.equal(confirmed.txHash, again)
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})

test('the indexer is killed during the payment: found when it is back', { timeout }, async () => {
  const payment = await stack.checkout({ amount: 5_555 })
  await stack.kill('indexer')
  await stack.pay(payment)
  await stack.chain.mine(30)
  await stack.start('indexer')
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})

test('the dispatcher is killed during the event: delivered when it is back', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ amount: 6_666 })
  await stack.kill('dispatcher')
  await stack.pay(payment)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  assert.deepEqual(stack.received(payment.paymentId), [])
  await stack.start('dispatcher')
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})

test('the api is killed after the checkout: the payment goes on without it', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ amount: 7_777 })
  await stack.kill('api')
  await stack.pay(payment)
  await stack.chain.mine(5)
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
  await stack.start('api')
  assert.equal((await stack.read(payment.paymentId)).status, 'CONFIRMED')
})

test('the receiver fails twice: delivered at the third attempt under the same id', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ amount: 8_888 })
  stack.receiver.answer(500, 500, 200)
  await stack.post(`/v1/test/payments/${payment.paymentId}/simulate`)
  const attempts = () =>
    stack.receiver.received.filter(
      ({ headers }) => headers['x-service-delivery'] === `${payment.paymentId}:payment.confirmed`,
    )
  for (const count of [1, 2]) {
    await until(
      async () => {
        // The schedule has its own tests; here half a minute of waiting is skipped once a failure is recorded.
        const early = await stack.database.db`
          update deliveries set next_attempt_at = service_now()
          where payment_id = ${payment.paymentId} and attempt_count = ${count} and status = 'PENDING'`
        return early.count === 1
      },
      { what: `failure ${count} is recorded`, timeoutMs: 30_000 },
    )
  }
  await until(() => attempts().length === 3, { what: 'three attempts', timeoutMs: 30_000 })
  await until(
    async () => {
      const [row] = await stack.database.db`
        select status from deliveries where payment_id = ${payment.paymentId}`
      return row?.['status'] === 'DELIVERED'
    },
    { what: 'the delivery is recorded as delivered' },
  )
})

test('nothing is paid: expired when clock and chain are past the window, not before', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ amount: 9_999, ttlMinutes: 1 })
  await travel(stack.database, '2 minutes')
  await stack.chain.mine(10)
  const still = await until(() => stack.read(payment.paymentId), { what: 'an answer' })
  assert.equal(still.status, 'PENDING', 'our clock alone closes no window')
  await stack.chain.increaseTime(120)
  await stack.untilStatus(payment.paymentId, 'EXPIRED')
  await stack.untilReceived(payment.paymentId, ['payment.expired'])
})
