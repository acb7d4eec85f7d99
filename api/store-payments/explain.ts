import type { PaymentTrigger } from '#shared/payments/machine.ts'
import type { UnmatchedReason } from '../transfer-object.ts'

/** What the explanation of a transfer depends on. */
export type Considered = {
  state: 'MATCHED' | 'UNMATCHED' | 'RESOLVED' | 'RETRACTED'
  rule: string
  reason: UnmatchedReason | null
  isFinal: boolean
  isHeld: boolean
  /** It belongs to the payment whose trace this is. */
  isThisPayments: boolean
}

/** The rules that take a transfer (contract section 3), each as the reason it was taken. */
const TAKEN: Readonly<Record<string, string>> = {
  exclusive: 'Taken by rule 2: the address belongs to this payment alone.',
  reference: 'Taken by rule 2: the transaction carries this payment’s reference key.',
  exact: 'Taken by rule 3: it is exactly the amount this payment’s slot holds.',
  nearest:
    'Taken by rule 4: of all payments at the address this is the only one of whose due it is 10 to 200 %.',
  attached: 'Taken because the seller attached it.',
}

const REFUSED: Record<UnmatchedReason, string> = {
  LATE: 'Refused as LATE: the payment it was meant for had ended, or its window had closed by its block.',
  AMBIGUOUS: 'Refused as AMBIGUOUS: it may have been meant for more than one payment.',
  NO_SLOT: 'Refused as NO_SLOT: no payment that was open at its block waited for it.',
  DUST: 'Refused as DUST: it is under 10 % of what was due.',
  WRONG_NETWORK: 'Refused by rule 5 as WRONG_NETWORK: the amount was awaited on another network.',
  WRONG_TOKEN: 'Refused by rule 5 as WRONG_TOKEN: the amount was awaited in another token.',
}

/** NO_SLOT by a rule that had found a payment: why it was not that one's. */
const NOT_ITS: Readonly<Record<string, string>> = {
  exclusive: 'Refused as NO_SLOT: its block is older than the payment that has the address.',
  reference:
    'Refused as NO_SLOT: its block is older than the payment whose reference key it carries.',
  exact: 'Refused as NO_SLOT: its block is older than the payment that holds the amount.',
  nearest:
    'Refused as NO_SLOT: the amount is nobody’s, and the store does not guess (`guessOnSharedAddress`).',
}

const RELEASED: { [R in UnmatchedReason]?: string } = {
  LATE: 'Released as LATE: it was still on its way when what had arrived settled the payment.',
  DUST: 'Released as DUST: with under 10 % of the due received, the payment ended unpaid.',
}

/** Why a transfer was taken for a payment or refused, in a sentence or two. Pure. */
export function explainTransfer(transfer: Considered): string {
  const { state, rule, reason } = transfer
  if (state === 'RETRACTED') {
    return 'Taken back: the block it was in left the chain, or turned out not to hold it.'
  }
  if (state === 'MATCHED') {
    if (!transfer.isThisPayments) return 'Given to another payment by hand.'
    return `${TAKEN[rule] ?? 'Taken.'} ${depthOf(transfer)}`
  }
  const why = reason === null ? 'Refused.' : refusalOf(rule, reason)
  return state === 'RESOLVED' ? `${why} The seller has resolved it.` : why
}

function refusalOf(rule: string, reason: UnmatchedReason): string {
  const special = rule === 'released' ? RELEASED[reason] : reason === 'NO_SLOT' && NOT_ITS[rule]
  return special || REFUSED[reason]
}

function depthOf({ isFinal, isHeld }: Considered): string {
  if (isHeld) {
    return (
      'It does not count yet: two readings of its block differ. The block is read again every 15 seconds; ' +
      'where that decides nothing, the operator does, with `ops transfer held`.'
    )
  }
  return isFinal ? 'It is at depth and was counted.' : 'It is not at depth yet.'
}

const MOVED: Record<PaymentTrigger, string> = {
  transferSeen: 'Transfers that add up to 10 % of the due or more were seen on the chain.',
  exactAtDepth: 'What is at depth is exactly what was due.',
  moreAtDepth: 'What is at depth is more than what was due.',
  lessAtDepth: 'All that was seen is at depth, and it is less than what was due.',
  retracted: 'A reorganisation of the chain took back what was seen.',
  windowClosed:
    'The window closed, by the clock the payment goes by, and under 10 % of the due had been seen.',
  canceled: 'It was canceled while under 10 % of the due had been seen.',
  simulatedConfirmed: 'It was simulated as paid.',
  simulatedUnderpaid: 'It was simulated as underpaid.',
  simulatedOverpaid: 'It was simulated as overpaid.',
  simulatedExpired: 'It was simulated as expired.',
}

/** Why a payment's status changed, in a sentence. Pure. */
export function explainMove(trigger: PaymentTrigger): string {
  return MOVED[trigger]
}
