import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HDKey } from '@scure/bip32'
import { address, getProgramDerivedAddress } from '@solana/kit'
import { mnemonicToAccount } from 'viem/accounts'
import {
  deriveAddress,
  deriveAddresses,
  normalizeAddress,
  normalizeContract,
  parseXpub,
} from '#shared/networks/addresses.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'
/** m/44'/60'/0'/0 of it. */
const XPUB =
  'xpub6DyUKdwoLWmUJ4Tn9Bbsdtx7B5Ws18mEN19e5HT52ikE53FiUheSQXrZUNPovqfyKmw4579A1Mm3GXXKM39N64uooBfJ4tNAzFsEbodRTx4'
/** m/44'/60'/0' of the same. */
const ACCOUNT_XPUB =
  'xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP'
const XPRV =
  'xprv9zz7v8QuW9DB5aPK3A4sGm1Nd3gNbg3NznE3Gu3TUPDFCEvZwALBrjY5d5h8eyKywqqFkKXDaxAKsmL4qVMzN3wBGaC2h3WoJT74EVuGwZi'

/** The accounts Anvil and Hardhat print at start. */
const ANVIL_ADDRESSES = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
  '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
  '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
  '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
  '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
]

// The four spellings of EIP-55's own test vectors.
const CHECKSUMMED = [
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

test('an EVM address comes in in one case or rightly mixed, and goes out in EIP-55 form', () => {
  for (const text of CHECKSUMMED) {
    assert.equal(normalizeAddress('evm', text), text)
    assert.equal(normalizeAddress('evm', text.toLowerCase()), text)
    assert.equal(normalizeAddress('evm', `0x${text.slice(2).toUpperCase()}`), text)
    assert.equal(normalizeContract('evm', text.toLowerCase()), text)
  }
})

test('an EVM address in mixed case with a wrong checksum is refused', () => {
  assert.equal(normalizeAddress('evm', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'), undefined)
})

const NO_EVM_ADDRESSES = [
  '',
  '0x',
  '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0',
  ' 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n',
  '0xZaAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  'vitalik.eth',
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
]
for (const text of NO_EVM_ADDRESSES) {
  test(`${JSON.stringify(text)} is no EVM address`, () => {
    assert.equal(normalizeAddress('evm', text), undefined)
    assert.equal(normalizeContract('evm', text), undefined)
  })
}

test('a Solana owner is a point on the curve', () => {
  // A wallet's public key: the one of the ed25519 seed of 32 zero bytes (RFC 8032 arithmetic).
  const owner = '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS'
  assert.equal(normalizeAddress('solana', owner), owner)
})

test('a Solana address off the curve is a program’s account: no owner, but maybe a mint', async () => {
  const [derived] = await getProgramDerivedAddress({
    programAddress: address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'),
    seeds: ['any'],
  })
  assert.equal(normalizeAddress('solana', derived), undefined)
  assert.equal(normalizeContract('solana', derived), derived)
})

for (const text of [
  '',
  'x',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '1'.repeat(31),
  '1'.repeat(45),
  ' EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1O',
]) {
  test(`${JSON.stringify(text)} is no Solana address`, () => {
    assert.equal(normalizeAddress('solana', text), undefined)
    assert.equal(normalizeContract('solana', text), undefined)
  })
}

test('child i of m/44’/60’/0’/0 is the wallet’s account i', () => {
  assert.deepEqual(deriveAddresses(XPUB, 0, 10), ANVIL_ADDRESSES)
  for (const [index, address] of ANVIL_ADDRESSES.entries()) {
    assert.equal(deriveAddress(XPUB, index), address)
  }
})

test('addresses are direct children of the given key, also of an account’s', () => {
  const child = mnemonicToAccount(MNEMONIC, { path: "m/44'/60'/0'/7" })
  assert.equal(deriveAddress(ACCOUNT_XPUB, 7), child.address)
})

test('addresses are those that viem derives from the mnemonic', () => {
  for (const addressIndex of [11, 99, 1_000, 123_456, 2 ** 31 - 1]) {
    const account = mnemonicToAccount(MNEMONIC, { addressIndex })
    assert.equal(deriveAddress(XPUB, addressIndex), account.address)
  }
})

test('a part of the list is the same as the whole', () => {
  assert.deepEqual(deriveAddresses(XPUB, 4, 3), ANVIL_ADDRESSES.slice(4, 7))
  assert.deepEqual(deriveAddresses(XPUB, 4, 0), [])
})

for (const index of [-1, 0.5, 2 ** 31, Number.NaN]) {
  test(`child ${index} is never derived`, () => {
    assert.throws(() => deriveAddress(XPUB, index), /child index/)
  })
}

test('an xpub of any depth is taken, and goes out as a master’s with the same children', () => {
  for (const text of [XPUB, ACCOUNT_XPUB]) {
    const parsed = parseXpub(text)
    assert.ok('xpub' in parsed)
    assert.match(parsed.xpub, /^xpub661MyMwAqRbc/)
    assert.deepEqual(parseXpub(parsed.xpub), parsed)
    assert.deepEqual(deriveAddresses(parsed.xpub, 0, 5), deriveAddresses(text, 0, 5))
  }
  // BIP-32's test vector 1, the master key.
  const master =
    'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8'
  assert.deepEqual(parseXpub(master), { xpub: master })
})

test('one key written with another depth, parent or number is the same xpub, another chain code is not', () => {
  const { publicKey, chainCode } = HDKey.fromExtendedKey(XPUB)
  assert.ok(publicKey && chainCode)
  const write = (place: { depth: number; index: number; parentFingerprint: number }) =>
    new HDKey({ publicKey, chainCode, ...place }).publicExtendedKey
  const texts = [
    write({ depth: 1, index: 0, parentFingerprint: 1 }),
    write({ depth: 4, index: 7, parentFingerprint: 1 }),
    write({ depth: 4, index: 7, parentFingerprint: 2 }),
  ]
  assert.equal(new Set(texts).size, texts.length)
  for (const text of texts) assert.deepEqual(parseXpub(text), parseXpub(XPUB))
  const other = new HDKey({ publicKey, chainCode: new Uint8Array(32).fill(1) }).publicExtendedKey
  assert.notDeepEqual(parseXpub(other), parseXpub(XPUB))
})

test('a private key is refused, and the refusal says what was nearly given away', () => {
  for (const text of [XPRV, 'tprv8ZgxMBicQKsPd', 'zprvAWgYBBk7JR8Gj', 'yprv']) {
    const result = parseXpub(text)
    assert.ok('reason' in result)
    assert.match(result.reason, /private key/)
    assert.ok(!result.reason.includes(text))
  }
})

/** BIP-32's test vector 5: extended keys that must be refused. */
const INVALID_XPUBS = [
  'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6LBpB85b3D2yc8sfvZU521AAwdZafEz7mnzBBsz4wKY5fTtTQBm',
  'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6Txnt3siSujt9RCVYsx4qHZGc62TG4McvMGcAUjeuwZdduYEvFn',
  'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6N8ZMMXctdiCjxTNq964yKkwrkBJJwpzZS4HS2fxvyYUA4q2Xe4',
  'xpub661no6RGEX3uJkY4bNnPcw4URcQTrSibUZ4NqJEw5eBkv7ovTwgiT91XX27VbEXGENhYRCf7hyEbWrR3FewATdCEebj6znwMfQkhRYHRLpJ',
  'xpub661MyMwAuDcm6CRQ5N4qiHKrJ39Xe1R1NyfouMKTTWcguwVcfrZJaNvhpebzGerh7gucBvzEQWRugZDuDXjNDRmXzSZe4c7mnTK97pTvGS8',
  'DMwo58pR1QLEFihHiXPVykYB6fJmsTeHvyTp7hRThAtCX8CvYzgPcn8XnmdfHGMQzT7ayAmfo4z3gY5KfbrZWZ6St24UVf2Qgo6oujFktLHdHY4',
  'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6N8ZMMXctdiCjxTNq964yKkwrkBJJwpzZS4HS2fxvyYUA4q2Xe5',
]
for (const text of [
  ...INVALID_XPUBS,
  '',
  'xpub',
  `${XPUB} `,
  ` ${XPUB}`,
  XPUB.slice(0, -1),
  `${XPUB}1`,
  XPUB.replace('6Dy', '6Dz'),
  XPUB.replace('w', '0'),
  ANVIL_ADDRESSES[0] ?? '',
]) {
  test(`${JSON.stringify(text.slice(0, 24))}… (${text.length}) is refused as an xpub`, () => {
    assert.ok('reason' in parseXpub(text))
  })
}

for (const [prefix, text] of [
  [
    'tpub',
    'tpubD6NzVbkrYhZ4XgiXtGrdW5XDAPFCL9h7we1vwNCpn8tGbBcgfVYjXyhWo4E1xkh56hjod1RhGjxbaTLV3X4FyWuejifB9jusQ46QzG87VKp',
  ],
  [
    'zpub',
    'zpub6jftahH18ngZxLmXaKw3GSZzZsszmt9WqedkyZdezFtWRFBZqsQH5hyUmb4pCEeZGmVfQuP5bedXTB8is6fTv19U1GQRyQUKQGUTzyHACMF',
  ],
]) {
  test(`a ${prefix} is refused, and the refusal says which kind is meant`, () => {
    const result = parseXpub(text ?? '')
    assert.match('reason' in result ? result.reason : '', /begins with xpub/)
  })
}
