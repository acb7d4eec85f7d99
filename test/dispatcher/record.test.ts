import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Db, withTransaction } from '#shared/db.ts'
import { readAttempts } from '../../api/webhooks/queries.ts'
import {
  type AttemptRecord,
  giveBack,
  readDeliveries,
  recordAttempts,
} from '../../dispatcher/attempt-queries.ts'
import { recordOf } from '../../dispatcher/deliver.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { judgeAttempts } from '../support/oracle.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { seedDelivery, seedEvent } from '../support/seller.ts'
import { until } from '../support/until.ts'
import { addSecret } from './support.ts'

const URL = 'https://shop.example/hook'
/** Of a delivery that nobody has in hand. */
const FREE = '-infinity'
const BUNDLE = { token: FREE, deliveryIds: [], id: '', retryCount: 0 }

describe('recording attempts', () => {
  let database: TestDatabase
  let db: Db
  let seller: SeededStore
  let eventCount = 0
  before(async () => {
    database = await createTestDatabase()
    db = database.db
    seller = await seedStore(db, { webhookUrl: URL })
  })
  after(() => database.drop())

  const seed = async (): Promise<string> => {
    eventCount += 1
    const eventId = await seedEvent(db, {
      ...seller.store,
      ...seller.account,
      sequence: eventCount,
    })
    return seedDelivery(db, eventId, 'PENDING')
  }
  const failure = (deliveryId: string, more: Partial<AttemptRecord> = {}): AttemptRecord => ({
    job: { deliveryId, token: FREE, bundle: BUNDLE },
    url: URL,
    at: new Date('2026-07-02T10:00:00.123Z'),
    durationMs: 7,
    responseStatus: 500,
    responseBody: 'oops',
    error: null,
    isSuccess: false,
    nextAttemptAt: new Date('2026-07-02T10:00:10.456Z'),
    ...more,
  })
  const success = (deliveryId: string, more: Partial<AttemptRecord> = {}): AttemptRecord =>
    failure(deliveryId, {
      ...{ responseStatus: 200, responseBody: 'thanks', isSuccess: true, nextAttemptAt: null },
      ...more,
    })
  /** What is written down of an answer, by the bytes of its body. */
  const answered = (deliveryId: string, body: Buffer, { url, at }: { url: string; at: Date }) => {
    const job = { deliveryId, token: FREE, bundle: BUNDLE }
    const delivery = {
      ...{ deliveryId, url, storeId: seller.store.storeId, eventId: '', eventType: '', body: '' },
      ...{ attemptCount: 0, deadlineAt: '2026-07-05 00:00:00+00', secretIds: '', now: at },
    }
    const prepared = { job, delivery, secrets: [], body: Buffer.from(''), preparedAtMs: 0 }
    const result = { kind: 'answered', status: 200, retryAfter: null, body } as const
    return recordOf({ prepared, result, at, durationMs: 3 }, 0)
  }
  const record = (...records: AttemptRecord[]) =>
    withTransaction(db, (tx) => recordAttempts(tx, records))
  const readLast = async (deliveryId: string) => {
    const [row] = await db`
      select status, attempt_count, next_attempt_at, url, last_attempt_at, last_duration_ms, last_response_status,
        last_response_body, last_error
      from deliveries where delivery_id = ${deliveryId}`
    return { ...row }
  }
  const readEarlier = async (deliveryId: string) => [
    ...(await db`
      select attempt_number, at, duration_ms, url, response_status, response_body, error
      from attempts where delivery_id = ${deliveryId} order by attempt_number`),
  ]

  test('the last attempt stands in its delivery’s row, those before it apart, whatever else a batch holds', async () => {
    const [once, again, never] = [await seed(), await seed(), await seed()]
    const later = new Date('2026-07-02T11:00:00.789Z')
    await record(failure(again))
    await record(
      success(once),
      failure(again, {
        ...{ url: 'https://shop.example/moved', at: later, durationMs: 15_000 },
        ...{ responseStatus: null, responseBody: null, error: 'timeout', nextAttemptAt: null },
      }),
    )
    assert.deepEqual(await readLast(once), {
      ...{ status: 'DELIVERED', attemptCount: 1, nextAttemptAt: null, url: URL },
      ...{ lastAttemptAt: new Date('2026-07-02T10:00:00.123Z'), lastDurationMs: 7 },
      ...{ lastResponseStatus: 200, lastResponseBody: 'thanks', lastError: null },
    })
    assert.deepEqual(await readEarlier(once), [])
    assert.deepEqual(await readLast(again), {
      ...{ status: 'DEAD', attemptCount: 2, nextAttemptAt: null },
      ...{ url: 'https://shop.example/moved', lastAttemptAt: later, lastDurationMs: 15_000 },
      ...{ lastResponseStatus: null, lastResponseBody: null, lastError: 'timeout' },
    })
    assert.deepEqual(await readEarlier(again), [
      {
        ...{ attemptNumber: 1, at: new Date('2026-07-02T10:00:00.123Z'), durationMs: 7, url: URL },
        ...{ responseStatus: 500, responseBody: 'oops', error: null },
      },
    ])
    const unattempted = await readLast(never)
    assert.deepEqual([unattempted['attemptCount'], unattempted['lastAttemptAt']], [0, null])
    assert.deepEqual(await judgeAttempts(db), [])
  })

  test('an attempt whose delivery is somebody else’s by now is kept, and the schedule is as its new owner left it', async () => {
    const deliveryId = await seed()
    const nextAttemptAt = new Date('2026-07-02T10:00:10.456Z')
    await record(failure(deliveryId, { nextAttemptAt }))
    const stale = { deliveryId, token: '2026-07-02 09:00:00.000001+00', bundle: BUNDLE }
    await record(success(deliveryId, { job: stale }))
    const row = await readLast(deliveryId)
    assert.deepEqual(
      [row['status'], row['nextAttemptAt'], row['attemptCount'], row['lastResponseStatus']],
      ['PENDING', nextAttemptAt, 2, 200],
    )
    assert.equal((await readEarlier(deliveryId)).length, 1)
  })

  test('two attempts of one delivery written down at the same moment are both kept', async () => {
    const deliveryId = await seed()
    let second: Promise<void> = Promise.resolve()
    await withTransaction(db, async (tx) => {
      await recordAttempts(tx, [failure(deliveryId, { responseBody: 'first' })])
      second = record(failure(deliveryId, { responseBody: 'second' }))
      await until(
        async () => {
          const waiting = await db`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
          return waiting.length > 0
        },
        { what: 'the second to wait for the first' },
      )
    })
    await second
    const row = await readLast(deliveryId)
    assert.deepEqual([row['attemptCount'], row['lastResponseBody']], [2, 'second'])
    assert.deepEqual(
      (await readEarlier(deliveryId)).map((one) => [one['attemptNumber'], one['responseBody']]),
      [[1, 'first']],
    )
  })

  test('what an endpoint answered comes out as it went in, whatever it holds, and so does where it was asked', async () => {
    const bodies = [
      ...[
        '',
        ' ',
        'NULL',
        'null',
        '{}',
        '{"received":true,"n":null}',
        'a,b',
        '"',
        '""',
        '\\',
        '\\"',
      ],
      ...["it's", '\n', 'line\r\nline\t', '💶 é', '\u0001\u007f', '$1', '<p>&amp;</p>', '\u2028'],
    ]
    const sent = await Promise.all(
      bodies.map(async (body, index) => ({
        body,
        url: `https://shop.example/{a},"b"?c=\\d ${index}`,
        at: new Date(Date.UTC(2026, 6, 2) + index),
        deliveryId: await seed(),
      })),
    )
    const records = sent.map(({ deliveryId, body, url, at }) => {
      return answered(deliveryId, Buffer.from(body), { url, at })
    })
    await record(...records)
    const look = async (place: number) => {
      const found = await readAttempts(
        db,
        sent.map(({ deliveryId }) => deliveryId),
      )
      for (const { deliveryId, body, url, at } of sent) {
        const one = found.get(deliveryId)?.[place]
        assert.deepEqual([one?.responseBody, one?.url, one?.at], [body, url, at])
      }
    }
    await look(0)
    await record(...sent.map(({ deliveryId }) => failure(deliveryId)))
    // The same when it is no longer the last.
    await look(0)
  })

  test('bytes that are no text are shown as such, and never end a recording', async () => {
    const deliveryId = await seed()
    // A NUL, a lone surrogate, a byte that begins nothing, and the first half of a character.
    const body = Buffer.from([0x61, 0, 0xed, 0xa0, 0x80, 0xff, 0x62, 0xe2, 0x82])
    await record(answered(deliveryId, body, { url: URL, at: new Date() }))
    assert.equal((await readLast(deliveryId))['lastResponseBody'], 'a\ufffd\ufffd\ufffd\ufffdb')
  })

  test('a promotion is read and given back by its token to the microsecond', async () => {
    const deliveryId = await seed()
    const [row] = await db<{ token: string }[]>`
      update deliveries set queued_until = date_trunc('second', service_now()) + interval '60.000001 seconds'
      where delivery_id = ${deliveryId} returning queued_until::text as token`
    assert.ok(row)
    const job = { deliveryId, token: row.token, bundle: BUNDLE }
    const other = { ...job, token: row.token.replace('000001', '000002') }
    assert.notEqual(other.token, job.token)
    const isFree = async () => {
      const [now] = await db`
        select queued_until = '-infinity' as is_free from deliveries where delivery_id = ${deliveryId}`
      return now?.['isFree']
    }
    assert.equal((await readDeliveries(db, [other], 1_000)).length, 0)
    await withTransaction(db, (tx) => giveBack(tx, [other], 0))
    assert.equal(await isFree(), false)
    assert.equal((await readDeliveries(db, [job], 1_000)).length, 1)
    await withTransaction(db, (tx) => giveBack(tx, [job], 0))
    assert.equal(await isFree(), true)
  })

  test('what is read again signs with the two newest secrets that have not ended', async () => {
    const deliveryId = await seed()
    const { storeId } = seller.store
    for (let count = 0; count < 4; count += 1) await addSecret(db, storeId)
    const secrets = await db<{ id: string }[]>`
      select webhook_secret_id as id from webhook_secrets where store_id = ${storeId} order by 1 desc`
    await db`
      update webhook_secrets set expires_at = service_now() where webhook_secret_id = ${secrets[1]?.id ?? ''}`
    const [row] = await db<{ token: string }[]>`
      update deliveries set queued_until = service_now() + interval '60 seconds'
      where delivery_id = ${deliveryId} returning queued_until::text as token`
    const job = { deliveryId, token: row?.token ?? '', bundle: BUNDLE }
    const [read] = await readDeliveries(db, [job], 1_000)
    assert.equal(read?.secretIds, `${secrets[0]?.id},${secrets[2]?.id}`)
  })

  test('a row cannot say that there was an attempt and not what came of it, nor the reverse', async () => {
    const deliveryId = await seed()
    for (const change of [
      db`attempt_count = 1`,
      db`last_response_status = 200, last_response_body = ''`,
      db`attempt_count = 1, last_attempt_at = service_now(), last_duration_ms = 1`,
      db`attempt_count = 1, last_response_status = 200, last_response_body = ''`,
      db`attempt_count = 1, last_attempt_at = service_now(), last_duration_ms = 1, last_response_status = 200`,
      db`attempt_count = 1, last_attempt_at = service_now(), last_duration_ms = 1, last_error = 'reset',
        last_response_status = 200, last_response_body = ''`,
    ]) {
      await assert.rejects(db`update deliveries set ${change} where delivery_id = ${deliveryId}`, {
        code: '23514',
      })
    }
  })
})
