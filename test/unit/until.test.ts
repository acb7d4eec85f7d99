import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/until.ts'

test('until answers the first truthy value', async () => {
  const answers = [undefined, 0, '', 'there', 'too late']
  assert.equal(await until(() => answers.shift(), { what: 'a word', everyMs: 1 }), 'there')
})

test('until looks again after a check that threw', async () => {
  let looks = 0
  const check = () => {
    looks += 1
    if (looks < 3) throw new Error('not yet')
    return looks
  }
  assert.equal(await until(check, { what: 'the third look', everyMs: 1 }), 3)
})

test('until gives up with what was awaited and what was seen last', async () => {
  const given = until(() => ({ status: 'PENDING' }).status === 'CONFIRMED', {
    what: 'the payment to be CONFIRMED',
    timeoutMs: 20,
    everyMs: 1,
  })
  await assert.rejects(given, /waited 20 ms for: the payment to be CONFIRMED; last: false/)
})

test('until gives up on a check that never answers', async () => {
  const never = until(() => new Promise<boolean>(() => {}), { what: 'an answer', timeoutMs: 20 })
  await assert.rejects(never, /waited 20 ms for: an answer; last: .*did not answer/)
})

test('until gives up with the last error as cause', async () => {
  const cause = new Error('refused')
  const check = (): boolean => {
    throw cause
  }
  await assert.rejects(until(check, { what: 'success', timeoutMs: 5, everyMs: 1 }), { cause })
})
