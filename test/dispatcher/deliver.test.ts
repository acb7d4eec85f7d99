import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sealWebhookSecret } from '#shared/webhook-secret.ts'
import { RELEASE_COUNT_MAX } from '../../dispatcher/release.ts'
import { createTestDatabase, type TestDatabase, travel } from '../support/database.ts'
import { TEST_KEYRING } from '../support/door.ts'
import { judgeSchedule } from '../support/oracle.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { isGenuine } from '../support/verify-webhook.ts'
import {
  addSecret,
  dispatch,
  emit,
  readDeliveries,
  seedArrears,
  seedShop,
  skipWait,
} from './support.ts'

const SECONDS = 1_000

describe('delivering a webhook', () => {
  let database: TestDatabase
  const closers: (() => unknown)[] = []
  before(
    async () => {
      database = await createTestDatabase()
      const dispatcher = dispatch(database)
      closers.push(() => dispatcher.stop())
      await dispatcher.ready
    },
    { timeout: 60_000 },
  )
  after(async () => {
    for (const close of closers) await close()
    await database.drop()
  })
  const receiver = async (): Promise<Receiver> => {
    const made = await startReceiver()
    closers.push(() => made.close())
    return made
  }
  const settled = (storeId: string, count: number, attemptCount = 1) =>
    until(
      async () => {
        const rows = await readDeliveries(database.db, storeId)
        return rows.length >= count && rows.every((row) => row.attemptCount >= attemptCount) && rows
      },
      { what: `${count} deliveries attempted ${attemptCount} times`, timeoutMs: 10 * SECONDS },
    )

  test('sends the exact body, signed so that an independent verifier accepts it', async () => {
    const seller = await receiver()
    const shop = await seedShop(database.db, seller.url)
    const [eventId = ''] = await emit(database.db, shop)
    const [row] = await settled(shop.storeId, 1)
    assert.equal(row?.status, 'DELIVERED')
    assert.ok(row?.deliveredAt)
    assert.equal(seller.received.length, 1)
    const [got] = seller.received
    assert.ok(got)
    const [event] = await database.db<{ body: string }[]>`
      select body from events where event_id = ${eventId}`
    assert.equal(got.rawBody.toString(), event?.body)
    assert.equal(got.headers['x-service-delivery'], eventId)
    assert.equal(JSON.parse(got.rawBody.toString()).id, eventId)
    assert.equal(got.headers['x-service-event'], 'payment.confirmed')
    const signature = String(got.headers['x-service-signature'])
    const nowSeconds = Math.floor(got.atMs / 1000)
    assert.ok(isGenuine(signature, got.rawBody, shop.secret, nowSeconds))
    const changed = Buffer.from(got.rawBody)
    changed[10] = (changed[10] ?? 0) ^ 1
    assert.ok(!isGenuine(signature, changed, shop.secret, nowSeconds))
    assert.ok(!isGenuine(signature, got.rawBody, 'whsec_other', nowSeconds))
    assert.ok(!isGenuine(signature, got.rawBody, shop.secret, nowSeconds + 302))
  })

  test('every active secret signs, an expired one does not', async () => {
    const seller = await receiver()
    const shop = await seedShop(database.db, seller.url)
    const second = await addSecret(database.db, shop.storeId)
    await emit(database.db, shop)
    await settled(shop.storeId, 1)
    const [both] = seller.received
    assert.ok(both)
    const header = String(both.headers['x-service-signature'])
    for (const secret of [shop.secret, second]) {
      assert.ok(isGenuine(header, both.rawBody, secret, Math.floor(both.atMs / 1000)))
    }
    await database.db`
      update webhook_secrets set expires_at = service_now()
      where webhook_secret_id = (
        select min(webhook_secret_id) from webhook_secrets where store_id = ${shop.storeId}
      )`
    await emit(database.db, shop)
    await settled(shop.storeId, 2)
    assert.equal(String(seller.received[1]?.headers['x-service-signature']).split(',').length, 2)
  })

  test('nothing goes out unsigned: a secret that cannot be opened is a failed attempt, and opened again it signs', async () => {
    const seller = await receiver()
    const shop = await seedShop(database.db, seller.url)
    const seal = (storeId: string) => database.db`
      update webhook_secrets set ciphertext = ${sealWebhookSecret(TEST_KEYRING, storeId, shop.secret)}
      where store_id = ${shop.storeId}`
    await seal('store_of_others')
    await emit(database.db, shop)
    const [row] = await settled(shop.storeId, 1)
    const [told] = await database.db`
      select last_error from deliveries where delivery_id = ${row?.deliveryId ?? ''}`
    assert.deepEqual([row?.status, told?.['lastError']], ['PENDING', 'no_secret'])
    assert.equal(seller.received.length, 0)
    await seal(shop.storeId)
    await skipWait(database.db, shop.storeId)
    const [again] = await settled(shop.storeId, 1, 2)
    assert.equal(again?.status, 'DELIVERED')
    const [got = assert.fail()] = seller.received
    const signature = String(got.headers['x-service-signature'])
    assert.ok(isGenuine(signature, got.rawBody, shop.secret, Math.floor(got.atMs / 1000)))
  })

  test('fails twice, then succeeds: one id, three attempts, each with its answer', {
    timeout: 30_000,
  }, async () => {
    const seller = await receiver()
    seller.answer({ status: 500, body: 'o\u0000ops ü' }, 'reset', 200)
    const shop = await seedShop(database.db, seller.url)
    const [eventId] = await emit(database.db, shop)
    const [first] = await settled(shop.storeId, 1)
    const waitMs = (first?.nextAttemptAt?.getTime() ?? 0) - Date.now()
    assert.ok(waitMs > 5 * SECONDS && waitMs <= 10 * SECONDS, `waits ${waitMs} ms`)
    await skipWait(database.db, shop.storeId)
    const [second] = await settled(shop.storeId, 1, 2)
    const waitAgainMs = (second?.nextAttemptAt?.getTime() ?? 0) - Date.now()
    assert.ok(waitAgainMs > 15 * SECONDS && waitAgainMs <= 20 * SECONDS, `waits ${waitAgainMs} ms`)
    await skipWait(database.db, shop.storeId)
    const [third] = await settled(shop.storeId, 1, 3)
    assert.equal(third?.status, 'DELIVERED')
    assert.equal(third?.nextAttemptAt, null)
    assert.equal(seller.received.length, 3)
    assert.deepEqual(
      new Set(seller.received.map((got) => got.headers['x-service-delivery'])),
      new Set([eventId]),
    )
    const attempts = await database.db`
      select attempt_number, response_status, response_body, error, url
      from attempts where delivery_id = ${third?.deliveryId ?? ''}
      union all
      select attempt_count, last_response_status, last_response_body, last_error, url
      from deliveries where delivery_id = ${third?.deliveryId ?? ''}
      order by attempt_number`
    assert.deepEqual(
      attempts.map((row) => Object.values(row)),
      [
        [1, 500, 'oops ü', null, seller.url],
        [2, null, null, 'reset', seller.url],
        [3, 200, 'thanks', null, seller.url],
      ],
    )
  })

  test('a retry is signed with a fresh t', { timeout: 30_000 }, async () => {
    const seller = await receiver()
    seller.answer(500, 200)
    const shop = await seedShop(database.db, seller.url)
    await emit(database.db, shop)
    await settled(shop.storeId, 1)
    const firstSecond = Math.floor(Date.now() / 1000)
    await until(() => Math.floor(Date.now() / 1000) > firstSecond, { what: 'the next second' })
    await skipWait(database.db, shop.storeId)
    await settled(shop.storeId, 1, 2)
    const times = seller.received.map((got) =>
      Number(/^t=(\d+)/.exec(String(got.headers['x-service-signature']))?.[1]),
    )
    assert.ok((times[1] ?? 0) > (times[0] ?? 0))
  })

  test('Retry-After of a 429 sets the next attempt', async () => {
    const seller = await receiver()
    seller.answer({ status: 429, headers: { 'retry-after': '1800' } })
    const shop = await seedShop(database.db, seller.url)
    await emit(database.db, shop)
    const [row] = await settled(shop.storeId, 1)
    const waitMs = (row?.nextAttemptAt?.getTime() ?? 0) - Date.now()
    assert.ok(waitMs > 1_780 * SECONDS && waitMs <= 1_801 * SECONDS, `waits ${waitMs} ms`)
  })

  test('a redirect and a timeout are failures', { timeout: 30_000 }, async () => {
    for (const reply of [302, 'never'] as const) {
      const seller = await receiver()
      seller.answer(reply)
      const shop = await seedShop(database.db, seller.url)
      await emit(database.db, shop)
      const [row] = await settled(shop.storeId, 1)
      assert.equal(row?.status, 'PENDING')
    }
  })

  test('the first success after failures makes that store’s waiting deliveries due at once', {
    timeout: 30_000,
  }, async () => {
    const seller = await receiver()
    seller.answer(503)
    const shop = await seedShop(database.db, seller.url)
    const other = await seedShop(database.db, `http://127.0.0.1:1/hook`)
    await emit(database.db, other)
    await emit(database.db, shop, 20)
    await settled(shop.storeId, 20)
    await settled(other.storeId, 1)
    seller.answer(200)
    await emit(database.db, shop)
    const rows = await until(
      async () => {
        const all = await readDeliveries(database.db, shop.storeId)
        return all.length === 21 && all.every((row) => row.status === 'DELIVERED') && all
      },
      { what: 'all delivered, long before their schedule', timeoutMs: 6 * SECONDS },
    )
    assert.equal(rows.filter((row) => row.attemptCount === 2).length, 20)
    const [apart] = await readDeliveries(database.db, other.storeId)
    assert.equal(apart?.attemptCount, 1)
  })

  test('a success after an outage releases thousands in parts, and is itself recorded once', {
    timeout: 60_000,
  }, async () => {
    const seller = await receiver()
    const shop = await seedShop(database.db, seller.url)
    const count = 2 * RELEASE_COUNT_MAX + 500
    await seedArrears(database.db, shop, count)
    await emit(database.db, shop)
    await until(
      async () => {
        const [left] = await database.db<{ count: number }[]>`
          select count(*)::integer as count from deliveries
          where store_id = ${shop.storeId} and status = 'PENDING'`
        return left?.count === 0
      },
      { what: 'all delivered, an hour before their schedule', timeoutMs: 40 * SECONDS },
    )
    assert.equal(seller.received.length, count + 1)
  })

  test('a first attempt goes ahead of thousands of late retries', { timeout: 60_000 }, async () => {
    const seller = await receiver()
    seller.answer({ delayMs: 20, status: 200 })
    const shop = await seedShop(database.db, seller.url)
    await seedArrears(database.db, shop, 10_000, '-1 minute')
    await until(() => seller.received.length > 200, { what: 'the retries under way' })
    const [eventId] = await emit(database.db, shop)
    const countBefore = seller.received.length
    const place = await until(
      () =>
        seller.received.findIndex((got) => got.headers['x-service-delivery'] === eventId) + 1 ||
        false,
      { what: 'the new event', timeoutMs: 40 * SECONDS },
    )
    assert.ok(place - countBefore < 500, `${place - countBefore} retries went before it`)
  })

  test('a store without endpoint is owed nothing, but its events get their sequence', async () => {
    const shop = await seedShop(database.db, null)
    await emit(database.db, shop, 3)
    await until(
      async () => {
        const rows = await database.db`
          select sequence from event_numbers where store_id = ${shop.storeId}`
        return rows.length === 3
      },
      { what: 'sequences' },
    )
    assert.equal((await readDeliveries(database.db, shop.storeId)).length, 0)
  })

  test('removing the endpoint parks what is pending, giving one again resumes it', {
    timeout: 30_000,
  }, async () => {
    const seller = await receiver()
    seller.answer(500)
    const shop = await seedShop(database.db, seller.url)
    await emit(database.db, shop)
    await settled(shop.storeId, 1)
    await database.db`update stores set webhook_url = null where store_id = ${shop.storeId}`
    await skipWait(database.db, shop.storeId)
    const fence = await receiver()
    const witness = await seedShop(database.db, fence.url)
    await emit(database.db, witness)
    await settled(witness.storeId, 1)
    assert.equal(seller.received.length, 1)
    const elsewhere = await receiver()
    await database.db`
      update stores set webhook_url = ${elsewhere.url} where store_id = ${shop.storeId}`
    const [row] = await settled(shop.storeId, 1, 2)
    assert.equal(row?.status, 'DELIVERED')
    assert.equal(elsewhere.received.length, 1)
  })

  test('what waits for its endpoint’s turn goes to the URL as it is at the attempt, or nowhere', {
    timeout: 30_000,
  }, async () => {
    const silent = await receiver()
    silent.answer('never')
    const elsewhere = await receiver()
    const shop = await seedShop(database.db, silent.url)
    await emit(database.db, shop, 6)
    await until(() => silent.received.length > 0, { what: 'the first attempt' })
    await database.db`update stores set webhook_url = null where store_id = ${shop.storeId}`
    const [first] = await until(
      async () => {
        const rows = await readDeliveries(database.db, shop.storeId)
        return rows.some((row) => row.attemptCount > 0) && rows
      },
      { what: 'the first attempt to end' },
    )
    assert.equal(first?.status, 'PENDING')
    await database.db`
      update stores set webhook_url = ${elsewhere.url} where store_id = ${shop.storeId}`
    await until(() => elsewhere.received.length >= 5, {
      what: 'the others at the new URL',
      timeoutMs: 10 * SECONDS,
    })
    assert.ok(silent.received.length <= 2, 'at most what was about to leave went to the old one')
  })

  test('a delivery sent anew by its seller is attempted again, with the same id', async () => {
    const seller = await receiver()
    const shop = await seedShop(database.db, seller.url)
    await emit(database.db, shop)
    await settled(shop.storeId, 1)
    await database.db`
      update deliveries
      set status = 'PENDING', next_attempt_at = service_now(), queued_until = '-infinity'
      where store_id = ${shop.storeId}`
    const [row] = await settled(shop.storeId, 1, 2)
    assert.equal(row?.status, 'DELIVERED')
    assert.equal(
      seller.received[0]?.headers['x-service-delivery'],
      seller.received[1]?.headers['x-service-delivery'],
    )
  })

  test('what is pending is on the schedule at its time or in hand since it was made, and nothing else is', async () => {
    assert.deepEqual(await judgeSchedule(database.db), [])
  })

  test('no index of deliveries holds what an attempt changes: writing down a success touches none', async () => {
    const indexes = await database.db<{ definition: string }[]>`
      select pg_get_indexdef(indexrelid) as definition
      from pg_index
      where indrelid = 'deliveries'::regclass`
    const changing =
      /\b(status|attempt_count|url|next_attempt_at|queued_until|delivered_at|last_\w+)\b/
    assert.ok(indexes.length > 0)
    assert.deepEqual(
      indexes.filter(({ definition }) => changing.test(definition)),
      [],
    )
  })
})

describe('72 hours', () => {
  test('after them a failing delivery is dead, and a parked one too, and their sellers get a mail', {
    timeout: 90_000,
  }, async () => {
    const database = await createTestDatabase()
    const seller = await startReceiver()
    seller.answer(500)
    const shop = await seedShop(database.db, seller.url)
    const parked = await seedShop(database.db, seller.url)
    let dispatcher = dispatch(database)
    await dispatcher.ready
    await emit(database.db, shop)
    await emit(database.db, parked)
    const attempted = (storeId: string, count: number) =>
      until(
        async () => {
          const [row] = await readDeliveries(database.db, storeId)
          return row !== undefined && row.attemptCount >= count && row
        },
        { what: `attempt ${count}`, timeoutMs: 10 * SECONDS },
      )
    await attempted(shop.storeId, 1)
    await attempted(parked.storeId, 1)
    await dispatcher.stop()
    await database.db`update stores set webhook_url = null where store_id = ${parked.storeId}`
    await travel(database, '71 hours 59 minutes')
    dispatcher = dispatch(database)
    const last = await attempted(shop.storeId, 2)
    assert.equal(last.status, 'PENDING')
    await dispatcher.stop()
    await travel(database, '72 hours 2 minutes')
    dispatcher = dispatch(database)
    const dead = await attempted(shop.storeId, 3)
    assert.equal(dead.status, 'DEAD')
    assert.equal(dead.nextAttemptAt, null)
    await until(
      async () => (await readDeliveries(database.db, parked.storeId))[0]?.status === 'DEAD',
      { what: 'the parked delivery is dead', timeoutMs: 20 * SECONDS },
    )
    assert.equal((await readDeliveries(database.db, parked.storeId))[0]?.attemptCount, 1)
    const mails = await database.db<{ storeId: string }[]>`
      select body ->> 'storeId' as store_id from requests
      where kind = 'mail' and body ->> 'template' = 'webhook-dead'`
    assert.deepEqual(mails.map((row) => row.storeId).sort(), [shop.storeId, parked.storeId].sort())
    await dispatcher.stop()
    await seller.close()
    await database.drop()
  })
})
