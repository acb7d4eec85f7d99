import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { signatureHeader } from '#shared/webhook-signature.ts'
import { isGenuine } from '../support/verify-webhook.ts'

const BODY = Buffer.from('{"id":"pay_1:payment.confirmed","note":"Grüße 🚀"}')
const SECRET = 'whsec_first'
const TIME = 1_750_000_000

describe('webhook signature', () => {
  test('has the form t=<unix seconds>,v1=<lower-case hex>, and equals openssl’s HMAC', () => {
    // printf '1750000000.{}' | openssl dgst -sha256 -hmac whsec_first
    assert.equal(
      signatureHeader(Buffer.from('{}'), [SECRET], TIME),
      't=1750000000,v1=ef9704920ca20ba2af92a088956e2ad4ea3f5a2576e8358ef0c31671e185e9f7',
    )
  })

  test('is accepted by an independent verifier', () => {
    assert.ok(isGenuine(signatureHeader(BODY, [SECRET], TIME), BODY, SECRET, TIME))
  })

  test('carries one v1 per active secret, and each secret alone verifies it', () => {
    const header = signatureHeader(BODY, [SECRET, 'whsec_second'], TIME)
    assert.equal(header.split(',').length, 3)
    assert.ok(isGenuine(header, BODY, SECRET, TIME))
    assert.ok(isGenuine(header, BODY, 'whsec_second', TIME))
    assert.ok(!isGenuine(header, BODY, 'whsec_third', TIME))
  })

  test('fails for any changed byte of the body', () => {
    const header = signatureHeader(BODY, [SECRET], TIME)
    for (let index = 0; index < BODY.length; index += 1) {
      const changed = Buffer.from(BODY)
      changed[index] = (changed[index] ?? 0) ^ 1
      assert.ok(!isGenuine(header, changed, SECRET, TIME), `byte ${index}`)
    }
  })

  test('is accepted up to 300 s away from the receiver’s clock and not at 301 s', () => {
    const header = signatureHeader(BODY, [SECRET], TIME)
    assert.ok(isGenuine(header, BODY, SECRET, TIME + 300))
    assert.ok(isGenuine(header, BODY, SECRET, TIME - 300))
    assert.ok(!isGenuine(header, BODY, SECRET, TIME + 301))
    assert.ok(!isGenuine(header, BODY, SECRET, TIME - 301))
  })

  test('refuses to sign with nothing, or at a fraction of a second', () => {
    assert.throws(() => signatureHeader(BODY, [], TIME), RangeError)
    assert.throws(() => signatureHeader(BODY, [SECRET], TIME + 0.5), RangeError)
  })
})
