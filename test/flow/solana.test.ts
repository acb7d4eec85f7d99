import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type PaymentAnswer, type Stack, startStack } from '../support/stack.ts'
import { randomSolanaAddress } from '../support/svm.ts'
import { until } from '../support/until.ts'

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

test('paid from the Solana Pay link alone: its reference names the payment, whatever the amount', {
  timeout,
}, async () => {
  const payment = (await checkout({ amount: 5_000 })) as PaymentAnswer & { paymentUri: string }
  const link = parseSolanaPay(payment.paymentUri)
  assert.equal(link.recipient, address)
  assert.equal(link.mint, payment.contract)
  assert.equal(link.amountBaseUnits, BigInt(payment.amountBaseUnits))
  // An exchange kept half: another payment of the same seller would be meant just as well.
  const half = await checkout({ amount: 2_501 })
  const sent = link.amountBaseUnits / 2n
  const pay = { to: link.recipient, mint: link.mint, references: link.references }
  await stack.svm?.pay({ ...pay, amountBaseUnits: sent })
  await stack.untilStatus(payment.paymentId, 'UNDERPAID')
  await stack.untilReceived(payment.paymentId, ['payment.detected', 'payment.underpaid'])
  const data = stack.eventData(payment.paymentId, 'payment.underpaid')
  assert.equal(data['receivedAmountBaseUnits'], String(sent))
  assert.equal((await stack.read(half.paymentId)).status, 'PENDING')
  await stack.post(`/v1/payments/${half.paymentId}/cancel`)
})

test('a reference cannot make money that went to another seller its own', { timeout }, async () => {
  const payment = (await checkout({ amount: 6_000 })) as PaymentAnswer & { paymentUri: string }
  const { mint, references } = parseSolanaPay(payment.paymentUri)
  const amountBaseUnits = BigInt(payment.amountBaseUnits)
  await stack.svm?.pay({ to: await randomSolanaAddress(), mint, references, amountBaseUnits })
  stack.svm?.finalize()
  await stack.pay(payment)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})

test('paid more, by a transaction of version 1: overpaid and credited', { timeout }, async () => {
  const payment = await checkout({ amount: 700_000 })
  const amountBaseUnits = BigInt(payment.amountBaseUnits) + 1n
  await stack.svm?.pay({ to: payment.payTo, mint: payment.contract, amountBaseUnits, version: 1 })
  await stack.untilStatus(payment.paymentId, 'OVERPAID')
  await stack.untilReceived(payment.paymentId, ['payment.detected', 'payment.overpaid'])
})

test('paid after a cancel: LATE in the inbox', { timeout }, async () => {
  const payment = await checkout({ amount: 8_000 })
  await stack.post(`/v1/payments/${payment.paymentId}/cancel`)
  await stack.pay(payment)
  const { db } = stack.database
  await until(
    async () => {
      stack.svm?.produce(2)
      return (
        await db`
        select 1 from transfers
        where reason = 'LATE' and amount_base_units = ${BigInt(payment.amountBaseUnits)}`
      )[0]
    },
    { what: 'the transfer lies in the inbox', timeoutMs: 20_000, everyMs: 100 },
  )
  await stack.untilReceived(payment.paymentId, ['payment.canceled'])
})

test('killed between two payments, the indexer misses neither', { timeout }, async () => {
  const first = await checkout({ amount: 9_000 })
  await stack.kill('indexer')
  await stack.pay(first)
  stack.svm?.produce(120)
  await stack.start('indexer')
  await stack.untilStatus(first.paymentId, 'CONFIRMED')
  await stack.untilReceived(first.paymentId, DETECTED_AND_CONFIRMED)
})

/** A transfer request as a wallet reads it (docs.solanapay.com/spec). */
function parseSolanaPay(text: string) {
  const url = new URL(text)
  assert.equal(url.protocol, 'solana:')
  const [whole = '', fraction = ''] = (url.searchParams.get('amount') ?? '').split('.')
  return {
    recipient: url.pathname,
    mint: url.searchParams.get('spl-token') ?? '',
    amountBaseUnits: BigInt(whole + fraction.padEnd(6, '0')),
    references: url.searchParams.getAll('reference'),
  }
}
