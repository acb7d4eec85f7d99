import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { after, test } from 'node:test'
import { runOpsCli } from '../support/cli.ts'
import {
  makeStartDirectory,
  readDescendants,
  type Started,
  start,
  untilGone,
  untilStarted,
} from '../support/start.ts'
import { until } from '../support/until.ts'

/** Milliseconds for a start on a machine that other tests share. */
const START_TIMEOUT_MS = 90_000
/** Milliseconds from the request to stop until nothing is left. */
const STOP_TIMEOUT_MS = 5_000
/** Milliseconds for three blocks of the local chain, and a webhook after them. */
const PAID_TIMEOUT_MS = 30_000
const TEST_TIMEOUT_MS = 150_000

type Facts = Awaited<ReturnType<typeof untilStarted>>

let directory: string
let running: Started
let facts: Facts

// The tests below are one story, told in order: a start, its use, and its ends.
test('a first start prints what a person needs', { timeout: TEST_TIMEOUT_MS }, async () => {
  directory = await makeStartDirectory()
  running = start(directory)
  facts = await untilStarted(running, START_TIMEOUT_MS)
  assert.match(facts.publishableKey, /^pk_test_/)
  assert.match(facts.secretKey, /^sk_test_/)
})

after(async () => {
  if (running.child.exitCode === null) running.child.kill('SIGKILL')
  await running.ended
  await rm(directory, { recursive: true, force: true })
})

test('the printed curl line claims a payment', () => {
  const payment = JSON.parse(execFileSync('sh', ['-c', facts.curl], { encoding: 'utf8' }))
  assert.equal(payment.status, 'PENDING')
  assert.equal(payment.amount, '12.50')
})

test('a payment from the test wallet is confirmed, and the shop verifies its webhook', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const { publishableKey, baseUrl, shopUrl } = facts
  const priceId = /"priceId":"(\w+)"/.exec(facts.curl)?.[1]
  for (const [network, token, decimals] of [
    ['base', 'usdc', 6],
    ['ethereum', 'usdt', 6],
    ['bnb', 'usdc', 18],
  ] as const) {
    const payment = await post(`${baseUrl}/checkout`, { publishableKey, priceId, network, token })
    assert.equal(payment.decimals, decimals)
    const { paymentId } = payment
    await post(`${shopUrl}/pay`, { paymentId, way: 'exact' })
    const isPaid = async () => {
      const { status } = await (await fetch(`${baseUrl}/payments/${paymentId}`)).json()
      return status === 'CONFIRMED'
    }
    await until(isPaid, { what: `${network} to confirm`, timeoutMs: PAID_TIMEOUT_MS })
    const hook = await untilReceived(`${shopUrl}/received`, paymentId, 'payment.confirmed')
    assert.equal(hook.isGenuine, true)
  }
})

test('a webhook that anybody else signed is refused by the shop', async () => {
  const body = '{"type":"payment.confirmed","data":{"paymentId":"pay_1"}}'
  const headers = {
    'x-service-signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
  }
  const answer = await fetch(`${facts.shopUrl}/webhook`, { method: 'POST', headers, body })
  assert.equal(answer.status, 400)
})

test('a second start on the same data is refused with one line and exit code 78', async () => {
  const second = start(directory)
  assert.equal(await second.ended, 78)
  assert.match(second.output().trim(), /^this is already running on .*: use that one.*$/)
})

test('a taken port is refused when it was asked for, with one line and exit code 78', async () => {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const other = await makeStartDirectory()
  try {
    const refused = start(other, { PORT: String(port) })
    assert.equal(await refused.ended, 78)
    assert.match(
      refused.output().trim(),
      /^PORT should be a free one: \d+ on 127\.0\.0\.1 is taken$/,
    )
  } finally {
    server.close()
    await rm(other, { recursive: true, force: true })
  }
})

test('secrets are kept for the owner alone', async () => {
  for (const name of ['encryption-key', 'demo.json', 'shop.json', 'database-url']) {
    const { mode } = await stat(join(directory, '.data', name))
    assert.equal(mode & 0o777, 0o600, name)
  }
})

test('the operator’s commands find the database beside a running start', async () => {
  const { code, out, err } = await runOpsCli(['store', 'list', '--json'], { cwd: directory })
  assert.equal(code, 0, err)
  assert.equal(JSON.parse(out).stores.length, 1)
  const status = await runOpsCli(['network', 'status'], { cwd: directory })
  assert.match(status.out, /base:test +RUNNING/)
  const url = await readFile(join(directory, '.data/public-url'), 'utf8')
  assert.equal((await fetch(`${url.trim()}/healthz`)).status, 200)
})

test('SIGTERM leaves no process within 5 s, and the next start goes on with the same keys', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const processes = await readDescendants(running.child.pid ?? 0)
  assert.ok(processes.length >= 7, 'supervisor, database, chain, three processes and the shop')
  running.child.kill('SIGTERM')
  await untilGone(processes, STOP_TIMEOUT_MS)
  assert.equal(await running.ended, 0)
  running = start(directory)
  const again = await untilStarted(running, START_TIMEOUT_MS)
  assert.equal(again.secretKey, facts.secretKey)
  assert.equal(again.publishableKey, facts.publishableKey)
  facts = again
})

test('kill -9 of each process is mended, and of the supervisor leaves none', {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const { baseUrl } = facts
  const [supervisor, ...children] = await readDescendants(running.child.pid ?? 0)
  assert.ok(supervisor)
  for (const { pid, command } of children) {
    if (command.includes('main.ts')) process.kill(pid, 'SIGKILL')
  }
  await until(
    async () => {
      const answer = await fetch(baseUrl.replace(/v1$/, 'readyz'))
      const { networks } = (await answer.json()) as { networks: unknown[] }
      return answer.ok && networks.length === 0
    },
    { what: 'everything to run again', timeoutMs: PAID_TIMEOUT_MS },
  )
  const processes = await readDescendants(supervisor.pid)
  running.child.kill('SIGKILL')
  await untilGone(processes, STOP_TIMEOUT_MS)
})

// biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
async function post(url: string, body: unknown): Promise<any> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const json = await answer.json()
  assert.ok(answer.ok, JSON.stringify(json))
  return json
}

/** Reads the shop's stream until it tells of that event. */
async function untilReceived(url: string, paymentId: string, type: string) {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), PAID_TIMEOUT_MS)
  try {
    const { body } = await fetch(url, { signal: stop.signal })
    let text = ''
    for await (const chunk of body ?? []) {
      text += new TextDecoder().decode(chunk)
      const events = text
        .split('\n\n')
        .slice(0, -1)
        .filter((event) => event.startsWith('data: '))
        .map((event) => JSON.parse(event.slice(6)))
      const found = events.find((event) => event.paymentId === paymentId && event.type === type)
      if (found) return found as { isGenuine: boolean }
    }
    throw new Error(`the shop was not told of ${type}`)
  } finally {
    clearTimeout(timer)
    stop.abort()
  }
}
