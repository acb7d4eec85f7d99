/** Spec section 3. */
export const PAYMENT_STATUSES = [
  'PENDING',
  'DETECTED',
  'CONFIRMED',
  'UNDERPAID',
  'OVERPAID',
  'EXPIRED',
  'CANCELED',
] as const
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number]

/** Spec section 6: what a seller is told of a payment. */
export const PAYMENT_EVENT_TYPES = [
  'payment.detected',
  'payment.confirmed',
  'payment.underpaid',
  'payment.overpaid',
  'payment.expired',
  'payment.canceled',
] as const
export type PaymentEventType = (typeof PAYMENT_EVENT_TYPES)[number]

/** Why a status might change. */
export const PAYMENT_TRIGGERS = [
  /** What was seen, at depth or not, reaches 10 % of the due. */
  'transferSeen',
  /** What is at depth sums to the due (on a tailed slot: from the price to the due). */
  'exactAtDepth',
  'moreAtDepth',
  /** All that was seen is at depth, and it is short. */
  'lessAtDepth',
  /** A reorganisation left less than 10 % of the due. */
  'retracted',
  /** The window's clock is past `expiresAt`. */
  'windowClosed',
  /** The buyer canceled. */
  'canceled',
  /** `POST /test/payments/{id}/simulate`, one per outcome. */
  'simulatedConfirmed',
  'simulatedUnderpaid',
  'simulatedOverpaid',
  'simulatedExpired',
] as const
export type PaymentTrigger = (typeof PAYMENT_TRIGGERS)[number]

/** A decided change: the next status and the event that tells it, if the seller is told. */
export type PaymentMove = { to: PaymentStatus; event?: PaymentEventType }

const CONFIRM: PaymentMove = { to: 'CONFIRMED', event: 'payment.confirmed' }
const UNDERPAY: PaymentMove = { to: 'UNDERPAID', event: 'payment.underpaid' }
const OVERPAY: PaymentMove = { to: 'OVERPAID', event: 'payment.overpaid' }
const EXPIRE: PaymentMove = { to: 'EXPIRED', event: 'payment.expired' }

/** Spec section 3 with contract section 3, cell by cell. A missing cell means: ignored. */
const MACHINE: Record<PaymentStatus, { [trigger in PaymentTrigger]?: PaymentMove }> = {
  PENDING: {
    transferSeen: { to: 'DETECTED', event: 'payment.detected' },
    windowClosed: EXPIRE,
    canceled: { to: 'CANCELED', event: 'payment.canceled' },
    simulatedConfirmed: CONFIRM,
    simulatedUnderpaid: UNDERPAY,
    simulatedOverpaid: OVERPAY,
    simulatedExpired: EXPIRE,
  },
  DETECTED: {
    exactAtDepth: CONFIRM,
    moreAtDepth: OVERPAY,
    lessAtDepth: UNDERPAY,
    // Quietly: the seller was told "seen", and is told nothing more until there is something to tell.
    retracted: { to: 'PENDING' },
    // windowClosed is ignored: what was mined in time is waited for, whatever the clock says.
    simulatedConfirmed: CONFIRM,
    simulatedUnderpaid: UNDERPAY,
    simulatedOverpaid: OVERPAY,
    // simulatedExpired is ignored: something was received.
  },
  // Terminal outcomes are entered on transfers at depth alone, so nothing takes them back.
  CONFIRMED: {},
  UNDERPAID: {},
  OVERPAID: {},
  EXPIRED: {},
  CANCELED: {},
}

/** What a trigger does to a payment of this status; undefined when it is ignored. */
export function nextPaymentMove(
  status: PaymentStatus,
  trigger: PaymentTrigger,
): PaymentMove | undefined {
  return MACHINE[status][trigger]
}

/** Whether no transfer, clock or buyer can change the status any more. */
export function isTerminal(status: PaymentStatus): boolean {
  return status !== 'PENDING' && status !== 'DETECTED'
}

/** Whether money was received for the seller: what counts into volume. */
export function isCredited(status: PaymentStatus): boolean {
  return status === 'CONFIRMED' || status === 'OVERPAID' || status === 'UNDERPAID'
}

/** Whether the payment is paid in full: what completes a session, pays a subscription and flags an origin. */
export function isPaid(status: PaymentStatus): boolean {
  return status === 'CONFIRMED' || status === 'OVERPAID'
}
