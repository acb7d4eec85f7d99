import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  createLanes,
  LANE_IN_FLIGHT_MAX,
  type Lanes,
  PROVEN_COUNT_MAX,
  SLOW_AFTER_TIMEOUTS,
} from '../../dispatcher/lanes.ts'
import { createReleaseGate, RELEASE_GAP_MS, RELEASE_LOOK_MS } from '../../dispatcher/release.ts'

function fill(lanes: Lanes<number>, key: string, count: number): void {
  for (let item = 0; item < count; item += 1) lanes.add(key, item)
}

function takeAll(lanes: Lanes<number>): string[] {
  const taken: string[] = []
  for (let next = lanes.take(); next !== null; next = lanes.take()) taken.push(next.laneKey)
  return taken
}

/** Lets an endpoint answer once, so that it gets its full share. */
function prove(lanes: Lanes<number>, ...keys: string[]): void {
  for (const key of keys) lanes.add(key, -1)
  for (const key of takeAll(lanes)) lanes.finish(key, 'other')
}

describe('sharing posts among endpoints', () => {
  test('an endpoint that has not answered yet gets one post, then its full share', () => {
    const lanes = createLanes<number>()
    fill(lanes, 'a', 20)
    assert.deepEqual(takeAll(lanes), ['a'])
    lanes.finish('a', 'other')
    assert.equal(takeAll(lanes).length, LANE_IN_FLIGHT_MAX)
    assert.equal(lanes.take(), null)
    lanes.finish('a', 'other')
    assert.deepEqual(takeAll(lanes), ['a'])
  })

  test('items of one endpoint go in the order they came', () => {
    const lanes = createLanes<number>()
    fill(lanes, 'a', 3)
    const order: number[] = []
    for (let next = lanes.take(); next !== null; next = lanes.take()) {
      order.push(next.item)
      lanes.finish(next.laneKey, 'other')
    }
    assert.deepEqual(order, [0, 1, 2])
  })

  test('endpoints take turns', () => {
    const lanes = createLanes<number>({ inFlightMax: 6 })
    fill(lanes, 'a', 100)
    fill(lanes, 'b', 100)
    for (const key of takeAll(lanes)) lanes.finish(key, 'other')
    assert.deepEqual(takeAll(lanes), ['a', 'b', 'a', 'b', 'a', 'b'])
  })

  test(`after ${SLOW_AFTER_TIMEOUTS} timeouts in a row an endpoint gets one post at a time, until it answers`, () => {
    const lanes = createLanes<number>()
    fill(lanes, 'a', 50)
    lanes.finish(takeAll(lanes)[0] ?? '', 'other')
    assert.equal(takeAll(lanes).length, LANE_IN_FLIGHT_MAX)
    for (let count = 0; count < LANE_IN_FLIGHT_MAX; count += 1) lanes.finish('a', 'timeout')
    assert.ok(lanes.isSlow('a'))
    assert.deepEqual(takeAll(lanes), ['a'])
    lanes.finish('a', 'timeout')
    assert.deepEqual(takeAll(lanes), ['a'])
    lanes.finish('a', 'other')
    assert.ok(!lanes.isSlow('a'))
    assert.equal(takeAll(lanes).length, LANE_IN_FLIGHT_MAX)
  })

  test('a turn in which an endpoint was not asked says nothing of it', () => {
    const lanes = createLanes<number>()
    fill(lanes, 'a', 9)
    for (let count = 0; count < SLOW_AFTER_TIMEOUTS; count += 1) {
      assert.deepEqual(takeAll(lanes), ['a'])
      lanes.finish('a', 'timeout')
    }
    for (let count = 0; count < 3; count += 1) {
      assert.deepEqual(takeAll(lanes), ['a'])
      lanes.finish('a', 'unasked')
      assert.ok(lanes.isSlow('a'))
    }
  })

  test('slow endpoints together leave room for the others', () => {
    const lanes = createLanes<number>({ inFlightMax: 10, slowInFlightMax: 4 })
    const slow = Array.from({ length: 20 }, (_, index) => `slow-${index}`)
    for (let round = 0; round < SLOW_AFTER_TIMEOUTS; round += 1) {
      for (const key of slow) {
        fill(lanes, key, 1)
        for (const taken of takeAll(lanes)) lanes.finish(taken, 'timeout')
      }
    }
    for (const key of slow) fill(lanes, key, 2)
    assert.equal(takeAll(lanes).length, 4)
    prove(lanes, 'healthy')
    fill(lanes, 'healthy', 10)
    assert.equal(takeAll(lanes).filter((key) => key === 'healthy').length, 6)
  })

  test('an endpoint that answered is remembered while idle, until too many are', () => {
    const lanes = createLanes<number>()
    const takenAtOnce = (key: string) => {
      fill(lanes, key, 2)
      const count = takeAll(lanes).length
      while (lanes.inFlightCount() > 0) {
        lanes.finish(key, 'unasked')
        takeAll(lanes)
      }
      return count
    }
    for (let index = 0; index < PROVEN_COUNT_MAX; index += 1) prove(lanes, `store-${index}`)
    assert.equal(takenAtOnce('store-0'), 2)
    prove(lanes, 'one more')
    assert.equal(takenAtOnce('store-0'), 1)
    assert.equal(takenAtOnce('one more'), 2)
  })

  test('withdrawn items are gone, the others stay', () => {
    const lanes = createLanes<number>()
    fill(lanes, 'a', 10)
    assert.deepEqual(
      lanes.withdraw((item) => item % 2 === 1),
      [1, 3, 5, 7, 9],
    )
    assert.equal(lanes.waitingCount(), 5)
    const left: number[] = []
    for (let next = lanes.take(); next !== null; next = lanes.take()) {
      left.push(next.item)
      lanes.finish(next.laneKey, 'other')
    }
    assert.deepEqual(left, [0, 2, 4, 6, 8])
    assert.equal(lanes.inFlightCount(), 0)
    assert.equal(lanes.waitingCount(), 0)
  })

  test('counts stay right through any mixture of outcomes', () => {
    const lanes = createLanes<number>({ inFlightMax: 7, slowInFlightMax: 3 })
    const inFlight: string[] = []
    let seed = 1
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    let added = 0
    let finished = 0
    for (let step = 0; step < 5_000; step += 1) {
      if (random() < 0.4) {
        lanes.add(`lane-${Math.floor(random() * 5)}`, step)
        added += 1
      } else if (inFlight.length > 0) {
        const [key = ''] = inFlight.splice(Math.floor(random() * inFlight.length), 1)
        lanes.finish(key, random() < 0.5 ? 'timeout' : 'other')
        finished += 1
      }
      inFlight.push(...takeAll(lanes))
      assert.equal(lanes.inFlightCount(), inFlight.length)
      assert.equal(lanes.waitingCount(), added - finished - inFlight.length)
      assert.ok(inFlight.length <= 7)
    }
    while (inFlight.length > 0) {
      lanes.finish(inFlight.pop() ?? '', 'other')
      inFlight.push(...takeAll(lanes))
    }
    assert.equal(lanes.waitingCount(), 0)
  })
})

describe('releasing a store’s waiting deliveries', () => {
  const A = [{ storeId: 'a', from: '-infinity' }]
  const found = (count: number, until = '2026-01-01') => [{ storeId: 'a', count, until }]

  test('is looked for at most once a second while there is nothing to release', () => {
    const gate = createReleaseGate()
    assert.deepEqual(gate.due(['a'], 0), A)
    gate.released(A, [], 9, 0)
    assert.deepEqual(gate.due(['a', 'b'], RELEASE_LOOK_MS - 1), [
      { storeId: 'b', from: '-infinity' },
    ])
    assert.deepEqual(gate.due(['a'], RELEASE_LOOK_MS), A)
  })

  test('keeps a doubling distance while each look releases something, and forgets it after', () => {
    const gate = createReleaseGate()
    let nowMs = 0
    for (const gapMs of [RELEASE_GAP_MS, 2 * RELEASE_GAP_MS, 4 * RELEASE_GAP_MS]) {
      assert.deepEqual(gate.due(['a'], nowMs), A)
      gate.released(A, found(1), 9, nowMs)
      assert.deepEqual(gate.due(['a'], nowMs + gapMs - 1), [])
      nowMs += gapMs
    }
    gate.released(A, [], 9, nowMs)
    nowMs += RELEASE_LOOK_MS
    gate.released(A, found(1), 9, nowMs)
    assert.deepEqual(gate.due(['a'], nowMs + RELEASE_GAP_MS), A)
  })

  test('goes on at the next success where a part ended, once through the schedule, and then keeps its distance', () => {
    const gate = createReleaseGate()
    gate.released(A, found(9, '2026-01-01'), 9, 0)
    const [second] = gate.due(['a'], 1)
    assert.deepEqual(second, { storeId: 'a', from: '2026-01-01' })
    gate.released(gate.due(['a'], 1), found(9, '2026-01-02'), 9, 1)
    assert.deepEqual(gate.due(['a'], 2), [{ storeId: 'a', from: '2026-01-02' }])
    gate.released(gate.due(['a'], 2), [], 9, 2)
    assert.deepEqual(gate.due(['a'], 2 + RELEASE_GAP_MS - 1), [])
    assert.deepEqual(gate.due(['a'], 2 + RELEASE_GAP_MS), A)
  })
})
