/** A transfer attributed to a payment, as far as settling is concerned. Amount in base units. */
export type Credit = {
  transferId: string
  txHash: string
  blockNumber: number
  logIndex: number
  amountBaseUnits: bigint
  /** A disagreement between two readings of its block: not counted until somebody decides. */
  isHeld: boolean
}

export type SettleTerms = {
  /** The price without the tail: on a tailed slot anything from here to the due is exact. */
  priceBaseUnits: bigint
  dueBaseUnits: bigint
  /** Depth at which a transfer counts: `position − block + 1`. */
  confirmationsRequired: number
  /** The newest block up to which everything is at depth and was read twice. */
  depthBlock: number
  /** Store setting: a short sum waits for more until the window closes. */
  topUpUntilExpiry: boolean
  /** Whether the chain's time at `depthBlock` is past `expiresAt`. */
  isWindowClosed: boolean
}

export type Settlement = {
  outcome: 'exactAtDepth' | 'moreAtDepth' | 'lessAtDepth' | undefined
  /** The transfers that are at depth; with an outcome, exactly those that decided it. */
  counted: Credit[]
  receivedBaseUnits: bigint
}

/** Under a tenth of the due nothing happens to a payment: dust cannot kill it. */
export const DUST_DIVISOR = 10n

/** Whether a sum is enough to be noticed: 10 % of the due. */
export function isNoticed(sumBaseUnits: bigint, dueBaseUnits: bigint): boolean {
  return sumBaseUnits * DUST_DIVISOR >= dueBaseUnits
}

/**
 * What the transfers at depth decide. Goes through the moments at which one after another reached depth, in the order
 * of the chain, and stops at the first that decides: so a follower at the tip and one that catches up after a day
 * come to the same outcome, and a later transfer is as late for both.
 */
export function settle(credits: readonly Credit[], terms: SettleTerms): Settlement {
  const usable = credits.filter((credit) => !credit.isHeld).sort(byChainOrder)
  const eligible = usable.filter((credit) => credit.blockNumber <= terms.depthBlock)
  const moments = [...new Set(eligible.map((credit) => credit.blockNumber))]
  const hasHeld = usable.length < credits.length
  for (const moment of moments) {
    const counted = eligible.filter((credit) => credit.blockNumber <= moment)
    const outcome = judge(counted, terms, {
      isAllAtDepth: !hasHeld && isAllSeenAtDepth(usable, moment, terms.confirmationsRequired),
      isWindowClosed: moment === moments.at(-1) && terms.isWindowClosed,
    })
    if (outcome) return { outcome, counted, receivedBaseUnits: sum(counted) }
  }
  return { outcome: undefined, counted: eligible, receivedBaseUnits: sum(eligible) }
}

function judge(
  counted: readonly Credit[],
  terms: SettleTerms,
  facts: { isAllAtDepth: boolean; isWindowClosed: boolean },
): Settlement['outcome'] {
  const received = sum(counted)
  if (received > terms.dueBaseUnits) return 'moreAtDepth'
  if (received >= terms.priceBaseUnits) return 'exactAtDepth'
  if (!facts.isAllAtDepth || !isNoticed(received, terms.dueBaseUnits)) return undefined
  return terms.topUpUntilExpiry && !facts.isWindowClosed ? undefined : 'lessAtDepth'
}

/** At the block in which transfers of `moment` reached depth, was anything else already on its way? */
function isAllSeenAtDepth(usable: readonly Credit[], moment: number, depth: number): boolean {
  const position = moment + depth - 1
  return usable.every((credit) => credit.blockNumber <= moment || credit.blockNumber > position)
}

function byChainOrder(a: Credit, b: Credit): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex
}

function sum(credits: readonly Credit[]): bigint {
  return credits.reduce((total, credit) => total + credit.amountBaseUnits, 0n)
}
