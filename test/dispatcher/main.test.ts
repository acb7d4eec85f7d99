import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_ENCRYPTION_KEY } from '../support/door.ts'
import { findFreePort } from '../support/free-port.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { emit, readDeliveries, seedShop } from './support.ts'

const MAIN = fileURLToPath(new URL('../../dispatcher/main.ts', import.meta.url))
const SECONDS = 1_000
const START_MS = 20 * SECONDS

type Child = { process: ChildProcess; output(): string; exited: Promise<number | null> }

describe('the dispatcher as a process', () => {
  let database: TestDatabase
  const children = new Set<ChildProcess>()
  before(
    async () => {
      database = await createTestDatabase()
    },
    { timeout: 60 * SECONDS },
  )
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await database.drop()
  })

  const start = (variables: Record<string, string>): Child => {
    const args = process.versions['deno'] ? ['run', '-A', MAIN] : [MAIN]
    const child = spawn(process.execPath, args, {
      env: {
        DATABASE_URL: database.url,
        ENCRYPTION_KEY: Buffer.from(TEST_ENCRYPTION_KEY).toString('base64'),
        WEBHOOK_ALLOW_PRIVATE: '1',
        LOG_FORMAT: 'json',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.add(child)
    let text = ''
    const collect = (piece: Buffer) => {
      text += piece.toString()
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    const exited = new Promise<number | null>((resolve) =>
      child.once('exit', (code) => {
        children.delete(child)
        resolve(code)
      }),
    )
    return { process: child, output: () => text, exited }
  }
  const isAtWork = (child: Child) =>
    until(() => child.output().includes('at work'), { what: 'at work', timeoutMs: START_MS })

  test('bad configuration ends it with 78 and a line for each fault', {
    timeout: 30 * SECONDS,
  }, async () => {
    const child = start({
      ENCRYPTION_KEY: 'short',
      METRICS_PORT: 'x',
      WEBHOOK_ALLOW_PRIVATE: 'maybe',
    })
    assert.equal(await child.exited, 78)
    const lines = child.output().trim().split('\n')
    assert.equal(lines.length, 3)
    for (const name of ['ENCRYPTION_KEY', 'METRICS_PORT', 'WEBHOOK_ALLOW_PRIVATE']) {
      assert.ok(lines.some((line) => line.startsWith(name)))
    }
  })

  test('delivers, tells its health, and ends within 5 s of SIGTERM with code 0', {
    timeout: 60 * SECONDS,
  }, async () => {
    const seller = await startReceiver()
    const shop = await seedShop(database.db, seller.url)
    const port = await findFreePort()
    const child = start({ METRICS_PORT: String(port) })
    await isAtWork(child)
    await emit(database.db, shop, 5)
    await until(
      async () => {
        const rows = await readDeliveries(database.db, shop.storeId)
        return rows.length === 5 && rows.every((row) => row.status === 'DELIVERED')
      },
      { what: 'five deliveries', timeoutMs: 10 * SECONDS },
    )
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    const health = await get('/healthz')
    assert.deepEqual([health.status, await health.json()], [200, { status: 'OK' }])
    const readiness = await get('/readyz')
    assert.deepEqual([readiness.status, await readiness.json()], [200, { status: 'OK' }])
    assert.equal((await get('/other')).status, 404)
    const metrics = await (await get('/metrics')).text()
    assert.match(metrics, /^webhook_attempts_total\{outcome="2xx"\} 5$/m)
    const stoppedAt = performance.now()
    child.process.kill('SIGTERM')
    assert.equal(await child.exited, 0)
    assert.ok(performance.now() - stoppedAt < 5 * SECONDS)
    await seller.close()
  })

  test('waits for a Postgres that is away at start, and again when it goes away', {
    timeout: 90 * SECONDS,
  }, async () => {
    const seller = await startReceiver()
    const shop = await seedShop(database.db, seller.url)
    const proxy = await startTcpProxy(database.url)
    proxy.behave('hangUp')
    const port = await findFreePort()
    const child = start({ DATABASE_URL: proxy.url, METRICS_PORT: String(port) })
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status
    await until(() => child.output().includes('cannot be used yet'), {
      what: 'a warning',
      timeoutMs: START_MS,
    })
    assert.equal(await ready(), 503)
    proxy.behave('forward')
    await isAtWork(child)
    await until(async () => (await ready()) === 200, { what: 'ready', timeoutMs: START_MS })
    proxy.behave('silent')
    await emit(database.db, shop, 3)
    await until(async () => (await ready()) === 503, { what: 'not ready', timeoutMs: START_MS })
    proxy.behave('forward')
    await until(
      async () => {
        const rows = await readDeliveries(database.db, shop.storeId)
        return rows.length === 3 && rows.every((row) => row.status === 'DELIVERED')
      },
      // Statements that went into the silence are given up after twelve seconds.
      { what: 'three deliveries', timeoutMs: 2 * START_MS },
    )
    child.process.kill('SIGINT')
    assert.equal(await child.exited, 0)
    await proxy.close()
    await seller.close()
  })

  test('stopped while Postgres is away, it ends with 0 and never says that it is at work', {
    timeout: 60 * SECONDS,
  }, async () => {
    const proxy = await startTcpProxy(database.url)
    proxy.behave('hangUp')
    const child = start({ DATABASE_URL: proxy.url })
    await until(() => child.output().includes('cannot be used yet'), {
      what: 'a warning',
      timeoutMs: START_MS,
    })
    child.process.kill('SIGTERM')
    assert.equal(await child.exited, 0)
    assert.ok(!child.output().includes('at work'))
    await proxy.close()
  })

  test('a schema of another version ends it with 1 and says what to do', {
    timeout: 30 * SECONDS,
  }, async () => {
    await database.db`insert into migrations (name, sha256) values ('9999_future.sql', '00')`
    const child = start({})
    assert.equal(await child.exited, 1)
    assert.match(child.output(), /9999_future\.sql/)
    await database.db`delete from migrations where name = '9999_future.sql'`
  })
})
