import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { relayEvents } from '../../dispatcher/relay.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { judgeSchedule } from '../support/oracle.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { countCrash } from './crash-counts.ts'
import { dispatch, emit, readDeliveries, seedShop } from './support.ts'

const SECONDS = 1_000
const CHILD = fileURLToPath(new URL('crash-child.ts', import.meta.url))
/** Lets a lost job or promotion come back within a test's patience. */
const SHORT = { attemptTimeoutMs: 1_000, jobExpireS: 3, queuedForMs: 6_000 }

const idsOf = (seller: Receiver) =>
  seller.received.map((got) => String(got.headers['x-service-delivery']))
const twice = (ids: readonly unknown[]) => ids.length - new Set(ids).size

describe('what the dispatcher survives', () => {
  let database: TestDatabase
  let seller: Receiver
  const children = new Set<ChildProcess>()
  before(
    async () => {
      database = await createTestDatabase()
      seller = await startReceiver()
    },
    { timeout: 60 * SECONDS },
  )
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await seller.close()
    await database.drop()
  })

  const startChild = async (): Promise<ChildProcess> => {
    const args = process.versions['deno'] ? ['run', '-A', CHILD] : [CHILD]
    const child = spawn(process.execPath, [...args, database.url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    let text = ''
    child.stdout?.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    await until(() => text.includes('ready'), { what: 'the child', timeoutMs: 20 * SECONDS })
    return child
  }
  const allDelivered = async (storeId: string, count: number) => {
    const rows = await readDeliveries(database.db, storeId)
    return rows.length === count && rows.every((row) => row.status === 'DELIVERED')
  }
  const waitForAll = (storeId: string, count: number) =>
    until(() => allDelivered(storeId, count), {
      what: `${count} deliveries`,
      timeoutMs: 40 * SECONDS,
    })

  test('kill -9 in the middle of a load: every event arrives, none is invented', {
    timeout: 90 * SECONDS,
  }, async () => {
    seller.received.length = 0
    seller.answer({ delayMs: 20, status: 200 })
    const shops = await Promise.all(
      Array.from({ length: 10 }, () => seedShop(database.db, seller.url)),
    )
    const victim = await startChild()
    const emitted: string[] = []
    for (const shop of shops) emitted.push(...(await emit(database.db, shop, 60)))
    await until(() => seller.received.length > 100, {
      what: 'a load under way',
      timeoutMs: 20 * SECONDS,
    })
    victim.kill('SIGKILL')
    const heir = await startChild()
    for (const shop of shops) await waitForAll(shop.storeId, 60)
    heir.kill('SIGTERM')
    const { lost, invented } = countCrash('kill -9 of a dispatcher', emitted, idsOf(seller))
    assert.deepEqual({ lost, invented }, { lost: 0, invented: 0 })
    assert.deepEqual([...new Set(idsOf(seller))].sort(), emitted.sort())
    const [counts] = await database.db<{ events: number; gaps: number; deliveries: number }[]>`
      select count(*)::integer as events,
        count(*) filter (where n.sequence is null)::integer as gaps,
        (select count(*)::integer from deliveries) as deliveries
      from events
      left join event_numbers n using (event_id)`
    assert.deepEqual({ ...counts }, { events: 600, gaps: 0, deliveries: 600 })
  })

  test('two dispatchers share the work: nothing twice, sequences without gap', {
    timeout: 60 * SECONDS,
  }, async () => {
    seller.received.length = 0
    seller.answer(200)
    const pair = [dispatch(database), dispatch(database)]
    await Promise.all(pair.map((one) => one.ready))
    const shops = await Promise.all(
      Array.from({ length: 5 }, () => seedShop(database.db, seller.url)),
    )
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => {
        const shop = shops[index % shops.length]
        return shop ? emit(database.db, shop, 10) : undefined
      }),
    )
    for (const shop of shops) await waitForAll(shop.storeId, 80)
    await Promise.all(pair.map((one) => one.stop()))
    assert.equal(seller.received.length, 400)
    assert.equal(twice(idsOf(seller)), 0)
    for (const shop of shops) {
      const rows = await database.db<{ sequence: number; orderKey: string }[]>`
        select sequence from event_numbers where store_id = ${shop.storeId} order by sequence`
      assert.deepEqual(
        rows.map((row) => row.sequence),
        Array.from({ length: 80 }, (_, index) => index + 1),
      )
    }
  })

  test('emptied or removed tables of the queue mend themselves', {
    timeout: 60 * SECONDS,
  }, async () => {
    seller.received.length = 0
    seller.answer(500)
    const dispatcher = dispatch(database, { timing: SHORT })
    await dispatcher.ready
    const shop = await seedShop(database.db, seller.url)
    await emit(database.db, shop, 30)
    await database.db`truncate pgboss.queue cascade`
    seller.answer(200)
    await emit(database.db, shop, 10)
    await database.db`
      update deliveries set next_attempt_at = service_now()
      where store_id = ${shop.storeId} and status = 'PENDING'`
    await waitForAll(shop.storeId, 40)
    await database.db`drop schema pgboss cascade`
    await emit(database.db, shop, 10)
    await waitForAll(shop.storeId, 50)
    await dispatcher.stop()
  })

  test('first attempts whose jobs were lost as they were made are made all the same', {
    timeout: 60 * SECONDS,
  }, async () => {
    seller.received.length = 0
    seller.answer(200)
    const shop = await seedShop(database.db, seller.url)
    const emitted = await emit(database.db, shop, 20)
    const nobody = () => []
    const relayed = await relayEvents(
      {
        db: database.db,
        // Takes jobs and forgets them.
        queue: {
          send: async () => undefined,
          fetch: async () => [],
          settle: async () => undefined,
          stop: async () => undefined,
        },
        queuedForMs: 500,
        rooms: () => ({ roomCount: 16, others: {} }),
        jobRoom: () => 0,
        slowStoreIds: nobody,
        wideStoreIds: nobody,
        monotonicMs: () => performance.now(),
      },
      100,
    )
    assert.equal(relayed.eventCount, 20)
    assert.deepEqual(await judgeSchedule(database.db), [])
    const dispatcher = dispatch(database, { timing: SHORT })
    await waitForAll(shop.storeId, 20)
    await dispatcher.stop()
    assert.deepEqual(idsOf(seller).sort(), emitted.sort())
    assert.deepEqual(await judgeSchedule(database.db), [])
    const [left] = await database.db`select count(*)::integer as n from fresh_bundles`
    assert.equal(left?.['n'], 0)
  })

  test('Postgres that cuts every connection delays deliveries and loses none', {
    timeout: 60 * SECONDS,
  }, async () => {
    seller.received.length = 0
    seller.answer({ delayMs: 5, status: 200 })
    const dispatcher = dispatch(database, { timing: SHORT })
    await dispatcher.ready
    const shop = await seedShop(database.db, seller.url)
    for (let round = 0; round < 5; round += 1) {
      const emitted = () => emit(database.db, shop, 40)
      await until(emitted, { what: 'events committed although connections are cut' })
      await database.db`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
    }
    const events = await until(
      () => database.db`select event_id from events where store_id = ${shop.storeId}`,
      { what: 'the events' },
    )
    await waitForAll(shop.storeId, events.length)
    await dispatcher.stop()
    assert.ok(events.length >= 200)
    assert.equal(new Set(idsOf(seller)).size, events.length)
  })

  test('stopping gives back what is not done within five seconds', {
    timeout: 60 * SECONDS,
  }, async () => {
    seller.received.length = 0
    seller.answer('never')
    const dispatcher = dispatch(database, { timing: { attemptTimeoutMs: 15_000 } })
    await dispatcher.ready
    const shop = await seedShop(database.db, seller.url)
    await emit(database.db, shop, 20)
    await until(() => seller.received.length > 0, { what: 'a post under way' })
    const startedAt = performance.now()
    await dispatcher.stop()
    assert.ok(performance.now() - startedAt < 5 * SECONDS)
    const rows = await readDeliveries(database.db, shop.storeId)
    assert.ok(rows.every((row) => row.status === 'PENDING' && row.attemptCount === 0))
    seller.answer(200)
    const heir = dispatch(database)
    await waitForAll(shop.storeId, 20)
    await heir.stop()
  })

  test('slow endpoints do not delay the others', { timeout: 60 * SECONDS }, async () => {
    const dead = await startReceiver()
    dead.answer('never')
    seller.received.length = 0
    seller.answer(200)
    const dispatcher = dispatch(database, { timing: { attemptTimeoutMs: 2_000 } })
    await dispatcher.ready
    for (let count = 0; count < 20; count += 1) {
      await emit(database.db, await seedShop(database.db, dead.url), 50)
    }
    await until(() => dead.received.length >= 20, { what: 'dead endpoints tried' })
    const healthy = await seedShop(database.db, seller.url)
    const startedAt = performance.now()
    for (let count = 0; count < 20; count += 1) await emit(database.db, healthy)
    await waitForAll(healthy.storeId, 20)
    assert.ok(performance.now() - startedAt < 2 * SECONDS)
    await dispatcher.stop()
    await dead.close()
  })

  test('after all that, whatever is pending will be found', async () => {
    assert.deepEqual(await judgeSchedule(database.db), [])
  })
})
