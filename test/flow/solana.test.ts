import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Stack, startStack } from '../support/stack.ts'
import { randomSolanaAddress } from '../support/svm.ts'

/** Milliseconds: a flow starts nothing slow, but shares two cores with everything else. */
const timeout = 90_000
const DETECTED_AND_CONFIRMED = ['payment.detected', 'payment.confirmed']

let stack: Stack
let address: string
before(
  async () => {
    address = await randomSolanaAddress()
    stack = await startStack({
      hasSolana: true,
      seed: { wallets: [{ network: 'solana', address }] },
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

function checkout(body: Record<string, unknown> = {}) {
  return stack.checkout({ network: 'solana', ...body })
}

test('paid on Solana: detected at confirmed, confirmed at finalized, both told', {
  timeout,
}, async () => {
  const payment = await checkout({ metadata: { order: 'S-1' } })
  assert.equal(payment.payTo, address)
  const txHash = await stack.pay(payment)
  const detected = await stack.untilStatus(payment.paymentId, 'DETECTED', { isMining: false })
  assert.equal(detected.txHash, txHash)
  assert.ok(detected.confirmations >= 1 && detected.confirmations < 32)
  stack.svm?.ledger.skip(40)
  const confirmed = await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  assert.ok(confirmed.confirmations >= 32)
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
  const data = stack.eventData(payment.paymentId, 'payment.confirmed')
  assert.equal(data['network'], 'solana')
  assert.equal(data['txHash'], txHash)
  assert.ok(Number(data['confirmations']) >= 32)
})
