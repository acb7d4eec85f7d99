import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import { makeStartDirectory, type Started, start, untilStarted } from '../support/start.ts'
import { until } from '../support/until.ts'

/** Milliseconds for a start on a machine that other tests share, and for 32 slots of 400 ms with a webhook after them. */
const START_TIMEOUT_MS = 90_000
const PAID_TIMEOUT_MS = 60_000
const timeout = 180_000

let running: Started | undefined
let directory: string | undefined
after(async () => {
  running?.child.kill('SIGTERM')
  await running?.ended
  if (directory) await rm(directory, { recursive: true, force: true })
})

test('bun start --solana: the demo shop is paid on a local Solana', { timeout }, async () => {
  directory = await makeStartDirectory()
  running = start(directory, {}, ['--solana'])
  const { baseUrl, shopUrl, publishableKey, curl } = await untilStarted(running, START_TIMEOUT_MS)
  const priceId = /"priceId":"(\w+)"/.exec(curl)?.[1]
  const body = { publishableKey, priceId, network: 'solana', token: 'usdc' }
  const { paymentId, payTo } = await post(`${baseUrl}/checkout`, body, shopUrl)
  assert.ok(payTo)
  await post(`${shopUrl}/pay`, { paymentId, way: 'exact' }, shopUrl)
  const statusOf = async () => {
    const response = await fetch(`${baseUrl}/payments/${paymentId}`)
    return ((await response.json()) as { status: string }).status
  }
  await until(async () => (await statusOf()) === 'CONFIRMED', {
    what: 'the payment is CONFIRMED',
    timeoutMs: PAID_TIMEOUT_MS,
    everyMs: 200,
  })
})

async function post(url: string, body: unknown, origin: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: origin },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as Record<string, string>
  assert.ok(response.ok, JSON.stringify(answer))
  return answer
}
