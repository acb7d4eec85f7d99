import { isTerminal, type PaymentStatus } from '#shared/payments/machine.ts'
import { type Credit, isNoticed, settle } from '#shared/payments/settle.ts'

/** A transfer to a seller's address, as the decision needs it. Base units of `token` on `deployment`. */
export type Arrival = {
  deployment: string
  token: string
  contract: string
  blockNumber: number
  blockTimeMs: number
  amountBaseUnits: bigint
}

/** How the database came to name a payment for a transfer; several kinds may name the same one. */
export type CandidateKind =
  /** The payment that holds, or held last, an exclusive address. */
  | 'exclusive'
  /** The payment whose reference key the transaction carries. */
  | 'reference'
  /** Holds exactly this amount at this address. */
  | 'exact'
  /** Holds another amount there, of which this is 10–200 %. */
  | 'near'
  /** Holds the lowest amount there. */
  | 'lowest'
  /** Holds this amount at this address, but on another network or in another token. */
  | 'elsewhere'

export type Candidate = {
  kind: CandidateKind
  paymentId: string
  deployment: string
  token: string
  /** The contract that the payment names: nothing else pays it, whatever the token is called. */
  contract: string
  status: PaymentStatus
  dueBaseUnits: bigint
  createdAt: Date
  expiresAt: Date
  settledAt: Date | null
  /** The deployment's position when the slot was claimed: blocks up to there are older than the payment. */
  positionBlock: number | null
  guessOnSharedAddress: boolean
  topUpUntilExpiry: boolean
  priceBaseUnits: bigint
  confirmationsRequired: number
  /** What is stored as its own already; read where several payments compete for a transfer. */
  credits: readonly Credit[]
  /** Set when the slot was reused within its last holder's quarantine. */
  previousPaymentId: string | null
}

/** `attached` is the seller's, not a rule of the matcher. */
export type MatchRule =
  | 'exclusive'
  | 'reference'
  | 'exact'
  | 'nearest'
  | 'elsewhere'
  | 'none'
  | 'attached'
export type UnmatchedReason =
  | 'LATE'
  | 'AMBIGUOUS'
  | 'NO_SLOT'
  | 'DUST'
  | 'WRONG_NETWORK'
  | 'WRONG_TOKEN'
export type Decision =
  | { state: 'MATCHED'; rule: MatchRule; paymentId: string }
  | {
      state: 'UNMATCHED'
      rule: MatchRule
      reason: UnmatchedReason
      /** Payments it may have been meant for, best first. */
      candidates: string[]
    }

export type MatchTerms = {
  /** How far a block's time may lie before a payment's creation and still pay it, in milliseconds. */
  clockToleranceMs: number
  /** How long before the block an end is recent, in milliseconds: the quarantine. */
  quarantineMs: number
}

/** A transfer of more than twice a due is not taken for that payment's. */
const NEAR_FACTOR_MAX = 2n

/**
 * Which payment a transfer belongs to: the five rules of contract section 3, in order, decided as of the transfer's
 * block. Pure; the database has already found everybody who might be meant.
 */
export function matchTransfer(
  arrival: Arrival,
  candidates: readonly Candidate[],
  terms: MatchTerms,
): Decision {
  const of = (kind: CandidateKind) => candidates.filter((candidate) => candidate.kind === kind)
  const [reference, ...others] = of('reference')
  if (reference && others.length > 0) {
    // Balances tell only what all of them were paid together.
    const ids = [reference, ...others].map((candidate) => candidate.paymentId)
    return unmatched('reference', 'AMBIGUOUS', ids)
  }
  if (reference) return matchHolder(arrival, reference, 'reference', terms)
  const [exclusive] = of('exclusive')
  if (exclusive) return matchExclusive(arrival, exclusive, terms)
  const [exact] = of('exact')
  if (exact && isSameSlotKind(arrival, exact)) return matchExact(arrival, exact, terms)
  const near = of('near').flatMap((candidate) => asOfBlock(arrival, candidate) ?? [])
  return (
    matchNear(arrival, near, terms) ??
    matchElsewhere(arrival, [...of('exact'), ...of('elsewhere')], terms) ??
    nobody(arrival, of('lowest'))
  )
}

/**
 * {@link matchTransfer} for transfers in the order of the chain, each with its candidates as they were before all of them: what
 * one gives to a payment counts for those behind it.
 */
export function matchInOrder(
  arrivals: readonly (Arrival & { credit: Credit; candidates: readonly Candidate[] })[],
  terms: MatchTerms,
): Decision[] {
  const given = new Map<string, Credit[]>()
  return arrivals.map((arrival) => {
    const candidates = arrival.candidates.map((candidate) => {
      const more = candidate.kind === 'near' ? given.get(candidate.paymentId) : undefined
      return more ? { ...candidate, credits: [...candidate.credits, ...more] } : candidate
    })
    const decision = matchTransfer(arrival, candidates, terms)
    if (decision.state === 'MATCHED') {
      const known = given.get(decision.paymentId)
      if (known) known.push(arrival.credit)
      else given.set(decision.paymentId, [arrival.credit])
    }
    return decision
  })
}

/**
 * An open payment as it was at the block: undefined when what it had received by then was deep enough to end it. How soon
 * blocks are read must not matter, and a follower that catches up settles later than one at the tip.
 */
function asOfBlock(arrival: Arrival, candidate: Candidate): Candidate | undefined {
  if (isTerminal(candidate.status)) return candidate
  const seen = candidate.credits.filter(({ blockNumber }) => blockNumber <= arrival.blockNumber)
  const { confirmationsRequired } = candidate
  const { outcome } = settle(seen, {
    ...candidate,
    depthBlock: arrival.blockNumber - confirmationsRequired,
    isWindowClosed: arrival.blockTimeMs > candidate.expiresAt.getTime(),
  })
  if (outcome) return undefined
  const received = seen.reduce((sum, { amountBaseUnits }) => sum + amountBaseUnits, 0n)
  return isNoticed(received, candidate.dueBaseUnits)
    ? { ...candidate, status: 'DETECTED' }
    : { ...candidate, status: 'PENDING' }
}

function matchHolder(
  arrival: Arrival,
  holder: Candidate,
  rule: MatchRule,
  terms: MatchTerms,
): Decision {
  if (isOpenAtBlock(arrival, holder, terms)) {
    return { state: 'MATCHED', rule, paymentId: holder.paymentId }
  }
  const reason = isBefore(arrival, holder, terms) ? 'NO_SLOT' : 'LATE'
  return unmatched(rule, reason, [holder.paymentId])
}

function matchExclusive(arrival: Arrival, holder: Candidate, terms: MatchTerms): Decision {
  if (isSameSlotKind(arrival, holder)) return matchHolder(arrival, holder, 'exclusive', terms)
  return (
    matchElsewhere(arrival, [holder], terms) ??
    unmatched('elsewhere', 'NO_SLOT', [holder.paymentId])
  )
}

function matchExact(arrival: Arrival, holder: Candidate, terms: MatchTerms): Decision {
  const previous = holder.previousPaymentId
  if (previous === null) return matchHolder(arrival, holder, 'exact', terms)
  // The slot was reused while its last holder could still be paid late: nobody can tell the two apart.
  return isBefore(arrival, holder, terms)
    ? unmatched('exact', 'LATE', [previous])
    : unmatched('exact', 'AMBIGUOUS', [holder.paymentId, previous])
}

function matchNear(
  arrival: Arrival,
  near: readonly Candidate[],
  terms: MatchTerms,
): Decision | undefined {
  const meant = near
    .filter((candidate) => isNear(arrival.amountBaseUnits, candidate.dueBaseUnits))
    .filter(
      (candidate) =>
        isOpenAtBlock(arrival, candidate, terms) || isRecentlyUnpaid(arrival, candidate, terms),
    )
    .sort((a, b) => compare(distance(arrival, a), distance(arrival, b)))
  const ids = meant.map((candidate) => candidate.paymentId)
  const [only] = meant
  if (!only) return undefined
  if (meant.length > 1) return unmatched('nearest', 'AMBIGUOUS', ids)
  if (!isOpenAtBlock(arrival, only, terms)) return unmatched('nearest', 'LATE', ids)
  if (!only.guessOnSharedAddress) return unmatched('nearest', 'NO_SLOT', ids)
  return { state: 'MATCHED', rule: 'nearest', paymentId: only.paymentId }
}

function matchElsewhere(
  arrival: Arrival,
  elsewhere: readonly Candidate[],
  terms: MatchTerms,
): Decision | undefined {
  const waiting = elsewhere.filter(
    (candidate) => !isTerminal(candidate.status) && isWithinWindow(arrival, candidate, terms),
  )
  const [first] = waiting
  if (!first) return undefined
  const reason = first.deployment === arrival.deployment ? 'WRONG_TOKEN' : 'WRONG_NETWORK'
  return unmatched(
    'elsewhere',
    reason,
    waiting.map((candidate) => candidate.paymentId),
  )
}

function nobody(arrival: Arrival, lowest: readonly Candidate[]): Decision {
  const [smallest] = lowest
  const isDust = smallest && !isNoticed(arrival.amountBaseUnits, smallest.dueBaseUnits)
  return unmatched('none', isDust ? 'DUST' : 'NO_SLOT', [])
}

function unmatched(rule: MatchRule, reason: UnmatchedReason, candidates: string[]): Decision {
  return { state: 'UNMATCHED', rule, reason, candidates }
}

/** Contract section 3, *open at the block*. */
function isOpenAtBlock(arrival: Arrival, candidate: Candidate, terms: MatchTerms): boolean {
  return (
    !isTerminal(candidate.status) &&
    !isBefore(arrival, candidate, terms) &&
    arrival.blockTimeMs <= candidate.expiresAt.getTime()
  )
}

/** Whether the block is older than the payment, so that its transfers cannot be the buyer's. */
function isBefore(arrival: Arrival, candidate: Candidate, terms: MatchTerms): boolean {
  if (candidate.positionBlock !== null && arrival.blockNumber <= candidate.positionBlock) {
    return true
  }
  return arrival.blockTimeMs < candidate.createdAt.getTime() - terms.clockToleranceMs
}

function isWithinWindow(arrival: Arrival, candidate: Candidate, terms: MatchTerms): boolean {
  // Positions of two chains cannot be compared; their times can.
  return (
    arrival.blockTimeMs >= candidate.createdAt.getTime() - terms.clockToleranceMs &&
    arrival.blockTimeMs <= candidate.expiresAt.getTime()
  )
}

/** Ended without being paid, within the quarantine before the block; a window the block is past counts as ended. */
function isRecentlyUnpaid(arrival: Arrival, candidate: Candidate, terms: MatchTerms): boolean {
  if (isBefore(arrival, candidate, terms)) return false
  const endedAt = candidate.settledAt ?? candidate.expiresAt
  const isUnpaid =
    candidate.status === 'EXPIRED' ||
    candidate.status === 'CANCELED' ||
    candidate.status === 'PENDING'
  return isUnpaid && arrival.blockTimeMs - endedAt.getTime() <= terms.quarantineMs
}

function isNear(amount: bigint, due: bigint): boolean {
  return isNoticed(amount, due) && amount <= due * NEAR_FACTOR_MAX
}

function isSameSlotKind(arrival: Arrival, candidate: Candidate): boolean {
  return (
    candidate.deployment === arrival.deployment &&
    candidate.token === arrival.token &&
    candidate.contract === arrival.contract
  )
}

function distance(arrival: Arrival, candidate: Candidate): bigint {
  const difference = arrival.amountBaseUnits - candidate.dueBaseUnits
  return difference < 0n ? -difference : difference
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
