import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  readBlockTransfers,
  readHeader,
  readSignatures,
} from '../../indexer/drivers/solana-shapes.ts'
import { RpcError } from '../../indexer/rpc-error.ts'

const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const SELLER = '6P6zSWvUdznJ5vindjEwVnpfyGKfELzLBmDGoqyVG8Qk'
const BUYER = '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T'
const SIGNATURE =
  '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
const BLOCK = { number: 7, hash: MINT, parentHash: MINT, timeMs: 1_000 }

function balance(owner: unknown, amount: unknown, accountIndex: unknown, mint: unknown = MINT) {
  return { accountIndex, mint, owner, uiTokenAmount: { amount, decimals: 6 } }
}

function read(meta: object | null, keys: unknown = [{ pubkey: BUYER }]) {
  const transaction = { accountKeys: keys, signatures: [SIGNATURE] }
  const block = { transactions: [{ meta, transaction }] }
  return readBlockTransfers(block, BLOCK, new Set([MINT]), 'node')
}

test('an amount above what a double can hold passes whole', () => {
  const [seen] = read({
    err: null,
    preTokenBalances: [balance(BUYER, '18446744073709551615', 1), balance(SELLER, '1', 2)],
    postTokenBalances: [balance(BUYER, '0', 1), balance(SELLER, '18446744073709551614', 2)],
  })
  assert.equal(seen?.amountBaseUnits, 18_446_744_073_709_551_613n)
  assert.deepEqual([seen?.from, seen?.to, seen?.index, seen?.txHash], [BUYER, SELLER, 2, SIGNATURE])
})

test('several accounts of one owner are one sum, at the place of the first', () => {
  const seen = read({
    err: null,
    preTokenBalances: [balance(SELLER, '10', 5), balance(SELLER, '90', 3)],
    postTokenBalances: [balance(SELLER, '100', 5), balance(SELLER, '30', 3)],
  })
  assert.deepEqual(
    seen.map(({ amountBaseUnits, index }) => [amountBaseUnits, index]),
    [[30n, 3]],
  )
})

test('what of a watched token cannot be read is an error, never nothing', () => {
  const good = { err: null, preTokenBalances: [], postTokenBalances: [balance(SELLER, '1', 1)] }
  assert.equal(read(good).length, 1)
  for (const bad of [
    null,
    { ...good, err: undefined },
    { ...good, preTokenBalances: undefined },
    { ...good, postTokenBalances: null },
    { ...good, postTokenBalances: [balance(undefined, '1', 1)] },
    { ...good, postTokenBalances: [balance(SELLER, '-1', 1)] },
    { ...good, postTokenBalances: [balance(SELLER, 1, 1)] },
    { ...good, postTokenBalances: [balance(SELLER, '1', 1.5)] },
    { ...good, postTokenBalances: [balance(SELLER, '1', 1, null)] },
  ]) {
    assert.throws(() => read(bad), RpcError)
  }
  assert.throws(() => read(good, null), RpcError)
  assert.throws(() => read(good, []), RpcError)
})

test('a block without its time, or with another shape, is an error', () => {
  const good = { blockhash: MINT, previousBlockhash: MINT, parentSlot: 6, blockTime: 1 }
  assert.equal(readHeader(good, 7, 'node').timeMs, 1_000)
  for (const bad of [{ blockTime: null }, { parentSlot: -1 }, { blockhash: 'no hash' }]) {
    assert.throws(() => readHeader({ ...good, ...bad }, 7, 'node'), RpcError)
  }
  assert.throws(() => readBlockTransfers({}, BLOCK, new Set([MINT]), 'node'), RpcError)
})

test('failed transactions are in a signature list and marked as such', () => {
  const entries = [
    { signature: SIGNATURE, slot: 7, err: null },
    { signature: SIGNATURE, slot: 6, err: { InstructionError: [0, 'x'] } },
  ]
  assert.deepEqual(
    readSignatures(entries, 'node').map(({ isFailed }) => isFailed),
    [false, true],
  )
  assert.throws(() => readSignatures([{ signature: SIGNATURE, slot: 7 }], 'node'), RpcError)
})
