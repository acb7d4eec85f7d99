import { type Address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import type { ReadOptions } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { Observation } from './driver.ts'
import type { Balances } from './solana-balances.ts'
import type { Reader } from './solana-read.ts'
import { readFingerprints, readHistory, readMentioned } from './solana-signatures.ts'

/** A token account that may be paid, and how far it was read. Slots. */
type Watched = {
  account: string
  /** The first slot from which this process answers for it; undefined before its first reading. */
  since: number | undefined
  /** Everything up to here was read. */
  readTo: number
  /** A slot in which it is known to have changed, beyond `readTo`: to be read now. */
  rungAt: number | undefined
  /** Whether `rungAt` is the very slot, as a notification tells it, or only not before the change. */
  isRungExactly: boolean
  /** Until then, by our clock, a ring that nothing was found for is asked again: indexes are written after blocks. */
  warmUntilMs: number
  /** Its balance as last seen, with lamports. */
  fingerprint: string | undefined
  /** The newest signature that was read. */
  newest: string | undefined
  /** The newest slot in which it was seen to have changed. */
  activeAt: number
  /** Whether its balance was seen, and whether it was asked about a second time: until then it costs calls of its own. */
  isSeen: boolean
  isSeenAgain: boolean
  /** Nobody waits for it any more, from this slot on. */
  isEnding: boolean
  endedAt: number | undefined
}

export type Accounts = {
  /** From the next reading on, these recipients' token accounts are read, and no others. */
  expect(recipients: readonly string[]): Promise<void>
  /** Accounts of which nothing was read yet. */
  newCount(): number
  /**
   * Sees what accounts hold of which nothing was read yet: up to the slot it answers blocks have to be read, and nothing of
   * their histories from there on.
   */
  prime(): Promise<number>
  /** Accounts that ring. */
  list(): string[]
  /** An account changed in this slot. */
  ring(account: string, slot: number): void
  /** Everything is asked about at the next reading: notifications may have been lost. */
  distrust(): void
  /** Whether all that are watched cost few calls together from now on. */
  areKnown(): boolean
  /** Whether a ring is still unanswered. */
  isWaiting(): boolean
  /** Transfers up to `to` of all that was not read yet. */
  read(from: number, to: number): Promise<Observation[]>
  /**
   * All transfers of an inclusive range once more, at `finalized`, without trusting any notification, and borne out by balances.
   * With few calls only of accounts that changed.
   */
  readAgain(from: number, to: number, terms: AgainTerms): Promise<Observation[]>
  /** The token accounts of a recipient, one for each mint. */
  of(recipient: string): Promise<string[]>
  /** Accounts that ended before this slot need not be known any more. */
  forget(auditedTo: number): void
}

type AgainTerms = { isThrifty: boolean; reading: ReadOptions | undefined }

export type AccountsDeps = {
  reader: Reader
  balances: Balances
  nowMs(): number
  /** Which token program keeps each mint. */
  programOf(mint: string): string | undefined
  /** Whether changes of this account are told of right now. */
  isListening(account: string): boolean
}

/** How the account at which an owner is paid is found (spl.solana.com/associated-token-account). */
const ASSOCIATED_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
/** Milliseconds between looks at the balances of accounts that ring by themselves. */
const LOOK_EVERY_MS = 5_000
/** Milliseconds a change is looked for in an index that is written after the block. */
const WARM_MS = 15_000

/** Recipients whose accounts are remembered beyond those that are watched: deriving them again is cheap. */
const DERIVED_MAX = 20_000

/** Reads by recipient: few calls while few sellers wait, whatever else the chain does. */
export function createAccounts(deps: AccountsDeps): Accounts {
  const { reader, balances, nowMs } = deps
  const watched = new Map<string, Watched>()
  const accountsOf = createDeriving(deps)
  const look = createLook(deps)
  const isNew = ({ since, isSeen, isEnding }: Watched) =>
    since === undefined && !isSeen && !isEnding
  const isRung = ({ rungAt }: Watched) => rungAt !== undefined
  const select = (isWanted: (one: Watched) => boolean) => [...watched.values()].filter(isWanted)
  return {
    list: () => select(({ isEnding }) => !isEnding).map(({ account }) => account),
    async expect(recipients) {
      const lists = await Promise.all(recipients.map(accountsOf))
      const wanted = new Set(lists.flat())
      for (const account of wanted) {
        const known = watched.get(account)
        if (known) Object.assign(known, { isEnding: false, endedAt: undefined })
        else watched.set(account, newlyWatched(account))
      }
      for (const one of watched.values()) one.isEnding = !wanted.has(one.account)
    },
    ring(account, slot) {
      const one = watched.get(account)
      if (!one || slot <= one.readTo) return
      one.rungAt = Math.max(slot, one.rungAt ?? 0)
      one.isRungExactly = true
      one.warmUntilMs = nowMs() + WARM_MS
    },
    newCount: () => select(isNew).length,
    async prime() {
      const unknown = select(isNew)
      const names = unknown.map(({ account }) => account)
      const found = await readFingerprints(reader, names, 0)
      for (const [index, one] of unknown.entries()) {
        Object.assign(one, { fingerprint: found[index]?.fingerprint, isSeen: true })
      }
      return Math.max(0, ...found.map(({ slot }) => slot))
    },
    distrust: look.distrust,
    areKnown: () => select((one) => !one.isEnding && !(one.isSeen && one.isSeenAgain)).length === 0,
    isWaiting: () => select(isRung).length > 0,
    of: accountsOf,
    async read(from, to) {
      for (const one of watched.values()) begin(one, from)
      await balances.begin([...watched.keys()])
      await look.ringChanged(
        select((one) => !isRung(one)),
        to,
      )
      const rung = select(isRung)
      const readings = await readHistory(
        reader,
        rung.map((one) => ({ account: one.account, above: one.readTo, until: one.newest })),
        { to, commitment: 'confirmed' },
      )
      const mentioned = readings.flat().filter(({ slot }) => slot <= to)
      const transfers = await readMentioned(reader, mentioned, 'confirmed')
      for (const [index, one] of rung.entries()) settle(one, readings[index] ?? [], to, nowMs())
      return transfers
    },
    readAgain(from, to, { isThrifty, reading }) {
      const checked = select(({ since = to + 1 }) => since <= to).map((one) => {
        const { account, since = from } = one
        one.isSeenAgain = true
        return { account, since, isActive: !isThrifty || isRung(one) || one.activeAt >= from }
      })
      return balances.read(checked, { from, to }, reading)
    },
    forget(auditedTo) {
      for (const { account, endedAt } of watched.values()) {
        if (endedAt !== undefined && endedAt <= auditedTo) watched.delete(account)
      }
    },
  }
}

/** The token accounts of a recipient, one for each mint. */
function createDeriving({ reader, programOf }: AccountsDeps) {
  const byRecipient = new Map<string, string[]>()
  return async (recipient: string): Promise<string[]> => {
    const known = byRecipient.get(recipient)
    if (known) return known
    const derived = await Promise.all(
      [...reader.mints].map((mint) => deriveAccount(recipient, mint, programOf(mint))),
    )
    if (byRecipient.size >= DERIVED_MAX) byRecipient.clear()
    byRecipient.set(recipient, derived)
    return derived
  }
}

/** Looks at balances, to find what changed without a notification. */
function createLook({ reader, nowMs, isListening }: AccountsDeps) {
  let lookedAtMs = Number.NEGATIVE_INFINITY
  return {
    distrust() {
      lookedAtMs = Number.NEGATIVE_INFINITY
    },
    async ringChanged(silent: readonly Watched[], to: number) {
      const now = nowMs()
      const isDue = now - lookedAtMs >= LOOK_EVERY_MS
      const cold = silent.filter(({ account }) => isDue || !isListening(account))
      const accounts = cold.map(({ account }) => account)
      const fingerprints = await readFingerprints(reader, accounts, to)
      for (const [index, one] of cold.entries()) {
        const fingerprint = fingerprints[index]?.fingerprint
        if (one.fingerprint === fingerprint) continue
        const warmUntilMs = one.fingerprint === undefined ? 0 : now + WARM_MS
        const ring = { rungAt: to, isRungExactly: false, warmUntilMs }
        Object.assign(one, { fingerprint, isSeen: true, ...ring })
      }
      if (isDue) lookedAtMs = now
    },
  }
}

/** Prepares an account for a reading from a slot on: one that is new, that ends, or whose slots come again. */
function begin(one: Watched, from: number): void {
  const isPrimed = one.since === undefined && one.isSeen
  if (isPrimed) one.readTo = from - 1
  one.since ??= from
  if (one.isEnding) one.endedAt ??= from
  if (isPrimed) return
  if (one.readTo < from && one.since !== from) return
  // What comes again was not stored, or left the chain.
  Object.assign(one, { readTo: from - 1, rungAt: from, isRungExactly: false })
  Object.assign(one, { warmUntilMs: 0, newest: undefined })
}

function newlyWatched(account: string): Watched {
  return {
    account,
    since: undefined,
    readTo: -1,
    rungAt: undefined,
    isRungExactly: false,
    warmUntilMs: 0,
    fingerprint: undefined,
    newest: undefined,
    activeAt: -1,
    ...{ isSeen: false, isSeenAgain: false },
    isEnding: false,
    endedAt: undefined,
  }
}

/** Notes what was read of an account up to `to`. Its ring is answered by a signature, or by none for long enough. */
function settle(
  one: Watched,
  entries: readonly { signature: string; slot: number }[],
  to: number,
  nowMs: number,
): void {
  const rungAt = one.rungAt ?? 0
  one.activeAt = Math.max(one.activeAt, entries[0]?.slot ?? 0)
  const beyond = entries.find(({ slot }) => slot > to)?.slot
  const [newest] = entries.filter(({ slot }) => slot <= to)
  // Its balance is another one now: what it is has to be seen anew.
  if (newest) Object.assign(one, { newest: newest.signature, fingerprint: undefined })
  const isFound = newest !== undefined && (!one.isRungExactly || newest.slot >= rungAt)
  const isDone = rungAt <= to && (isFound || nowMs > one.warmUntilMs)
  // Others of the newest slot may still be on their way into the node's index.
  one.readTo = isDone ? to : Math.max(one.readTo, (newest?.slot ?? 0) - 1)
  if (isDone) one.rungAt = beyond
  else one.rungAt = Math.max(rungAt, beyond ?? 0)
}

async function deriveAccount(
  owner: string,
  mint: string,
  program: string | undefined,
): Promise<string> {
  if (program === undefined) throw new RpcError('lagging', 'the mints were not checked yet')
  const encoder = getAddressEncoder()
  const seeds = [owner, program, mint].map((key) => encoder.encode(key as Address))
  const [derived] = await getProgramDerivedAddress({
    programAddress: ASSOCIATED_PROGRAM as Address,
    seeds,
  })
  return derived
}
