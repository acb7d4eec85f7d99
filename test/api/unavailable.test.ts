import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { closeDb, openDb } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { migrate } from '#shared/migrate.ts'
import { startPostgres } from '#shared/start/postgres.ts'
import { type RunningApi, startApi } from '../../api/start.ts'
import { assertError, call, testConfig } from '../support/api.ts'
import { until } from '../support/until.ts'

/** Milliseconds in which a caller is answered, whatever the database does. */
const ANSWER_MS_MAX = 9_000
/** Milliseconds in which a probe is answered. */
const PROBE_MS_MAX = 2_500

function start(databaseUrl: string): RunningApi & { close(): Promise<void> } {
  const db = openDb({ url: databaseUrl, applicationName: 'test' })
  const api = startApi({ config: testConfig(databaseUrl), db, log: silentLog })
  return {
    ...api,
    async close() {
      await api.stop()
      await closeDb(db, 500)
    },
  }
}

/** One request of each kind; each is answered `unavailable` within the bound. */
async function assertUnavailable(url: string): Promise<void> {
  const body = { publishableKey: 'pk_test_x', priceId: 'x' }
  const startedMs = performance.now()
  const answers = await Promise.all([
    call(url, 'GET', `/v1/payments/${newId('pay')}`),
    call(url, 'POST', `/v1/payments/${newId('pay')}/cancel`),
    call(url, 'POST', '/v1/checkout/info', { body }),
    call(url, 'POST', '/v1/checkout', { body: { ...body, network: 'base', token: 'usdc' } }),
    call(url, 'GET', '/v1/networks'),
    call(url, 'GET', '/readyz'),
  ])
  for (const answer of answers) {
    assertError(answer, 503, 'unavailable')
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    assert.doesNotMatch(answer.text, /127\.0\.0\.1|postgres|ECONN|CONNECT/i)
  }
  assert.ok(performance.now() - startedMs < ANSWER_MS_MAX)
  assert.equal((await call(url, 'GET', '/healthz')).status, 200)
}

async function assertWorks(url: string): Promise<void> {
  await until(async () => (await call(url, 'GET', '/readyz')).status === 200, {
    what: 'the API to work',
    timeoutMs: 20_000,
  })
  const answer = await call(url, 'GET', `/v1/payments/${newId('pay')}`)
  assertError(answer, 404, 'payment_not_found')
}

test('503 unavailable while Postgres is not there yet, is gone, and not once it is back', {
  timeout: 120_000,
}, async () => {
  const dataDirectory = join(tmpdir(), `api-unavailable-${randomBytes(6).toString('hex')}`)
  const options = { dataDirectory, log: silentLog, durable: false }
  let postgres = await startPostgres(options)
  const { port, url } = postgres
  await migrate(url, { log: silentLog })
  await postgres.stop()
  const api = start(url)
  try {
    await assertUnavailable(api.url)
    postgres = await startPostgres({ ...options, port })
    await api.ready
    await assertWorks(api.url)
    await postgres.stop()
    await assertUnavailable(api.url)
    await assertUnavailable(api.url)
    postgres = await startPostgres({ ...options, port })
    await assertWorks(api.url)
  } finally {
    await api.close()
    await postgres.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
})

test('503 unavailable within the bound when the database takes connections and says nothing', {
  timeout: 60_000,
}, async () => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const api = start(`postgres://u@127.0.0.1:${address.port}/x`)
  try {
    // As if it had been there at the start.
    api.deps.schema.isCurrent = true
    const startedMs = performance.now()
    assertError(await call(api.url, 'GET', '/readyz'), 503, 'unavailable')
    assert.ok(performance.now() - startedMs < PROBE_MS_MAX)
    await assertUnavailable(api.url)
  } finally {
    await api.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  }
})
