import { Buffer } from 'node:buffer'
import type { ReadOptions } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { Observation } from './driver.ts'
import { readBlocks } from './solana-blocks.ts'
import type { Reader } from './solana-read.ts'
import type { Change } from './solana-shapes.ts'
import { readAccounts, readHistory, readTransactions } from './solana-signatures.ts'

/** A token account whose transfers from `since` on are wanted, and whether the first reading saw any. */
export type Checked = { account: string; since: number; isActive: boolean }

export type Balances = {
  /** Notes what these accounts hold that are not known yet, and forgets all others. */
  begin(accounts: readonly string[]): Promise<void>
  /** From which slot on what an account holds is known. */
  knownSince(account: string): number | undefined
  /**
   * Final transfers of an inclusive range to accounts that changed, or are said to be active, as their lists of signatures or, where
   * those do not explain what the accounts hold, the blocks themselves tell. Throws `inconsistent` when nothing does.
   */
  read(
    accounts: readonly Checked[],
    range: { from: number; to: number },
    options?: ReadOptions,
  ): Promise<Observation[]>
}

/** What an account held at the end of a slot. */
type Known = { amount: bigint; at: number }
/** An account that has to be explained: what it held, and what it holds now. */
type Open = Checked & { before: Known | undefined; now: Known }
/** What moved, as one source tells it. */
type Evidence = { transfers: Observation[]; changes: Change[] }

/** Where a token account says how much it holds: 8 bytes, the lowest first (spl.solana.com/token, Account). */
const AMOUNT = { offset: 64, length: 8 }

/**
 * What token accounts hold, followed through final slots: the chain's state knows nothing of the indexes that signatures and
 * blocks are answered from. Money that came and went within one range is not seen.
 */
export function createBalances(reader: Reader): Balances {
  const known = new Map<string, Known>()
  return {
    async begin(accounts) {
      const wanted = new Set(accounts)
      for (const account of known.keys()) if (!wanted.has(account)) known.delete(account)
      const unknown = accounts.filter((account) => !known.has(account))
      const held = await readHeld(reader, unknown, 0)
      for (const [index, account] of unknown.entries()) known.set(account, held[index] as Known)
    },
    knownSince: (account) => known.get(account)?.at,
    async read(accounts, { from, to }, options) {
      const names = accounts.map(({ account }) => account)
      const held = await readHeld(reader, names, to, options)
      const open = accounts.flatMap((one, index): Open[] => {
        const [before, now] = [known.get(one.account), held[index] as Known]
        const isCovered = before !== undefined && before.at < Math.max(from, one.since)
        if (isCovered && before.amount === now.amount && !one.isActive) return []
        return [{ ...one, before, now }]
      })
      const found = await explain(reader, open, { from, to }, options)
      const later = changesByAccount(found.changes.filter(({ slot }) => slot > to))
      for (const [index, account] of names.entries()) {
        const { amount, at } = held[index] as Known
        const after = sum(later.get(account), to, at)
        if ((known.get(account)?.at ?? 0) < to)
          known.set(account, { amount: amount - after, at: to })
      }
      return found.transfers
    },
  }
}

/** What moved on accounts, and proof that this is all: by their signatures, else by blocks. */
async function explain(
  reader: Reader,
  open: readonly Open[],
  range: { from: number; to: number },
  options: ReadOptions | undefined,
): Promise<Evidence> {
  const bySignatures = await readSigned(reader, open, range, options)
  const left = findUnexplained(open, bySignatures)
  if (left.length === 0) return bySignatures
  const accounts = left.map(({ account }) => account)
  reader.log.warn('lists of signatures do not explain what these accounts hold', { accounts })
  const byBlocks = await readThrough(reader, left, range, options)
  const [contradicted] = findUnexplained(left, byBlocks)
  if (contradicted) {
    throw new RpcError('inconsistent', `nothing tells what moved on ${contradicted.account}`)
  }
  const isLeft = new Set(accounts)
  return {
    transfers: merge([...bySignatures.transfers, ...byBlocks.transfers]),
    changes: [
      ...bySignatures.changes.filter(({ account }) => !isLeft.has(account)),
      ...byBlocks.changes,
    ],
  }
}

function findUnexplained(open: readonly Open[], { changes }: Evidence): Open[] {
  const byAccount = changesByAccount(changes)
  return open.filter(({ account, before, now }) => {
    if (before === undefined || before.at > now.at) return false
    return before.amount + sum(byAccount.get(account), before.at, now.at) !== now.amount
  })
}

async function readSigned(
  reader: Reader,
  open: readonly Open[],
  { from, to }: { from: number; to: number },
  options: ReadOptions | undefined,
): Promise<Evidence> {
  const wanted = open.map(({ account, since, before }) => {
    const first = Math.max(from, since) - 1
    return { account, above: Math.min(first, before?.at ?? first), until: undefined }
  })
  const histories = await readHistory(reader, wanted, { to, commitment: 'finalized' }, options)
  const found = await readTransactions(reader, histories.flat(), 'finalized', options)
  const wantedFrom = firstSlots(open, histories, from)
  return {
    transfers: found
      .filter(({ slot, signature }) => slot <= to && slot >= (wantedFrom.get(signature) ?? from))
      .flatMap(({ transfers }) => transfers),
    changes: found.flatMap(({ changes }) => changes),
  }
}

/** From which slot on each signature is wanted, by the accounts it was found at. */
function firstSlots(
  open: readonly Open[],
  histories: readonly (readonly { signature: string }[])[],
  from: number,
): Map<string, number> {
  const first = new Map<string, number>()
  for (const [index, entries] of histories.entries()) {
    const since = Math.max(from, open[index]?.since ?? from)
    for (const { signature } of entries) {
      first.set(signature, Math.min(since, first.get(signature) ?? since))
    }
  }
  return first
}

/** Everything in the blocks from what is known of these accounts to what they hold now. */
async function readThrough(
  reader: Reader,
  open: readonly Open[],
  { from, to }: { from: number; to: number },
  options: ReadOptions | undefined,
): Promise<Evidence> {
  const accounts = new Set(open.map(({ account }) => account))
  const since = Math.min(...open.map((one) => one.since))
  const begin = Math.min(from, ...open.map(({ before, now }) => (before?.at ?? now.at) + 1))
  const end = Math.max(...open.map(({ now }) => now.at))
  const evidence: Evidence = { transfers: [], changes: [] }
  for (let start = begin; start <= end; ) {
    const terms = { ...options, accounts }
    const part = await readBlocks(reader, start, end, 'finalized', terms)
    const isWanted = ({ blockNumber }: Observation) =>
      blockNumber >= Math.max(from, since) && blockNumber <= to
    evidence.transfers.push(...part.transfers.filter(isWanted))
    evidence.changes.push(...part.changes)
    start = part.last.number + 1
  }
  return evidence
}

function changesByAccount(changes: readonly Change[]): Map<string, Change[]> {
  const byAccount = new Map<string, Change[]>()
  for (const change of changes) {
    const list = byAccount.get(change.account)
    if (list) list.push(change)
    else byAccount.set(change.account, [change])
  }
  return byAccount
}

/** What came in less what went out after one slot, up to another. */
function sum(changes: readonly Change[] = [], after: number, to: number): bigint {
  return changes
    .filter(({ slot }) => slot > after && slot <= to)
    .reduce((total, { amount }) => total + amount, 0n)
}

/** Transfers that two sources tell of, once each, in the chain's order as far as it is known. */
export function merge(transfers: readonly Observation[]): Observation[] {
  const byKey = new Map(
    transfers.map((one) => [`${one.blockHash} ${one.txHash} ${one.index}`, one] as const),
  )
  return [...byKey.values()].sort((a, b) => a.blockNumber - b.blockNumber)
}

/** How much each account holds by the newest final slot, which is not before `slot`. */
async function readHeld(
  reader: Reader,
  accounts: readonly string[],
  slot: number,
  options?: ReadOptions,
): Promise<Known[]> {
  const config = { commitment: 'finalized', minContextSlot: slot, dataSlice: AMOUNT } as const
  const held = await readAccounts(reader, accounts, config, options)
  return held.map(({ value, slot: at }) => ({ amount: readAmount(value), at }))
}

/** No account, or none of the token program's any more, holds nothing. */
function readAmount(value: unknown): bigint {
  const { data } = (value ?? {}) as { data?: unknown }
  const bytes = Buffer.from(Array.isArray(data) ? String(data[0]) : '', 'base64')
  return bytes.length === AMOUNT.length ? bytes.readBigUInt64LE() : 0n
}
