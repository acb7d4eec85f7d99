import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from '@sinclair/typebox'
import { ServiceError } from '#shared/errors.ts'
import { compileQuery, compileSchema } from '../../api/schema.ts'

const check = compileSchema(
  Type.Object(
    {
      amount: Type.Integer({ minimum: 1 }),
      token: Type.Optional(Type.Union([Type.Literal('usdc'), Type.Literal('usdt')])),
      branding: Type.Optional(
        Type.Object({ color: Type.String() }, { additionalProperties: false }),
      ),
      tags: Type.Optional(Type.Array(Type.String())),
    },
    { additionalProperties: false },
  ),
)

const REFUSED: [value: unknown, param: string, message: RegExp][] = [
  [{ amount: '5' }, 'amount', /be an integer/],
  [{ amount: 1.5 }, 'amount', /be an integer/],
  [{ amount: true }, 'amount', /be an integer/],
  [{ amount: 0 }, 'amount', /be 1 or more/],
  [{}, 'amount', /required/],
  [{ amount: 1, extra: 1 }, 'extra', /no such field/],
  [{ amount: 1, branding: { color: 'x', 'a/b': 1 } }, 'branding.a/b', /no such field/],
  [{ amount: 1, branding: {} }, 'branding.color', /required/],
  [{ amount: 1, token: 'USDC' }, 'token', /one of usdc, usdt/],
  [{ amount: 1, token: null }, 'token', /one of usdc, usdt/],
  [{ amount: 1, tags: ['a', 2] }, 'tags.1', /be a string/],
]

for (const [value, param, message] of REFUSED) {
  test(`refuses ${JSON.stringify(value)}, naming ${param}`, () => {
    assert.throws(() => check(value), refusal(param, message))
  })
}

test('an array, a text or nothing at all is no object', () => {
  for (const value of [[], 'x', 5, null, undefined]) {
    assert.throws(() => check(value), refusal('', /be an object|required/))
  }
})

test('what it takes comes back as it is', () => {
  const value = { amount: 1, tags: ['a'], branding: { color: 'x' } }
  assert.equal(check(value), value)
})

const read = compileQuery(
  Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      status: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
)

test('a query’s whole numbers are read from their digits, texts stay texts', () => {
  assert.deepEqual(read('limit=20&status=5'), { limit: 20, status: '5' })
  assert.deepEqual(read(''), {})
})

test('a query’s repeated, unknown, broken and out-of-range parameters are refused', () => {
  for (const query of [
    'limit=1&limit=2',
    'limit=',
    'limit=1.5',
    'limit=0',
    'limit=101',
    'limit=0x1',
  ]) {
    assert.throws(() => read(query), refusal('limit', /./))
  }
  assert.throws(() => read('lmit=1'), refusal('lmit', /no such/))
  assert.throws(() => read('status=%00'), refusal('status', /valid text/))
})

function refusal(param: string, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ServiceError)
    assert.equal(error.code, 'invalid_request')
    assert.equal(error.details.param ?? '', param)
    assert.match(error.message, message)
    return true
  }
}
