import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type CliOptions, runOpsCli, startCli } from '../support/cli.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { randomEvmAddress } from '../support/seed.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'
import { isGenuine } from '../support/verify-webhook.ts'

allowSlowHooks()
/** Milliseconds: a flow starts nothing slow, but shares two cores with everything else. */
const timeout = 90_000
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const NAME = 'base:test'
const LISTEN = 'api/ops/listen/main.ts'

let stack: Stack
/** A laptop's server. */
let laptop: Receiver
before(
  async () => {
    stack = await startStack({ seed: { wallets: [{ network: 'base', address: ADDRESS }] } })
    laptop = await startReceiver()
  },
  { timeout },
)
after(
  async () => {
    await laptop.close()
    await stack.close()
  },
  { timeout },
)

const done = async (words: string[], options: CliOptions = {}) => {
  const env = { DATABASE_URL: stack.database.url }
  const { code, out, err } = await runOpsCli([...words, '--json'], { env, ...options })
  assert.equal(code, 0, err)
  return { ...JSON.parse(out), notes: err }
}
const untilAudited = (block: number) =>
  until(
    async () => {
      await stack.chain.mine()
      const [row] = await stack.database.db<{ auditedNumber: number }[]>`
        select audited_number from deployments where deployment = ${NAME}`
      return (row?.auditedNumber ?? 0) >= block
    },
    { what: `block ${block} is read twice`, timeoutMs: 40_000 },
  )
const headNumber = async () => {
  const answer = await fetch(stack.chain.httpUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
  })
  return Number(((await answer.json()) as { result: string }).result)
}
const rescan = (from: number, to: number) =>
  done(['network', 'rescan', NAME, '--from', `${from}`, '--to', `${to}`, '--wait', '60'], {})

test('a transfer that no reading knew is found by a rescan, and credited to its payment at once', {
  timeout,
}, async () => {
  const { db } = stack.database
  const payment = await stack.checkout({ amount: 4_321 })
  // What a reader does not know to be a seller's address it passes over.
  await db`update wallets set address = ${randomEvmAddress()} where address = ${ADDRESS}`
  await stack.pay(payment)
  const block = await headNumber()
  await untilAudited(block)
  await db`update wallets set address = ${ADDRESS}`
  assert.equal((await stack.read(payment.paymentId)).status, 'PENDING')

  const { request, notes } = await rescan(block, block)
  assert.match(notes, /^MISSED: 1 transfers/, 'the operator is told in words')
  assert.match((await done(['request', 'show', request.requestId])).notes, /^MISSED: 1 /)
  assert.deepEqual(request.result, { toBlock: block, foundCount: 1, heldCount: 0, failureCount: 0 })
  const [row] = await db`select status from payments where payment_id = ${payment.paymentId}`
  assert.equal(row?.['status'], 'CONFIRMED')
  await stack.untilReceived(payment.paymentId, ['payment.detected', 'payment.confirmed'])
  // Again it changes nothing.
  const again = await rescan(Math.max(0, block - 5), block)
  assert.equal(again.request.result.foundCount, 0)
  assert.match(again.notes, /Nothing was missed/)
  const transfers = await db`select 1 from transfers where payment_id = ${payment.paymentId}`
  assert.equal(transfers.length, 1)
})

test('a rescan of more blocks than there are reads what there is, and leaves the rest to following', {
  timeout,
}, async () => {
  const head = await headNumber()
  const { request, notes } = await rescan(0, head + 10_000)
  assert.ok(request.result.toBlock <= head, `${request.result.toBlock} <= ${head}`)
  assert.equal(request.result.error, undefined)
  assert.match(notes, new RegExp(`^Nothing was missed up to block ${request.result.toBlock},`))
  const ahead = await rescan(head + 10_000, head + 10_001)
  assert.match(ahead.notes, /^None of these blocks was read/)
})

test('a look that was asked for is taken note of, so that the next one can be asked for', {
  timeout,
}, async () => {
  const payment = await stack.checkout({ amount: 2_222 })
  await stack.read(payment.paymentId)
  await until(
    async () => {
      const open = await stack.database.db`
        select 1 from requests where kind = 'recheck' and done_at is null`
      return open.length === 0
    },
    { what: 'no recheck is open', timeoutMs: 20_000 },
  )
})

const listen = (words: string[] = []) =>
  startCli(LISTEN, [
    ...['--key', stack.seller.keys.test.secret, '--forward-to', laptop.url],
    ...['--base-url', `${stack.apiUrl}/v1`, ...words],
  ])
const simulate = async (amount: number) => {
  const { paymentId } = await stack.checkout({ amount })
  await stack.post(`/v1/test/payments/${paymentId}/simulate`)
  return paymentId
}
const untilPrinted = (cli: { out(): string; err(): string }, pattern: RegExp) =>
  until(() => pattern.exec(cli.out()) ?? undefined, {
    what: `${pattern} is printed: ${cli.err()}`,
    timeoutMs: 30_000,
  })
const bodiesOf = (receiver: Receiver, paymentId: string) =>
  receiver.received
    .filter(({ rawBody }) => rawBody.toString().includes(paymentId))
    .map(({ rawBody }) => rawBody.toString())

test('listen posts what is emitted from now on, byte for byte as a webhook, signed with the printed secret', {
  timeout,
}, async () => {
  const earlier = await simulate(1_001)
  await stack.untilReceived(earlier, ['payment.confirmed'])
  const cli = listen()
  const [, secret = ''] = await untilPrinted(cli, /signed with (whsec_\S+)/)
  const paymentId = await simulate(1_002)
  await until(() => bodiesOf(laptop, paymentId).length === 1, {
    what: 'the event is posted',
    timeoutMs: 30_000,
  })
  await stack.untilReceived(paymentId, ['payment.confirmed'])
  assert.deepEqual(bodiesOf(laptop, paymentId), bodiesOf(stack.receiver, paymentId))
  assert.deepEqual(bodiesOf(laptop, earlier), [])
  const posted = laptop.received.at(-1)
  assert.ok(posted)
  const { headers, rawBody, atMs } = posted
  assert.ok(
    isGenuine(String(headers['x-service-signature']), rawBody, secret, Math.floor(atMs / 1000)),
  )
  assert.equal(headers['x-service-event'], 'payment.confirmed')
  assert.equal(headers['x-service-delivery'], `${paymentId}:payment.confirmed`)
  cli.kill('SIGINT')
  const { code, err } = await cli.ended
  assert.deepEqual([code, err], [0, ''])
})

test('listen posts an event again until it is taken, and outlives the API', {
  timeout,
}, async () => {
  const secret = `whsec_${'a'.repeat(64)}`
  const cli = listen(['--secret', secret])
  await untilPrinted(cli, /Ready/)
  await stack.kill('api')
  await untilPrinted(cli, /does not answer, trying again/)
  await stack.start('api')
  laptop.answer(500, 'reset', 200)
  const paymentId = await simulate(1_003)
  await untilPrinted(
    cli,
    new RegExp(`→ \\d+ payment\\.confirmed ${paymentId}:payment\\.confirmed: 200`),
  )
  assert.equal(bodiesOf(laptop, paymentId).length, 3)
  assert.equal(new Set(bodiesOf(laptop, paymentId)).size, 1)
  cli.kill('SIGTERM')
  assert.equal((await cli.ended).code, 0)
})

test('listen begins behind a sequence that it is given', { timeout }, async () => {
  const before = laptop.received.length
  const cli = listen(['--after', '0'])
  await until(() => laptop.received.length >= before + 3, {
    what: 'past events are posted',
    timeoutMs: 30_000,
  })
  cli.kill('SIGINT')
  await cli.ended
  const [first] = laptop.received.slice(before)
  const [row] = await stack.database.db<{ body: string }[]>`
    select e.body from events e join event_numbers n using (event_id)
    where n.mode = 'test' and n.sequence = 1`
  assert.equal(first?.rawBody.toString(), row?.body)
})

test('listen finds the API by PUBLIC_URL, by HOST and PORT, or beside a start; 78 for a wrong variable', {
  timeout,
}, async () => {
  const words = ['--key', stack.seller.keys.test.secret, '--forward-to', laptop.url]
  const { hostname, port } = new URL(stack.apiUrl)
  const cwd = await mkdtemp(join(tmpdir(), 'listen-'))
  try {
    await mkdir(join(cwd, '.data'))
    await writeFile(join(cwd, '.data/public-url'), `${stack.apiUrl}\n`)
    for (const options of [
      { env: { PUBLIC_URL: stack.apiUrl } },
      { env: { HOST: hostname, PORT: port } },
      { cwd },
    ]) {
      const cli = startCli(LISTEN, words, options)
      await untilPrinted(cli, /Ready: events of store_/)
      cli.kill('SIGINT')
      assert.equal((await cli.ended).code, 0)
    }
  } finally {
    await rm(cwd, { recursive: true, force: true })
  }
  const wrong = await startCli(LISTEN, words, { env: { PORT: 'x' } }).ended
  assert.deepEqual([wrong.code, wrong.err.split(' ')[0]], [78, 'PORT'])
})

test('listen ends with 1 for a key that nobody has and 2 for a wrong command line', {
  timeout,
}, async () => {
  const unknown = startCli(LISTEN, [
    ...['--key', `sk_test_${'0'.repeat(64)}`, '--forward-to', laptop.url],
    ...['--base-url', `${stack.apiUrl}/v1`],
  ])
  const refused = await unknown.ended
  assert.equal(refused.code, 1)
  assert.match(refused.err, /401 invalid_api_key/)
  for (const words of [
    [],
    ['--key', 'pk_test_1', '--forward-to', laptop.url],
    ['--key', stack.seller.keys.test.secret, '--forward-to', 'file:///etc/passwd'],
    ['--key', stack.seller.keys.test.secret],
    ['--nonsense'],
  ]) {
    const { code, err } = await startCli(LISTEN, words).ended
    assert.equal(code, 2, words.join(' '))
    assert.match(err, /Usage: bun run listen/)
    assert.ok(!err.includes(stack.seller.keys.test.secret))
  }
})
