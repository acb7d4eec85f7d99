import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '#shared/errors.ts'
import { createPasswords, isAcceptablePassword } from '../../api/accounts/password.ts'

const PASSWORD = 'correct horse battery'

test('a password is stored as Argon2id with the parameters OWASP recommends', async () => {
  const stored = await createPasswords().hashPassword(PASSWORD)
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
})

test('the right password is recognised, any other is not', async () => {
  const { hashPassword, verifyPassword } = createPasswords()
  const stored = await hashPassword(PASSWORD)
  assert.notEqual(await hashPassword(PASSWORD), stored)
  assert.equal(await verifyPassword(PASSWORD, stored), true)
  assert.equal(await verifyPassword(`${PASSWORD} `, stored), false)
  assert.equal(await verifyPassword('', stored), false)
})

test('the same password typed on another system is recognised', async () => {
  const { hashPassword, verifyPassword } = createPasswords()
  const stored = await hashPassword('pass\u00e9 compos\u00e9 \ufb01n')
  assert.equal(await verifyPassword('passe\u0301 compose\u0301 fin', stored), true)
})

test('without an account the answer is no, after the same work', async () => {
  const { hashPassword, verifyPassword } = createPasswords()
  const stored = await hashPassword(PASSWORD)
  assert.equal(await verifyPassword(PASSWORD, undefined), false)

  // The fastest of some runs each: far from equal would mean that no hash was computed.
  const fastest = async (storedHash: string | undefined) => {
    let bestMs = Number.POSITIVE_INFINITY
    for (let run = 0; run < 5; run += 1) {
      const startedAt = performance.now()
      await verifyPassword('wrong horse battery', storedHash)
      bestMs = Math.min(bestMs, performance.now() - startedAt)
    }
    return bestMs
  }
  const ratio = (await fastest(undefined)) / (await fastest(stored))
  assert.ok(ratio > 0.2 && ratio < 5, `unknown takes ${ratio} times as long as known`)
})

test('a stored hash that is damaged is an error, not a wrong password', async () => {
  await assert.rejects(createPasswords().verifyPassword(PASSWORD, 'damaged'))
})

test('a flood is answered 503 once too many wait, and all that were taken are served', async () => {
  const { verifyPassword } = createPasswords()
  const results = await Promise.allSettled(
    Array.from({ length: 140 }, () => verifyPassword(PASSWORD, undefined)),
  )
  const refused = results.filter((result) => result.status === 'rejected')
  assert.equal(refused.length, 10)
  for (const { reason } of refused) {
    assert.ok(reason instanceof ServiceError)
    assert.equal(reason.status, 503)
    assert.ok((reason.details.retryAfterSeconds ?? 0) > 0)
  }
  assert.equal(await verifyPassword(PASSWORD, undefined), false, 'places are given back')
})

test('a failing hash gives its place back', async () => {
  const { hashPassword, verifyPassword } = createPasswords()
  for (let run = 0; run < 4; run += 1) await assert.rejects(verifyPassword(PASSWORD, 'damaged'))
  assert.match(await hashPassword(PASSWORD), /^\$argon2id\$/)
})

const ACCEPTABLE: readonly [password: string, isAcceptable: boolean][] = [
  ['', false],
  ['elevenchars', false],
  ['twelve chars', true],
  ['💶💶💶💶💶💶💶💶💶💶💶', false],
  ['💶💶💶💶💶💶💶💶💶💶💶💶', true],
  ['a'.repeat(1_024), true],
  ['a'.repeat(1_025), false],
  ['é'.repeat(513), false],
]
for (const [password, isAcceptable] of ACCEPTABLE) {
  test(`${[...password].length} characters in ${Buffer.byteLength(password)} bytes are ${isAcceptable ? '' : 'not '}acceptable`, () => {
    assert.equal(isAcceptablePassword(password), isAcceptable)
  })
}

test('a password too long to be hashed is nobody’s, and is never hashed', async () => {
  const { hashPassword, verifyPassword } = createPasswords()
  const long = 'a'.repeat(1_025)
  assert.equal(await verifyPassword(long, await hashPassword(PASSWORD)), false)
  assert.throws(() => hashPassword(long), RangeError)
})
