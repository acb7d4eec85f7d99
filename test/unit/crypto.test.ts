import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createKeyring,
  DecryptError,
  decrypt,
  encrypt,
  hashSecret,
  isEqualSecret,
  maskKey,
  newSecret,
  sha256,
  sha256Hex,
} from '#shared/crypto.ts'
import { newRenewToken, openRenewToken } from '#shared/subscriptions/renew-token.ts'

const KEYRING = createKeyring(new Uint8Array(32).fill(1))
const SECRET = 'whsec_0123456789abcdef — ключ 🔑'

test('SHA-256 agrees with the standard’s examples, for text and bytes', () => {
  const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  assert.equal(sha256Hex('abc'), abc)
  assert.equal(sha256Hex(new TextEncoder().encode('abc')), abc)
  assert.equal(Buffer.from(sha256('abc')).toString('hex'), abc)
  assert.equal(sha256Hex(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
})

test('a secret is its prefix and 256 bits that never repeat', () => {
  const prefixes = ['pk_test', 'pk_live', 'sk_test', 'sk_live', 'whsec', 'sess', 'renew'] as const
  for (const prefix of prefixes) {
    const secret = newSecret(prefix)
    assert.match(secret, new RegExp(`^${prefix}_[0-9a-f]{64}$`))
    assert.notEqual(newSecret(prefix), secret)
    assert.deepEqual(hashSecret(secret), sha256(secret))
  }
})

test('a masked key shows its kind and its last four characters, no more', () => {
  assert.equal(maskKey(`sk_live_${'0'.repeat(60)}1a2b`), 'sk_live_…1a2b')
  assert.equal(maskKey(`whsec_${'0'.repeat(60)}1a2b`), 'whsec_…1a2b')
})

test('secrets of different lengths compare as different, without an error', () => {
  assert.equal(isEqualSecret('abc', 'abc'), true)
  assert.equal(isEqualSecret('', ''), true)
  assert.equal(isEqualSecret('abc', 'abd'), false)
  assert.equal(isEqualSecret('abc', 'abcd'), false)
  assert.equal(isEqualSecret('abc', ''), false)
})

test('what was sealed opens in its context', () => {
  for (const text of [SECRET, '', 'x'.repeat(100_000)]) {
    assert.equal(decrypt(KEYRING, encrypt(KEYRING, text, 'store_1'), 'store_1'), text)
  }
})

test('sealing the same text twice shows nothing of it, nor that it is the same', () => {
  const [one, two] = [encrypt(KEYRING, SECRET, 'c'), encrypt(KEYRING, SECRET, 'c')]
  assert.notDeepEqual(one, two)
  assert.ok(!Buffer.from(one).includes('whsec'))
})

test('what was sealed for one store does not open for another', () => {
  const sealed = encrypt(KEYRING, SECRET, 'store_1')
  assert.throws(() => decrypt(KEYRING, sealed, 'store_2'), DecryptError)
})

test('a renew token opens for its own subscription alone, and is found by its hash', () => {
  const { token, hash, ciphertext } = newRenewToken(KEYRING, 'sub_1')
  assert.equal(openRenewToken(KEYRING, 'sub_1', ciphertext), token)
  assert.deepEqual(hash, hashSecret(token))
  assert.throws(() => openRenewToken(KEYRING, 'sub_2', ciphertext), DecryptError)
})

test('a change of any byte is noticed', () => {
  const sealed = encrypt(KEYRING, 'abc', 'c')
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = sealed.map((byte, at) => (at === index ? byte ^ 1 : byte))
    assert.throws(() => decrypt(KEYRING, changed, 'c'), DecryptError, `byte ${index}`)
  }
})

test('a sealed secret that is cut short or of another version is refused', () => {
  const sealed = encrypt(KEYRING, '', 'c')
  for (const length of [0, 1, sealed.length - 1]) {
    assert.throws(() => decrypt(KEYRING, sealed.subarray(0, length), 'c'), DecryptError)
  }
  assert.throws(() => decrypt(KEYRING, Uint8Array.of(2, ...sealed.subarray(1)), 'c'), /version/)
})

test('after rotation the new key seals and the old one still opens', () => {
  const old = encrypt(KEYRING, SECRET, 'c')
  const rotated = createKeyring(new Uint8Array(32).fill(2), new Uint8Array(32).fill(1))
  assert.equal(decrypt(rotated, old, 'c'), SECRET)
  const sealed = encrypt(rotated, SECRET, 'c')
  assert.equal(decrypt(rotated, sealed, 'c'), SECRET)
  assert.throws(() => decrypt(KEYRING, sealed, 'c'), /not configured/)
})

test('a key of another length is refused', () => {
  for (const length of [0, 16, 31, 33]) {
    assert.throws(() => createKeyring(new Uint8Array(length)), RangeError)
  }
})
