import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { closeDb, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { migrate } from '#shared/migrate.ts'
import { startPostgres } from '#shared/start/postgres.ts'
import { judgeAttempts } from '../support/oracle.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { countCrash } from './crash-counts.ts'
import { dispatch, emit, readDeliveries, seedShop } from './support.ts'

const SECONDS = 1_000
const SHOP_COUNT = 10
const EVENTS_PER_SHOP = 40
const CRASH_COUNT = 2

test('Postgres that ends at once and recovers, under load: every committed event arrives, none is invented', {
  timeout: 90 * SECONDS,
}, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'stablecoin-payments-crash-'))
  const dataDirectory = join(directory, 'data')
  let server = await startPostgres({ dataDirectory, log: silentLog })
  const { port, url } = server
  await migrate(url, { log: silentLog })
  const db = openDb({ url, applicationName: 'test' })
  const seller = await startReceiver()
  seller.answer({ delayMs: 10, status: 200 })
  const shops = []
  for (let count = 0; count < SHOP_COUNT; count += 1) shops.push(await seedShop(db, seller.url))
  const database = { name: 'postgres', url, db, drop: async () => undefined }
  const timing = { attemptTimeoutMs: 1_000, jobExpireS: 3, queuedForMs: 6_000 }
  const dispatcher = dispatch(database, { timing })
  await dispatcher.ready
  const committed: string[] = []
  for (let crash = 0; crash < CRASH_COUNT; crash += 1) {
    for (const shop of shops) committed.push(...(await emit(db, shop, EVENTS_PER_SHOP)))
    const before = seller.received.length
    await until(() => seller.received.length > before + 20, {
      what: 'a load under way',
      timeoutMs: 20 * SECONDS,
    })
    // SIGQUIT is what `pg_ctl stop -m immediate` sends: no checkpoint, recovery at the next start.
    process.kill(server.pid, 'SIGQUIT')
    await server.ended
    server = await startPostgres({ dataDirectory, port, log: silentLog })
  }
  for (const { storeId } of shops) {
    await until(
      async () => {
        const rows = await readDeliveries(db, storeId)
        return (
          rows.length === CRASH_COUNT * EVENTS_PER_SHOP &&
          rows.every((row) => row.status === 'DELIVERED')
        )
      },
      { what: 'every delivery recorded', timeoutMs: 40 * SECONDS },
    )
  }
  await dispatcher.stop()
  const received = seller.received.map((got) => String(got.headers['x-service-delivery']))
  const counts = countCrash(`${CRASH_COUNT} crashes of Postgres`, committed, received)
  assert.equal(counts.lost, 0)
  assert.equal(counts.invented, 0)
  assert.deepEqual(await judgeAttempts(db), [])
  const [attempts] = await db<{ count: number }[]>`
    select sum(attempt_count)::integer as count from deliveries`
  assert.ok((attempts?.count ?? 0) >= committed.length)
  await seller.close()
  await closeDb(db, SECONDS)
  await server.stop()
  await rm(directory, { recursive: true, force: true })
})
