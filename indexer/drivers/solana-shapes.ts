import { RpcError } from '../rpc-error.ts'
import type { BlockRef, Observation } from './driver.ts'

/** A block's own facts; `number` is its slot. */
export type SolanaBlock = BlockRef & { parentNumber: number }
/** Mints of the deployment's tokens, as they stand in an answer. */
export type Mints = ReadonlySet<string>

type Json = Record<string, unknown>
type Move = { mint: string; owner: string; delta: bigint; index: number }

const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,88}$/
const DIGITS = /^\d{1,20}$/
/** Keys of one transaction that may be references: more are no payment. Version-1 transactions name 64 accounts. */
const REFERENCES_MAX = 64

/** A block's header out of a `getBlock` answer. */
export function readHeader(value: unknown, slot: number, host: string): SolanaBlock {
  const block = fieldsOf(value, 'block', host)
  const { blockTime } = block
  // Seconds; null only where a node has lost it, and then nothing could be matched by time.
  if (typeof blockTime !== 'number') throw malformed('blockTime', host)
  return {
    number: slot,
    hash: readKey(block['blockhash'], 'blockhash', host),
    parentHash: readKey(block['previousBlockhash'], 'previousBlockhash', host),
    parentNumber: readSlot(block['parentSlot'], 'parentSlot', host),
    timeMs: blockTime * 1_000,
  }
}

/** The watched tokens' transfers of a whole block, as `getBlock` with `transactionDetails: "accounts"` tells them. */
export function readBlockTransfers(
  value: unknown,
  block: BlockRef,
  mints: Mints,
  host: string,
): Observation[] {
  const { transactions } = fieldsOf(value, 'block', host)
  if (!Array.isArray(transactions)) throw malformed('transactions', host)
  return transactions.flatMap((one) => {
    const { meta, transaction } = fieldsOf(one, 'transaction', host)
    return readTransfers({ meta, transaction, block, mints, host })
  })
}

/** What a whole block, as told likewise, changed of these token accounts. */
export function readBlockChanges(
  value: unknown,
  slot: number,
  { mints, accounts }: { mints: Mints; accounts: ReadonlySet<string> },
  host: string,
): Change[] {
  const { transactions } = fieldsOf(value, 'block', host)
  if (!Array.isArray(transactions)) throw malformed('transactions', host)
  return transactions
    .flatMap((one) => readChanges(one, slot, mints, host))
    .filter(({ account }) => accounts.has(account))
}

/** The same out of a `getTransaction` answer. */
export function readTransactionTransfers(
  value: unknown,
  block: BlockRef,
  mints: Mints,
  host: string,
): Observation[] {
  const { meta, transaction, slot } = fieldsOf(value, 'transaction', host)
  if (slot !== block.number) throw inconsistent('a transaction of another slot', host)
  const { message, signatures } = fieldsOf(transaction, 'transaction', host)
  const { accountKeys } = fieldsOf(message, 'message', host)
  return readTransfers({ meta, transaction: { accountKeys, signatures }, block, mints, host })
}

/** How much more of a watched mint a token account holds after a transaction. */
export type Change = { account: string; slot: number; amount: bigint }

/** What a transaction changed of token accounts, out of `getTransaction` or of a block's list. A failed one changed nothing. */
export function readChanges(value: unknown, slot: number, mints: Mints, host: string): Change[] {
  const { meta, transaction } = fieldsOf(value, 'transaction', host)
  const { err, preTokenBalances, postTokenBalances } = fieldsOf(meta, 'meta', host)
  if (err !== null) return []
  const { message, accountKeys } = fieldsOf(transaction, 'transaction', host)
  const keys = accountKeys ?? fieldsOf(message, 'message', host)['accountKeys']
  if (!Array.isArray(keys)) throw malformed('keys', host)
  const changes: Change[] = []
  forEachBalance(preTokenBalances, postTokenBalances, mints, host, ({ index, amount }) => {
    changes.push({ account: readKey(keyOf(keys[index]), 'account', host), slot, amount })
  })
  return changes
}

type Source = {
  meta: unknown
  transaction: unknown
  block: BlockRef
  mints: Mints
  host: string
}

/**
 * What a transaction moved, read from token balances before and after, by owner and mint: so inner instructions, withheld
 * fees, batches and accounts made or closed on the way need no rule of their own. A failed one moved nothing.
 */
function readTransfers({ meta, transaction, block, mints, host }: Source): Observation[] {
  const { err, preTokenBalances, postTokenBalances } = fieldsOf(meta, 'meta', host)
  if (err === undefined) throw malformed('err', host)
  if (err !== null) return []
  const moves = readMoves(preTokenBalances, postTokenBalances, mints, host)
  const arrived = moves.filter(({ delta }) => delta > 0n)
  if (arrived.length === 0) return []
  const { accountKeys, signatures } = fieldsOf(transaction, 'transaction', host)
  if (!Array.isArray(accountKeys) || !Array.isArray(signatures)) throw malformed('keys', host)
  const txHash = readKey(signatures[0], 'signature', host)
  const feePayer = readKey(keyOf(accountKeys[0]), 'fee payer', host)
  const references = readReferences(accountKeys)
  return arrived.map(({ mint, owner, delta, index }) => ({
    blockNumber: block.number,
    blockHash: block.hash,
    blockTimeMs: block.timeMs,
    ...{ txHash, index },
    contract: mint,
    from: senderOf(moves, mint) ?? feePayer,
    to: owner,
    amountBaseUnits: delta,
    ...(references.length > 0 ? { references } : {}),
  }))
}

/** By owner and mint: how much more there is after, and the first of the accounts that hold it. */
function readMoves(before: unknown, after: unknown, mints: Mints, host: string): Move[] {
  const moves = new Map<string, Move>()
  forEachBalance(before, after, mints, host, ({ mint, balance, index, amount }) => {
    const owner = readKey(balance['owner'], 'owner', host)
    const key = `${owner} ${mint}`
    const known = moves.get(key) ?? { mint, owner, delta: 0n, index }
    known.delta += amount
    known.index = Math.min(known.index, index)
    moves.set(key, known)
  })
  return [...moves.values()]
}

/** Tells each balance of a watched mint, those before as negative amounts. */
function forEachBalance(
  before: unknown,
  after: unknown,
  mints: Mints,
  host: string,
  tell: (one: { mint: string; balance: Json; index: number; amount: bigint }) => void,
): void {
  if (!Array.isArray(before) || !Array.isArray(after)) throw malformed('token balances', host)
  const add = (balance: unknown, sign: bigint) => {
    // Most balances are of other mints: they are left before anything of them is checked.
    const mint = (balance as Json | null)?.['mint']
    if (typeof mint !== 'string') throw malformed('mint', host)
    if (!mints.has(mint)) return
    const { accountIndex, uiTokenAmount } = balance as Json
    const { amount } = fieldsOf(uiTokenAmount, 'uiTokenAmount', host)
    if (typeof amount !== 'string' || !DIGITS.test(amount)) throw malformed('amount', host)
    const index = readSlot(accountIndex, 'accountIndex', host)
    tell({ mint, balance: balance as Json, index, amount: sign * BigInt(amount) })
  }
  // An account that was just made has no balance before, one that was closed none after: both count as 0.
  for (const balance of before) add(balance, -1n)
  for (const balance of after) add(balance, 1n)
}

/** Who gave most of a mint; undefined when nobody gave any, as when it is minted. */
function senderOf(moves: readonly Move[], mint: string): string | undefined {
  const given = moves.filter((move) => move.mint === mint && move.delta < 0n)
  given.sort((a, b) => (a.delta < b.delta ? -1 : a.delta > b.delta ? 1 : a.index - b.index))
  return given[0]?.owner
}

/** Solana Pay: a reference is a key that is only read and does not sign (docs.solanapay.com/spec). */
function readReferences(accountKeys: readonly unknown[]): string[] {
  return accountKeys
    .flatMap((one) => {
      const { pubkey, signer, writable } = (one ?? {}) as Json
      return typeof pubkey === 'string' && signer === false && writable === false ? [pubkey] : []
    })
    .slice(0, REFERENCES_MAX)
}

function keyOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (value as Json)['pubkey'] : value
}

/** A list entry of `getSignaturesForAddress`. */
export type SignatureEntry = { signature: string; slot: number; isFailed: boolean }

export function readSignatures(value: unknown, host: string): SignatureEntry[] {
  if (!Array.isArray(value)) throw malformed('signatures', host)
  return value.map((one) => {
    const { signature, slot, err } = fieldsOf(one, 'signature', host)
    if (err === undefined) throw malformed('err', host)
    return {
      signature: readKey(signature, 'signature', host),
      slot: readSlot(slot, 'slot', host),
      isFailed: err !== null,
    }
  })
}

/** A slot, or any other whole number that counts from 0. */
export function readSlot(value: unknown, field: string, host: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw malformed(field, host)
}

/** A public key, hash or signature in base58. */
export function readKey(value: unknown, field: string, host: string): string {
  if (typeof value === 'string' && BASE58.test(value)) return value
  throw malformed(field, host)
}

export function fieldsOf(value: unknown, what: string, host: string): Json {
  if (typeof value === 'object' && value !== null) return value as Json
  throw malformed(what, host)
}

export function malformed(field: string, host: string): RpcError {
  return new RpcError('malformed', `${host}: answered a malformed ${field}`)
}

export function inconsistent(what: string, host: string): RpcError {
  return new RpcError('inconsistent', `${host}: answered ${what}`)
}
