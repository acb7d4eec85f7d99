import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Db, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import type { Prepared } from '../../dispatcher/deliver.ts'
import type { Reading } from '../../dispatcher/fresh.ts'
import { createLanes, SLOW_AFTER_TIMEOUTS } from '../../dispatcher/lanes.ts'
import { createPump, type PumpDeps } from '../../dispatcher/pump.ts'
import { BUNDLE_MAX, type Bundle } from '../../dispatcher/queue.ts'
import type { Settlement } from '../../dispatcher/recorder.ts'
import { RELAY_BATCH_MAX } from '../../dispatcher/relay.ts'
import { until } from '../support/until.ts'

const never = () => assert.fail('nothing is to be delivered here')
/** A job whose deliveries have all been attempted. */
const DONE: Bundle = { id: 'job', retryCount: 0, token: '-infinity', deliveryIds: [] }

/** A pump on a queue with so many jobs, and a recorder with so much still to write. */
function pumpOn(
  state: { jobCount: number; unwrittenCount: number },
  parts: Partial<PumpDeps> = {},
) {
  const asked: number[] = []
  const pump = createPump({
    ...{ nowMs: never, monotonicMs: () => 0, random: never, log: silentLog },
    ...{ leftMsMin: 0, waitMsMax: 0, onAttempted: never },
    // Connects with its first query, and nobody asks it.
    db: openDb({ url: 'postgres://127.0.0.1:1/none', applicationName: 'none' }),
    poster: { post: never, close: () => undefined },
    queue: {
      send: never,
      async fetch(count) {
        asked.push(count)
        const taken = Math.min(count, state.jobCount)
        state.jobCount -= taken
        return Array.from({ length: taken }, () => DONE)
      },
      settle: never,
      stop: never,
    },
    lanes: createLanes<Prepared>(),
    recorder: {
      add: never,
      pendingCount: () => state.unwrittenCount,
      drain: never,
      stop: never,
    },
    fresh: { add: never, take: never, count: never },
    secrets: { opened: () => [], open: never },
    ...parts,
  })
  return { pump, asked }
}

test('a queue that gave less than asked is not asked again until somebody rings', async () => {
  const { pump, asked } = pumpOn({ jobCount: 2, unwrittenCount: 0 })
  assert.equal(await pump.fill(), false)
  assert.equal(
    pump.mayGoOn(),
    false,
    'an attempt that ends is no reason to look into an empty queue',
  )
  assert.equal(asked.length, 1)
})

test('all that a step of the relay adds is taken at once, and seen to be all', async () => {
  const { pump, asked } = pumpOn({
    jobCount: Math.ceil(RELAY_BATCH_MAX / BUNDLE_MAX),
    unwrittenCount: 0,
  })
  assert.equal(await pump.fill(), false)
  assert.equal(asked.length, 1)
})

test('a queue that gave all that was asked for is asked on', async () => {
  const { pump } = pumpOn({ jobCount: 1_000, unwrittenCount: 0 })
  assert.equal(await pump.fill(), true)
  assert.equal(pump.mayGoOn(), true)
})

test('a pump that left off for want of room goes on when there is some', async () => {
  const state = { jobCount: 1, unwrittenCount: 4_000 }
  const { pump, asked } = pumpOn(state)
  assert.equal(await pump.fill(), false)
  assert.deepEqual([asked.length, pump.mayGoOn()], [0, false])
  state.unwrittenCount = 3_999
  assert.equal(pump.mayGoOn(), true)
  assert.equal(await pump.fill(), false)
  assert.deepEqual([asked.length, pump.mayGoOn()], [1, false])
})

test('while many endpoints wait for nothing but their turn no more is taken: what waits for long has to be read again', () => {
  const lanes = createLanes<Prepared>({ inFlightMax: 0 })
  const { pump } = pumpOn({ jobCount: 1, unwrittenCount: 0 }, { lanes })
  for (let index = 0; index < 249; index += 1) lanes.add(`store-${index}`, {} as Prepared)
  assert.ok(pump.room() > 0)
  lanes.add('store-249', {} as Prepared)
  assert.equal(pump.room(), 0)
})

test('deliveries that waited too long for their turn are read again in one statement', async () => {
  const deliveryIds = ['dlv_1', 'dlv_2', 'dlv_3']
  const readings = new Map(deliveryIds.map((id) => [id, staleReading(id)]))
  let statementCount = 0
  const settled = Promise.withResolvers<void>()
  const givenBack: Settlement[] = []
  const { pump } = pumpOn(
    { jobCount: 0, unwrittenCount: 0 },
    {
      // All that is asked here is how often: nobody's deliveries are left.
      db: ((text: readonly string[]) => {
        if (text[0]?.includes('select')) statementCount += 1
        return Promise.resolve([])
      }) as unknown as Db,
      fresh: {
        add: never,
        count: never,
        take({ deliveryId }) {
          const reading = readings.get(deliveryId)
          readings.delete(deliveryId)
          return reading ?? null
        },
      },
      recorder: {
        add(settlement) {
          givenBack.push(settlement)
          if (givenBack.length === deliveryIds.length) settled.resolve()
        },
        pendingCount: () => 0,
        drain: never,
        stop: never,
      },
    },
  )
  await pump.take([{ ...DONE, deliveryIds }])
  await settled.promise
  assert.equal(statementCount, 1)
  assert.deepEqual(givenBack.map(({ job }) => job.deliveryId).sort(), deliveryIds)
})

test('an endpoint that did not answer three times in a row is slow, until it answers, whatever it says', async () => {
  const lanes = createLanes<Prepared>()
  const storeId = 'store_of_all'
  const wasSlow: boolean[] = []
  const { pump } = pumpOn(
    { jobCount: 0, unwrittenCount: 0 },
    {
      ...{ lanes, nowMs: () => 0, random: () => 0.5, onAttempted: () => undefined },
      secrets: { opened: () => ['whsec_1'], open: never },
      fresh: {
        ...{ add: never, count: never },
        take: ({ deliveryId }) => {
          const { delivery } = staleReading(deliveryId)
          return { readAtMs: 0, delivery: { ...delivery, storeId, secretIds: 'whs_1' } }
        },
      },
      poster: {
        async post() {
          wasSlow.push(lanes.isSlow(storeId))
          if (wasSlow.length <= SLOW_AFTER_TIMEOUTS) return { kind: 'failed', fault: 'timeout' }
          return { kind: 'answered', status: 500, retryAfter: null, body: new Uint8Array() }
        },
        close: () => undefined,
      },
      recorder: { add: () => undefined, pendingCount: () => 0, drain: never, stop: never },
    },
  )
  await pump.take([{ ...DONE, deliveryIds: ['dlv_1', 'dlv_2', 'dlv_3', 'dlv_4'] }])
  await until(() => wasSlow.length === 4 && !lanes.isSlow(storeId), { what: 'an answer' })
  assert.deepEqual(wasSlow, [false, false, false, true])
})

/** What the relay read of a delivery, ten seconds ago. */
function staleReading(deliveryId: string): Reading {
  const time = new Date(0)
  return {
    readAtMs: -10_000,
    delivery: {
      ...{ deliveryId, storeId: `store_${deliveryId}`, eventId: deliveryId, eventType: 'test' },
      ...{ attemptCount: 0, deadlineAt: '1970-01-04Z', now: time, body: '{}', secretIds: '' },
      url: 'http://127.0.0.1:9/',
    },
  }
}
