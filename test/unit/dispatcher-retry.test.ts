import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nextStep, RETRY_WINDOW_MS, retryAfterMs } from '../../dispatcher/retry.ts'

const EVENT = new Date('2026-03-01T12:00:00.000Z')
const DEADLINE = new Date(EVENT.getTime() + RETRY_WINDOW_MS)
const S = 1000
const H = 3600 * S

const failure = { deadlineAt: DEADLINE, now: EVENT, random: 0.5, retryAfterMs: null }

function waitOf(step: ReturnType<typeof nextStep>, from = EVENT): number {
  assert.equal(step.kind, 'RETRY')
  return step.kind === 'RETRY' ? step.at.getTime() - from.getTime() : Number.NaN
}

describe('retry schedule', () => {
  const SCHEDULE_S = [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
  for (const [index, seconds] of SCHEDULE_S.entries()) {
    const attemptCount = index + 1
    test(`attempt ${attemptCount} failed: next in ${seconds} s, ±20 %`, () => {
      assert.equal(waitOf(nextStep({ ...failure, attemptCount })), seconds * S)
      assert.equal(waitOf(nextStep({ ...failure, attemptCount, random: 0 })), seconds * S * 0.8)
      const longest = waitOf(nextStep({ ...failure, attemptCount, random: 1 - Number.EPSILON }))
      assert.ok(Math.abs(longest - seconds * S * 1.2) <= 1)
    })
  }

  test('an absurd attempt count still waits an hour, not for ever', () => {
    assert.equal(waitOf(nextStep({ ...failure, attemptCount: 100_000 })), 1 * H)
  })

  test('a wait that would pass the deadline is cut to it', () => {
    const now = new Date(DEADLINE.getTime() - 60 * S)
    assert.equal(waitOf(nextStep({ ...failure, attemptCount: 80, now }), now), 60 * S)
  })

  test('a failure at or after the deadline is the end', () => {
    assert.deepEqual(nextStep({ ...failure, attemptCount: 80, now: DEADLINE }), { kind: 'DEAD' })
    const late = new Date(DEADLINE.getTime() + 1)
    assert.deepEqual(nextStep({ ...failure, attemptCount: 1, now: late }), { kind: 'DEAD' })
  })

  test('played to its end with any jitter it dies by an attempt made at 72 h exactly', () => {
    for (const random of [0, 0.25, 0.5, 0.999]) {
      let now = EVENT
      let attemptCount = 1
      for (;;) {
        const step = nextStep({ ...failure, attemptCount, now, random })
        if (step.kind === 'DEAD') break
        assert.ok(step.at > now, 'time moves on')
        now = step.at
        attemptCount += 1
        assert.ok(attemptCount < 120, 'the number of attempts is bounded')
      }
      assert.equal(now.getTime(), DEADLINE.getTime())
      assert.ok(attemptCount > 60)
    }
  })

  test('Retry-After replaces the wait, sooner or later', () => {
    for (const askedMs of [1 * S, 5 * S, 500 * S, 1 * H]) {
      const step = nextStep({ ...failure, attemptCount: 4, retryAfterMs: askedMs })
      assert.equal(waitOf(step), askedMs)
    }
  })

  test('Retry-After never makes more than twenty attempts come early', () => {
    const step = nextStep({ ...failure, attemptCount: 21, retryAfterMs: 1 * S })
    assert.equal(waitOf(step), 1 * H)
  })

  test('Retry-After does not outlive the deadline', () => {
    const now = new Date(DEADLINE.getTime() - 30 * S)
    const step = nextStep({ ...failure, attemptCount: 4, now, retryAfterMs: 1 * H })
    assert.equal(waitOf(step, now), 30 * S)
  })
})

describe('Retry-After', () => {
  const CASES: [status: number, header: string | null, expected: number | null][] = [
    [429, '120', 120 * S],
    [503, '120', 120 * S],
    [503, ' 7 ', 7 * S],
    [429, '7200', 1 * H],
    [429, '99999999999999999999', null],
    [429, '0', null],
    [429, '-5', null],
    [429, '1.5', null],
    [429, 'soon', null],
    [429, '', null],
    [429, null, null],
    [500, '120', null],
    [200, '120', null],
    [503, 'Sun, 01 Mar 2026 12:01:30 GMT', 90 * S],
    [503, 'Sunday, 01-Mar-26 12:01:30 GMT', 90 * S],
    [503, 'Sun Mar  1 12:01:30 2026', 90 * S],
    [503, 'Sun, 01 Mar 2026 18:00:00 GMT', 1 * H],
    [503, 'Sun, 01 Mar 2026 11:59:59 GMT', null],
    [503, 'Sun, 01 Mar 2026 12:01:30 CET', null],
    [503, '2026-03-01T12:01:30Z', null],
  ]
  for (const [status, header, expected] of CASES) {
    test(`${status} with ${JSON.stringify(header)}: ${expected === null ? 'none' : `${expected} ms`}`, () => {
      assert.equal(retryAfterMs(status, header, EVENT), expected)
    })
  }
})
