import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { until } from '../support/until.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

async function checkout(): Promise<string> {
  const { body } = await api.call('POST', '/v1/checkout', {
    body: {
      publishableKey: seller.keys.test.publishable,
      priceId: seller.price.priceId,
      ...{ network: 'base', token: 'usdc' },
    },
  })
  return body.paymentId
}

type Stream = {
  statuses: string[]
  hasEnded: () => boolean
  close(): Promise<void>
  response: Response
}

/** Reads a stream's payment objects as they come. */
async function open(paymentId: string): Promise<Stream> {
  const abort = new AbortController()
  const response = await fetch(`${api.url}/v1/payments/${paymentId}/stream`, {
    signal: abort.signal,
  })
  const statuses: string[] = []
  let isOver = false
  const read = async () => {
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        if (event.startsWith('data: ')) statuses.push(JSON.parse(event.slice(6)).status)
      }
    }
  }
  const done = read()
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  return {
    response,
    statuses,
    hasEnded: () => isOver,
    async close() {
      abort.abort()
      await done
    },
  }
}

test('200 shows the payment at once and at its change, and nothing twice', async () => {
  const paymentId = await checkout()
  const stream = await open(paymentId)
  assert.equal(stream.response.status, 200)
  assert.equal(stream.response.headers.get('content-type'), 'text/event-stream')
  assert.equal(stream.response.headers.get('access-control-allow-origin'), '*')
  assert.match(stream.response.headers.get('x-request-id') ?? '', /^req_/)
  await until(() => stream.statuses.length === 1, { what: 'the payment at once' })
  await api.call('POST', `/v1/test/payments/${paymentId}/simulate`)
  await until(() => stream.statuses.length === 2, { what: 'the change' })
  assert.deepEqual(stream.statuses, ['PENDING', 'CONFIRMED'])
  await stream.close()
})

test('a change that nobody announced is found by the poll', async () => {
  const paymentId = await checkout()
  const stream = await open(paymentId)
  await until(() => stream.statuses.length === 1, { what: 'the payment at once' })
  await api.database.db`
    update payments set status = 'CANCELED', settled_at = service_now() where payment_id = ${paymentId}`
  await until(() => stream.statuses.includes('CANCELED'), { what: 'the poll', timeoutMs: 8_000 })
  await stream.close()
})

test('a page that leaves is forgotten', async () => {
  const stream = await open(await checkout())
  await until(() => api.deps.changes.count() === 1, { what: 'one stream' })
  await stream.close()
  await until(() => api.deps.changes.count() === 0, { what: 'no stream' })
  assert.equal(api.deps.streams.size, 0)
})

test('HEAD opens no stream', async () => {
  const answer = await api.call('HEAD', `/v1/payments/${await checkout()}/stream`)
  assert.equal(answer.status, 200)
  await until(() => api.deps.changes.count() === 0, { what: 'no stream' })
})

test('404 payment_not_found when nobody has that id', async () => {
  const answer = await api.call('GET', `/v1/payments/${newId('pay')}/stream`)
  assertError(answer, 404, 'payment_not_found')
})

test('429 rate_limited when one client has too many streams open', async () => {
  const paymentId = await checkout()
  const streams = await Promise.all(Array.from({ length: 50 }, () => open(paymentId)))
  await until(() => api.deps.changes.count() === 50, { what: '50 streams' })
  const answer = await api.call('GET', `/v1/payments/${paymentId}/stream`)
  assertError(answer, 429, 'rate_limited')
  assert.ok(Number(answer.headers.get('retry-after')) > 0)
  await Promise.all(streams.map((stream) => stream.close()))
  await until(() => api.deps.changes.count() === 0, { what: 'no stream' })
})

test('the streams end when the process stops, in good time', async () => {
  const other = await startTestApi({ database: api.database })
  const response = await fetch(`${other.url}/v1/payments/${await checkout()}/stream`)
  const reader = response.body?.getReader()
  await reader?.read()
  const startedMs = performance.now()
  await other.stop()
  assert.ok(performance.now() - startedMs < 3_000)
  for (;;) if ((await reader?.read())?.done) break
})
