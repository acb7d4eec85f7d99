import { type Address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { type ReadOptions } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { Observation } from './driver.ts'
import { type Commitment, type Reader, retrying } from './solana-read.ts'
import { readFingerprints, readHistory, readMentioned } from './solana-signatures.ts'

/** A token account that may be paid, and how far it was read. Slots. */
type Watched = {
  account: string
  /** The first slot from which this process answers for it. */
  since: number
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
  /** Nobody waits for it any more from this slot on. */
  endedAt: number | undefined
}

export type Accounts = {
  /** The token accounts of all recipients from slot `from` on. */
  expect(recipients: readonly string[], from: number): Promise<void>
  /** Accounts that ring. */
  list(): Iterable<string>
  ring(account: string, slot: number): void
  /** Everything has to be asked about at the next reading: notifications may have been lost. */
  distrust(): void
  /** Whether a ring is still unanswered. */
  isWaiting(): boolean
  /** Transfers of at most `to`, of all that was not read yet. */
  read(from: number, to: number): Promise<Observation[]>
  /** All transfers of an inclusive range once more, at `finalized` and without trusting any notification. */
  readAgain(from: number, to: number, options?: ReadOptions): Promise<Observation[]>
  /** Accounts that ended before this slot need not be known any more. */
  forget(auditedTo: number): void
}

export type AccountsDeps = {
  reader: Reader
  nowMs(): number
  /** Which token program keeps each mint. */
  programOf(mint: string): string | undefined
  /** Whether changes of this account are told of right now. */
  isListening(account: string): boolean
}

/** How the account at which an owner is paid is found (spl.solana.com/associated-token-account). */
const ASSOCIATED_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'
/** Milliseconds between looks at the balances of accounts that ring by themselves. */
const COLD_EVERY_MS = 5_000
const WARM_MS = 15_000

/** Reads by recipient: few calls while few sellers wait, whatever else the chain does. */
export function createAccounts(deps: AccountsDeps): Accounts {
  const { reader, nowMs } = deps
  const watched = new Map<string, Watched>()
  const byRecipient = new Map<string, string[]>()
  let lookedAtMs = Number.NEGATIVE_INFINITY

  const accountsOf = async (recipient: string) => {
    const known = byRecipient.get(recipient)
    if (known) return known
    const mints = [...reader.mints]
    const derived = await Promise.all(
      mints.map((mint) => deriveAccount(recipient, mint, deps.programOf(mint))),
    )
    byRecipient.set(recipient, derived)
    return derived
  }
  /** Rings what changed since it was last seen, and what is not listened to. */
  const lookAtBalances = async (to: number) => {
    const isDue = nowMs() - lookedAtMs >= COLD_EVERY_MS
    const cold = [...watched.values()].filter(
      (one) => one.rungAt === undefined && (isDue || !deps.isListening(one.account)),
    )
    if (cold.length === 0) return
    const fingerprints = await readFingerprints(
      reader,
      cold.map(({ account }) => account),
      to,
    )
    for (const [index, one] of cold.entries()) {
      const fingerprint = fingerprints[index]
      if (one.fingerprint !== fingerprint) {
        one.fingerprint = fingerprint
        one.rungAt = to
        one.warmUntilMs = nowMs() + WARM_MS
      }
    }
    if (isDue) lookedAtMs = nowMs()
  }
  return {
    list: () => [...watched.values()].flatMap((one) => (one.endedAt ? [] : [one.account])),
    async expect(recipients, from) {
      const lists = await Promise.all(recipients.map(accountsOf))
      const wanted = new Set(lists.flat())
      for (const account of wanted) {
        const known = watched.get(account)
        if (known) known.endedAt = undefined
        else watched.set(account, newlyWatched(account, from))
      }
      for (const one of watched.values()) if (!wanted.has(one.account)) one.endedAt ??= from
    },
    ring(account, slot) {
      const one = watched.get(account)
      if (!one || slot <= one.readTo) return
      one.rungAt = Math.max(slot, one.rungAt ?? 0)
      one.isRungExactly = true
      one.warmUntilMs = nowMs() + WARM_MS
    },
    distrust() {
      lookedAtMs = Number.NEGATIVE_INFINITY
    },
    isWaiting: () => [...watched.values()].some(({ rungAt }) => rungAt !== undefined),
    async read(from, to) {
      for (const one of watched.values()) {
        // What comes again was not stored, or left the chain.
        if (one.readTo < from) continue
        Object.assign(one, { readTo: from - 1, rungAt: from, isRungExactly: false })
        Object.assign(one, { warmUntilMs: 0, newest: undefined })
      }
      await lookAtBalances(to)
      const rung = [...watched.values()].filter(({ rungAt }) => rungAt !== undefined)
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
    async readAgain(from, to, options) {
      const all = [...watched.values()].filter(({ since }) => since <= to)
      const commitment: Commitment = 'finalized'
      return retrying(async () => {
        const wanted = all.map((one) => {
          return { account: one.account, above: Math.max(from, one.since) - 1, until: undefined }
        })
        const readings = await readHistory(reader, wanted, { to, commitment }, options)
        const mentioned = readings.flat().filter(({ slot }) => slot <= to)
        return readMentioned(reader, mentioned, commitment, options)
      })
    },
    forget(auditedTo) {
      for (const one of watched.values()) {
        if (one.endedAt !== undefined && one.endedAt <= auditedTo) watched.delete(one.account)
      }
      if (byRecipient.size > 4 * (watched.size + 1)) byRecipient.clear()
    },
  }
}

function newlyWatched(account: string, from: number): Watched {
  return {
    account,
    since: from,
    readTo: from - 1,
    rungAt: from,
    isRungExactly: false,
    warmUntilMs: 0,
    fingerprint: undefined,
    newest: undefined,
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
  const beyond = entries.find(({ slot }) => slot > to)?.slot
  const [newest] = entries.filter(({ slot }) => slot <= to)
  if (newest) one.newest = newest.signature
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
