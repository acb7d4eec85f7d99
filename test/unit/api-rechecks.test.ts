import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Db } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { createRechecks } from '../../api/rechecks.ts'

const OPEN = { deployment: 'base:test', status: 'PENDING', clock: 'CHAIN' } as const

/** Rechecks on a clock that the test turns, with the deployments asked for. */
function setUp() {
  const asked: string[] = []
  let nowMs = 0
  const db = ((_: TemplateStringsArray, ...values: string[]) => {
    asked.push(values.find((value) => value.includes(':')) ?? 'no deployment')
    return Promise.resolve([])
  }) as unknown as Db
  const rechecks = createRechecks({ db, log: silentLog, nowMs: () => nowMs })
  return {
    asked,
    rechecks,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

test('one payment asks at most once in 12 s', () => {
  const { asked, rechecks, pass } = setUp()
  for (let second = 0; second < 24; second += 1) {
    rechecks.ask({ ...OPEN, paymentId: 'pay_1' })
    pass(1_000)
  }
  assert.equal(asked.length, 2)
})

test('many payments of one deployment ask at most once a second together', () => {
  const { asked, rechecks, pass } = setUp()
  for (let index = 0; index < 1_000; index += 1) {
    rechecks.ask({ ...OPEN, paymentId: `pay_${index}` })
    pass(5)
  }
  assert.equal(asked.length, 5)
  rechecks.ask({ ...OPEN, paymentId: 'pay_x', deployment: 'bnb:live' })
  assert.equal(asked.at(-1), 'bnb:live')
})

test('settled payments and those by our own clock never ask', () => {
  const { asked, rechecks } = setUp()
  for (const status of ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED', 'CANCELED'] as const) {
    rechecks.ask({ ...OPEN, paymentId: 'pay_1', status })
  }
  rechecks.ask({ ...OPEN, paymentId: 'pay_1', clock: 'OURS' })
  assert.equal(asked.length, 0)
})
