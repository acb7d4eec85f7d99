import nodeAssert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionError, assert, never } from '#shared/assert.ts'

test('an invariant that holds is silent, and its type is known afterwards', () => {
  const value = ((): string | undefined => 'x')()
  assert(value !== undefined, 'there is a value')
  nodeAssert.equal(value.length, 1)
})

test('a broken invariant stops with its message', () => {
  for (const condition of [false, null, undefined, 0, '']) {
    nodeAssert.throws(
      () => assert(condition, 'the books balance'),
      (error: Error) => error instanceof AssertionError && error.message === 'the books balance',
    )
  }
})

test('a value outside its union stops instead of falling through', () => {
  nodeAssert.throws(() => never('REFUNDED' as never), AssertionError)
})
