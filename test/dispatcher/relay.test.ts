import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { silentLog } from '#shared/log.ts'
import { BUNDLE_MAX, openQueue, type Queue } from '../../dispatcher/queue.ts'
import {
  RELAY_BATCH_MAX,
  type RelayDeps,
  type Relayed,
  relayEvents,
  STORE_WINDOW_MAX,
} from '../../dispatcher/relay.ts'
import { CLEARED_AFTER_COUNT } from '../../dispatcher/relay-turns.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { addSecret, dispatch, emit, type Shop, seedArrears, seedShop } from './support.ts'

const JOB_ROOM = 4

describe('relaying', () => {
  let database: TestDatabase
  let ours: Queue
  let theirs: Queue
  let shop: Shop
  before(async () => {
    database = await createTestDatabase()
    const options = {
      databaseUrl: database.url,
      prepare: true,
      expireInSeconds: 30,
      log: silentLog,
    }
    ours = await openQueue(options)
    theirs = await openQueue(options)
  })
  after(async () => {
    await ours.stop()
    await theirs.stop()
    await database.drop()
  })
  beforeEach(async () => {
    shop = await seedShop(database.db, 'http://127.0.0.1:9/')
  })

  const relay = (jobRoom: number, roomCount = 1_000) =>
    relayEvents(deps(jobRoom, roomCount), 2 * BUNDLE_MAX)
  const deps = (jobRoom: number, roomCount: number): RelayDeps => ({
    db: database.db,
    queue: ours,
    queuedForMs: 60_000,
    rooms: () => ({ roomCount, others: {} }),
    jobRoom: () => jobRoom,
    slowStoreIds: () => [],
    wideStoreIds: () => [],
    monotonicMs: () => performance.now(),
  })

  test('an event alone is taken as its job is added, and is nobody else’s', async () => {
    const [eventId] = await emit(database.db, shop)
    const { bundles, isDrained, fresh } = await relay(JOB_ROOM)
    assert.deepEqual(
      fresh.deliveries.map((one) => one.eventId),
      [eventId],
    )
    assert.deepEqual(
      bundles.map(({ deliveryIds }) => deliveryIds),
      [fresh.deliveries.map((one) => one.deliveryId)],
    )
    assert.equal(isDrained, true)
    assert.deepEqual(await theirs.fetch(1), [])
    await database.db.begin((tx) => ours.settle(tx, bundles))
  })

  test('a job that waits is taken first, and what is left is told', async () => {
    await emit(database.db, shop)
    const { bundles: none, isDrained } = await relay(0)
    assert.deepEqual([none.length, isDrained], [0, false])
    await emit(database.db, shop)
    const second = await relay(1)
    assert.deepEqual([second.bundles.length, second.isDrained], [1, false])
    const [left, ...others] = await theirs.fetch(JOB_ROOM)
    assert.deepEqual(
      left?.deliveryIds,
      second.fresh.deliveries.map((one) => one.deliveryId),
    )
    assert.deepEqual(others, [])
    await database.db.begin((tx) => ours.settle(tx, [...second.bundles, ...(left ? [left] : [])]))
  })

  test('many events are left to who fetches them', async () => {
    await emit(database.db, shop, BUNDLE_MAX + 1)
    const { eventCount, bundles, isDrained } = await relay(JOB_ROOM, RELAY_BATCH_MAX)
    assert.deepEqual([eventCount, bundles.length, isDrained], [BUNDLE_MAX + 1, 0, false])
    const left = await theirs.fetch(JOB_ROOM)
    assert.equal(left.flatMap(({ deliveryIds }) => deliveryIds).length, BUNDLE_MAX + 1)
    await database.db.begin((tx) => ours.settle(tx, left))
  })

  test('a delivery has 72 hours from its event, however late it is relayed, and signs with the two newest secrets that have not ended', async () => {
    for (let count = 0; count < 3; count += 1) await addSecret(database.db, shop.storeId)
    const secrets = await database.db<{ id: string }[]>`
      select webhook_secret_id as id from webhook_secrets
      where store_id = ${shop.storeId} order by webhook_secret_id desc`
    await database.db`
      update webhook_secrets set expires_at = service_now() where webhook_secret_id = ${secrets[1]?.id ?? ''}`
    const [eventId = ''] = await emit(database.db, shop)
    await database.db`
      update events set created_at = created_at - interval '50 hours' where event_id = ${eventId}`
    const { fresh, bundles } = await relay(JOB_ROOM)
    assert.equal(fresh.deliveries[0]?.secretIds, `${secrets[0]?.id},${secrets[2]?.id}`)
    const [row] = await database.db`
      select d.deadline_at - e.created_at = interval '72 hours' as is_from_event
      from deliveries d join events e using (event_id) where event_id = ${eventId}`
    assert.equal(row?.['isFromEvent'], true)
    await database.db.begin((tx) => ours.settle(tx, bundles))
  })

  test('of a store with more late retries than fit its window, first attempts are queued before them', async () => {
    await seedArrears(database.db, shop, 2 * STORE_WINDOW_MAX, '-1 hour')
    const eventIds = await emit(database.db, shop, 5)
    const { promotedCounts } = await relay(0, 0)
    assert.equal(promotedCounts.get(shop.storeId), STORE_WINDOW_MAX)
    const queued = await database.db<{ eventId: string }[]>`
      select event_id from deliveries
      where store_id = ${shop.storeId} and queued_until > service_now() and attempt_count = 0`
    assert.deepEqual(queued.map(({ eventId }) => eventId).sort(), [...eventIds].sort())
    const left = await theirs.fetch(JOB_ROOM)
    await database.db.begin((tx) => ours.settle(tx, left))
  })

  test('a relay that does not commit takes nothing', async () => {
    const [eventId] = await emit(database.db, shop)
    const refused = new Error('no')
    const failing: Queue = {
      ...ours,
      async fetch(count, tx) {
        await ours.fetch(count, tx)
        throw refused
      },
    }
    await assert.rejects(
      relayEvents({ ...deps(JOB_ROOM, 16), queue: failing }, BUNDLE_MAX),
      refused,
    )
    assert.deepEqual(await theirs.fetch(1), [])
    const { bundles, fresh } = await relay(JOB_ROOM)
    assert.deepEqual([fresh.deliveries[0]?.eventId, bundles.length], [eventId, 1])
    await database.db.begin((tx) => ours.settle(tx, bundles))
  })

  describe('beside another one', () => {
    const SHOPS = 64
    const PER_SHOP = 2

    /** A relay that has numbered its events and does not commit before it is let go. */
    async function beginRelay(eventCountMax: number) {
      const held = Promise.withResolvers<void>()
      const letGo = Promise.withResolvers<void>()
      const queue: Queue = {
        ...ours,
        async send(tx, jobs) {
          held.resolve()
          await letGo.promise
          await ours.send(tx, jobs)
        },
      }
      const relayed = relayEvents({ ...deps(0, 1_000), queue }, eventCountMax)
      await Promise.race([held.promise, relayed])
      return { relayed, letGo: () => letGo.resolve() }
    }
    const storesOf = (relayed: Relayed) =>
      new Set(relayed.fresh.deliveries.map((one) => one.storeId))

    test('many events are shared: each store is numbered by one of them, without gaps, and none is left', {
      timeout: 20_000,
    }, async () => {
      const shops = await Promise.all(
        Array.from({ length: SHOPS }, () => seedShop(database.db, 'http://127.0.0.1:9/')),
      )
      for (const one of shops) await emit(database.db, one, PER_SHOP)
      const first = await beginRelay(RELAY_BATCH_MAX)
      const second = await relayEvents(deps(0, 1_000), RELAY_BATCH_MAX)
      first.letGo()
      const [ours1, ours2] = [storesOf(await first.relayed), storesOf(second)]
      assert.ok(ours1.size > 0 && ours2.size > 0, `${ours1.size} and ${ours2.size} stores`)
      assert.deepEqual(
        [...ours1].filter((storeId) => ours2.has(storeId)),
        [],
      )
      assert.equal(ours1.size + ours2.size, SHOPS)
      const numbers = await database.db<{ sequence: number }[]>`
          select sequence from event_numbers where store_id = any (${shops.map((one) => one.storeId)})
          order by store_id, sequence`
      assert.deepEqual(
        numbers.map(({ sequence }) => sequence),
        shops.flatMap(() => [1, 2]),
      )
    })

    test('what one has numbered and not committed, another neither waits for nor numbers again', async () => {
      await emit(database.db, shop)
      const first = await beginRelay(BUNDLE_MAX)
      assert.equal((await relay(0)).eventCount, 0)
      await emit(database.db, shop)
      assert.equal((await relay(0)).eventCount, 0)
      first.letGo()
      assert.equal((await first.relayed).eventCount, 1)
      assert.equal((await relay(0)).eventCount, 1)
      const numbers = await database.db<{ sequence: number }[]>`
        select sequence from event_numbers where store_id = ${shop.storeId} order by sequence`
      assert.deepEqual(
        numbers.map(({ sequence }) => sequence),
        [1, 2],
      )
    })
  })

  test('what relayed events waited on is cleared away in time: looks would pass over it, one by one', {
    timeout: 30_000,
  }, async () => {
    const { db } = database
    const { storeId, accountId } = await seedShop(db, null)
    await db`
      insert into events (event_id, order_key, store_id, account_id, mode, type, body)
      select concat(${storeId}::text, ':', n), lpad(n::text, 9, '0'), ${storeId}, ${accountId}, 'test', 'payment.confirmed', '{}'
      from generate_series(1, ${CLEARED_AFTER_COUNT}::integer) n`
    const dispatcher = dispatch(database)
    await until(
      async () => {
        const [row] = await db`
          select vacuum_count from pg_stat_user_tables where relname = 'waiting_events'`
        return row?.['vacuumCount'] > 0
      },
      { what: 'the rows are cleared away', timeoutMs: 20_000 },
    )
    await dispatcher.stop()
  })
})
