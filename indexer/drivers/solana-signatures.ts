import { type Answer, type ReadOptions, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { RpcCall } from '../socket.ts'
import type { Observation } from './driver.ts'
import {
  ask,
  blockCall,
  type Commitment,
  type Reader,
  retrying,
  TRANSACTION_VERSION_MAX,
} from './solana-read.ts'
import {
  type Change,
  fieldsOf,
  inconsistent,
  malformed,
  readChanges,
  readHeader,
  readKey,
  readSignatures,
  readSlot,
  readTransactionTransfers,
  type SignatureEntry,
} from './solana-shapes.ts'

/** An account's history that is wanted: signatures of slots after `above`, back to a signature already known. */
export type Wanted = { account: string; above: number; until: string | undefined }

/** Accounts of one `getMultipleAccounts`, and signatures of one `getSignaturesForAddress` (Agave's limits). */
const ACCOUNTS_PER_CALL = 100
const SIGNATURES_PER_CALL = 1_000
/** Entries of one batch: providers bound them, and all answers are in memory at once. */
const CALLS_PER_BATCH = 50
const TRANSACTIONS_PER_BATCH = 25
/** Blocks' signature lists of one batch: some 150 kB each. */
const BLOCKS_PER_BATCH = 8
/** Pages of one account's history in one reading: a million signatures. More is nobody's shop. */
const PAGES_MAX = 1_000

/** What each account holds now, in a form that only can be compared, and by which slot. Throws `lagging` when the node is behind `slot`. */
export async function readFingerprints(
  reader: Reader,
  accounts: readonly string[],
  slot: number,
): Promise<{ fingerprint: string; slot: number }[]> {
  // The amount (spl.solana.com/token, Account): the rest of a token account tells nothing of money.
  const dataSlice = { offset: 64, length: 8 }
  const config = { commitment: 'confirmed', minContextSlot: slot, dataSlice } as const
  const found = await readAccounts(reader, accounts, config)
  return found.map((one) => ({ fingerprint: toFingerprint(one.value), slot: one.slot }))
}

type AccountsConfig = {
  commitment: Commitment
  minContextSlot: number
  dataSlice: { offset: number; length: number }
}

/** Accounts as they are by the slot that goes with each. Throws `lagging` when the node is behind `minContextSlot`. */
export async function readAccounts(
  reader: Reader,
  accounts: readonly string[],
  config: AccountsConfig,
  options?: ReadOptions,
): Promise<{ value: unknown; slot: number }[]> {
  const found: { value: unknown; slot: number }[] = []
  for (const part of parts(accounts, ACCOUNTS_PER_CALL)) {
    const params = [part, { ...config, encoding: 'base64' }]
    const read = ([answer]: Answer[], host: string) => {
      const { value, context } = fieldsOf(unwrap(answer, host), 'accounts', host)
      if (!Array.isArray(value) || value.length !== part.length) throw malformed('accounts', host)
      const slot = readSlot(fieldsOf(context, 'context', host)['slot'], 'slot', host)
      return value.map((one: unknown) => ({ value: one, slot }))
    }
    const calls = [{ method: 'getMultipleAccounts', params }]
    found.push(...(await retrying(() => ask(reader, calls, read, options))))
  }
  return found
}

function toFingerprint(account: unknown): string {
  if (account === null) return 'none'
  const { lamports, data } = account as { lamports?: unknown; data?: unknown }
  return `${String(lamports)} ${String(Array.isArray(data) ? data[0] : data)}`
}

/**
 * Signatures that mention each account, newest first, of slots after its `above`; those of slots after `to` are among them.
 * Nodes answer them without a word of how far they are, so the slot they have to have reached goes with the call.
 */
export async function readHistory(
  reader: Reader,
  wanted: readonly Wanted[],
  { to, commitment }: { to: number; commitment: Commitment },
  options?: ReadOptions,
): Promise<SignatureEntry[][]> {
  const found: SignatureEntry[][] = wanted.map(() => [])
  const config = { commitment, limit: SIGNATURES_PER_CALL, minContextSlot: to }
  let open = wanted.map((one, index) => ({
    ...one,
    index,
    before: undefined as string | undefined,
  }))
  for (let page = 0; open.length > 0; page += 1) {
    if (page >= PAGES_MAX) throw new RpcError('too_large', 'an account has too long a history')
    const next: typeof open = []
    for (const part of parts(open, CALLS_PER_BATCH)) {
      const calls = part.map(({ account, until, before }) => ({
        method: 'getSignaturesForAddress',
        params: [
          account,
          { ...config, ...(until ? { until } : {}), ...(before ? { before } : {}) },
        ],
      }))
      const pages = await readAll(reader, calls, readSignatures, options)
      for (const [position, one] of part.entries()) {
        const entries = pages[position] ?? []
        const fresh = entries.filter(({ slot }) => slot > one.above)
        found[one.index]?.push(...fresh)
        const isFull = entries.length >= SIGNATURES_PER_CALL && fresh.length === entries.length
        const last = entries.at(-1)
        if (isFull && last) next.push({ ...one, before: last.signature })
      }
    }
    open = next
  }
  return found
}

/** What the named transactions moved, in the chain's order. */
export async function readMentioned(
  reader: Reader,
  entries: readonly SignatureEntry[],
  commitment: Commitment,
  options?: ReadOptions,
): Promise<Observation[]> {
  const found = await readTransactions(reader, entries, commitment, options)
  return found.flatMap(({ transfers }) => transfers)
}

/** A transaction in its block. */
type Placed = {
  signature: string
  slot: number
  position: number
  transfers: Observation[]
  changes: Change[]
}

/**
 * The named transactions, in the chain's order. Their blocks are asked for their own signatures: a transaction that was
 * re-sent after a fork, or a node between two branches, does not get a block it is not in. A final one is in the final block
 * of its slot, whatever that block's list says.
 */
export async function readTransactions(
  reader: Reader,
  entries: readonly SignatureEntry[],
  commitment: Commitment,
  options?: ReadOptions,
): Promise<Placed[]> {
  const slotBySignature = new Map(
    entries.filter(({ isFailed }) => !isFailed).map(({ signature, slot }) => [signature, slot]),
  )
  const signatures = [...slotBySignature.keys()]
  const values = await readParts(reader, signatures, TRANSACTIONS_PER_BATCH, {
    toCall: (signature) => transactionCall(signature, commitment),
    read: (value, host) => {
      if (value === null) throw new RpcError('lagging', `${host}: lists a transaction it has not`)
      return { value, host }
    },
    options,
  })
  const slots = [...new Set(slotBySignature.values())].sort((a, b) => a - b)
  const blocks = await readParts(reader, slots, BLOCKS_PER_BATCH, {
    toCall: (slot) => blockCall(slot, commitment, 'signatures'),
    read: (value, host, index) => readListed(value, slots[index] ?? 0, host),
    options,
  })
  const blockBySlot = new Map(blocks.map((one) => [one.block.number, one]))
  const unlisted = commitment === 'finalized' ? Number.MAX_SAFE_INTEGER : undefined
  const placed = signatures.map((signature, index) => {
    const listed = blockBySlot.get(slotBySignature.get(signature) ?? -1)
    const position = listed?.positions.get(signature) ?? unlisted
    const { value, host = '' } = values[index] ?? {}
    if (!listed || position === undefined) {
      throw inconsistent('a block without a transaction it was said to hold', host)
    }
    const { block } = listed
    const transfers = readTransactionTransfers(value, block, reader.mints, host)
    const changes = readChanges(value, block.number, reader.mints, host)
    return { signature, slot: block.number, position, transfers, changes }
  })
  return placed.sort((a, b) => a.slot - b.slot || a.position - b.position)
}

function readListed(value: unknown, slot: number, host: string) {
  const { signatures } = fieldsOf(value, 'block', host)
  if (!Array.isArray(signatures)) throw malformed('signatures', host)
  const positions = new Map(
    signatures.map((one, position) => [readKey(one, 'signature', host), position]),
  )
  return { block: readHeader(value, slot, host), positions }
}

function transactionCall(signature: string, commitment: Commitment): RpcCall {
  const maxSupportedTransactionVersion = TRANSACTION_VERSION_MAX
  // The parsed form lists all keys with their roles, those of lookup tables included.
  const config = { commitment, encoding: 'jsonParsed', maxSupportedTransactionVersion }
  return { method: 'getTransaction', params: [signature, config] }
}

type PartTerms<I, T> = {
  toCall(item: I): RpcCall
  read(value: unknown, host: string, index: number): T
  options: ReadOptions | undefined
}

async function readParts<I, T>(
  reader: Reader,
  items: readonly I[],
  size: number,
  { toCall, read, options }: PartTerms<I, T>,
): Promise<T[]> {
  const found: T[] = []
  for (const part of parts(items, size)) {
    const start = found.length
    const readOne = (value: unknown, host: string, index: number) =>
      read(value, host, start + index)
    found.push(...(await readAll(reader, part.map(toCall), readOne, options)))
  }
  return found
}

function readAll<T>(
  reader: Reader,
  calls: readonly RpcCall[],
  read: (value: unknown, host: string, index: number) => T,
  options?: ReadOptions,
): Promise<T[]> {
  const judge = (answers: Answer[], host: string) =>
    calls.map((_, index) => read(unwrap(answers[index], host), host, index))
  return retrying(() => ask(reader, calls, judge, options))
}

function parts<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
