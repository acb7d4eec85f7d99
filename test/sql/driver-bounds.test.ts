import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { closeDb, type Db, errorCode, isUnavailable, openDb } from '#shared/db.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let database: TestDatabase

before(async () => {
  database = await createEmptyDatabase()
})
after(() => database.drop())

/** Milliseconds in which every query on a dead server must have been rejected. */
const BOUND_MS = 13_000

test('queries on a port where nobody listens are refused at once', async () => {
  const proxy = await startTcpProxy(database.url)
  await proxy.close()
  await withPool({ url: proxy.url, poolSizeMax: 2 }, async (db) => {
    const { errors, tookMs } = await rejections(db, 20)
    assert.ok(errors.every(isUnavailable), String(errors.find((error) => !isUnavailable(error))))
    assert.ok(tookMs < 8_000, `${tookMs} ms`)
  })
})

test('queries on a server that accepts and says nothing are rejected in time', {
  timeout: 30_000,
}, async () => {
  await withProxy(async (proxy) => {
    proxy.behave('silent')
    await withPool({ url: proxy.url, poolSizeMax: 2 }, async (db) => {
      const { errors, tookMs } = await rejections(db, 30)
      assert.ok(errors.every(isUnavailable))
      assert.ok(tookMs < BOUND_MS, `${tookMs} ms`)
      proxy.behave('forward')
      await until(() => db`select 1`, { what: 'the server to be found again' })
    })
  })
})

test('queries on a server that hangs up on everybody are rejected at once', async () => {
  await withProxy(async (proxy) => {
    proxy.behave('hangUp')
    await withPool({ url: proxy.url, poolSizeMax: 2 }, async (db) => {
      const { errors, tookMs } = await rejections(db, 30)
      assert.ok(errors.every(isUnavailable))
      assert.ok(tookMs < BOUND_MS, `${tookMs} ms`)
      proxy.behave('forward')
      await until(() => db`select 1`, { what: 'the server to be found again' })
    })
  })
})

test('of several hosts the one that serves is found, and none is one clear refusal', async () => {
  const proxy = await startTcpProxy(database.url)
  await proxy.close()
  const { host: away } = new URL(proxy.url)
  const { host: serving } = new URL(database.url)
  const hosts = (...names: string[]) => database.url.replace(serving, names.join(','))
  await withPool({ url: hosts(away, serving), poolSizeMax: 2 }, async (db) => {
    assert.equal((await db`select 1 as one`)[0]?.['one'], 1)
  })
  await withPool({ url: hosts(away, away), poolSizeMax: 2 }, async (db) => {
    const { errors } = await rejections(db, 20)
    assert.ok(errors.every(isUnavailable))
  })
})

test('a query whose server falls silent is rejected, and the next one is served by a new connection', async () => {
  await withProxy(async (proxy) => {
    await withPool({ url: proxy.url, poolSizeMax: 1, responseTimeoutMs: 500 }, async (db) => {
      await db`select 1`
      proxy.behave('silent')
      const running = assert.rejects(
        db`select 1`,
        (error) => errorCode(error) === 'RESPONSE_TIMEOUT',
      )
      const behind = assert.rejects(db`select 2`, isUnavailable)
      await running
      await behind
      proxy.behave('forward')
      await until(() => db`select 1`, { what: 'the server to be found again' })
    })
  })
})

test('a transaction whose server falls silent is rejected', async () => {
  await withProxy(async (proxy) => {
    await withPool({ url: proxy.url, poolSizeMax: 1, responseTimeoutMs: 500 }, async (db) => {
      const transaction = db.begin(async (tx) => {
        await tx`select 1`
        proxy.behave('silent')
        await tx`select 2`
      })
      await assert.rejects(transaction, isUnavailable)
    })
  })
})

test('a server that answers slowly but keeps sending is not cut off', async () => {
  await withPool({ url: database.url, poolSizeMax: 1, responseTimeoutMs: 400 }, async (db) => {
    // Each row is larger than the server's buffer, so it is sent when it is made.
    const rows = await db`
      select i, repeat('x', 20000) as text, pg_sleep(0.1) from generate_series(1, 10) as i`
    assert.equal(rows.length, 10)
  })
})

test('an idle connection is left alone, in a transaction and outside', async () => {
  await withPool({ url: database.url, poolSizeMax: 1, responseTimeoutMs: 100 }, async (db) => {
    const backend = async () => (await db`select pg_backend_pid() as pid`)[0]?.['pid'] as number
    const first = await backend()
    await database.db`select pg_sleep(0.3)`
    await db.begin(async (tx) => {
      await tx`select 1`
      await database.db`select pg_sleep(0.3)`
      await tx`select 2`
    })
    assert.equal(await backend(), first)
  })
})

test('closing the pool ends within its bound although a statement runs', async () => {
  const db = openDb({ url: database.url, applicationName: 'test' })
  const running = assert.rejects(db`select pg_sleep(4)`, isUnavailable)
  await until(isSleeping, { what: 'the statement to run' })
  const startedAt = performance.now()
  await closeDb(db, 300)
  assert.ok(performance.now() - startedAt < 2_000)
  await running
  await assert.rejects(db`select 1`, isUnavailable)
})

test('faults of the request are not taken for faults of the server', async () => {
  const { db } = database
  for (const faulty of [db`select 1 / 0`, db`select nonsense`, db`select 'x'::int`]) {
    await assert.rejects(faulty, (error) => !isUnavailable(error))
  }
})

test('a statement ends after 5 s, and a query waits no longer for a connection', {
  timeout: 20_000,
}, async () => {
  await withPool({ url: database.url, poolSizeMax: 1 }, async (db) => {
    const transaction = db.begin(async (tx) => {
      await tx`select pg_sleep(3)`
      return tx`select pg_sleep(6)`
    })
    const ended = assert.rejects(transaction, (error) => errorCode(error) === '57014')
    await until(isSleeping, { what: 'the only connection to be taken' })
    await assert.rejects(db`select 1`, (error) => errorCode(error) === 'QUEUE_TIMEOUT')
    await ended
    assert.equal((await db`select 1 as one`)[0]?.['one'], 1)
  })
})

async function isSleeping(): Promise<boolean> {
  const rows = await database.db`
    select from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`
  return rows.length > 0
}

async function rejections(db: Db, count: number): Promise<{ errors: unknown[]; tookMs: number }> {
  const startedAt = performance.now()
  const queries = Array.from({ length: count }, (_, index) => db`select ${index}::int`)
  const settled = await Promise.allSettled(queries)
  const errors = settled.map((result) => {
    assert.equal(result.status, 'rejected')
    return result.status === 'rejected' ? result.reason : undefined
  })
  return { errors, tookMs: performance.now() - startedAt }
}

type Proxy = Awaited<ReturnType<typeof startTcpProxy>>

async function withProxy(work: (proxy: Proxy) => Promise<void>): Promise<void> {
  const proxy = await startTcpProxy(database.url)
  try {
    await work(proxy)
  } finally {
    await proxy.close()
  }
}

async function withPool(
  options: { url: string; poolSizeMax: number; responseTimeoutMs?: number },
  work: (db: Db) => Promise<void>,
): Promise<void> {
  const db = openDb({ applicationName: 'test', ...options })
  try {
    await work(db)
  } finally {
    await closeDb(db, 200)
  }
}
