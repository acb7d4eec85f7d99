import type { Mode } from '#shared/networks/registry.ts'
import { isTerminal, type PaymentStatus } from '#shared/payments/machine.ts'

/** A row of `payments`. Amounts in base units are bigint; times are Postgres's. */
export type PaymentRow = {
  paymentId: string
  storeId: string
  accountId: string
  mode: Mode
  network: string
  token: string
  deployment: string
  contract: string
  decimals: number
  address: string
  isExclusive: boolean
  clock: 'CHAIN' | 'OURS'
  confirmationsRequired: number
  amountCents: number
  priceBaseUnits: bigint
  amountBaseUnits: bigint
  status: PaymentStatus
  receivedBaseUnits: bigint
  txHash: string | null
  blockNumber: number | null
  positionBlock: number | null
  isSimulated: boolean
  priceId: string | null
  paymentLinkId: string | null
  sessionId: string | null
  subscriptionId: string | null
  referenceKey: string | null
  metadata: Record<string, string> | null
  originHost: string | null
  buyerEmail: string | null
  createdAt: Date
  expiresAt: Date
  detectedAt: Date | null
  settledAt: Date | null
}

/** Seller display data (spec section 2); `{}` when unset. */
export type Branding = { displayName?: string; logoUrl?: string; color?: string }

/** A payment with what is needed to show it: one query's answer. */
export type PaymentReading = PaymentRow & {
  branding: Branding
  /** The deployment's position; null when it never ran. */
  position: number | null
  /** Postgres's clock at the reading. */
  now: Date
}

/** A payment locked for update, with the store settings that decide about it. */
export type LockedPayment = PaymentRow & { topUpUntilExpiry: boolean; now: Date }

/**
 * `position − block + 1`; undefined until detected. A simulated payment has its full depth. Where heights are skipped and
 * the chain itself says what is final, that count runs ahead or behind: it stays short of the depth until the payment is
 * settled, and reaches it then.
 */
export function confirmationsOf(
  payment: Pick<PaymentRow, 'blockNumber' | 'isSimulated' | 'confirmationsRequired' | 'status'>,
  position: number | null,
): number | undefined {
  if (payment.blockNumber === null) return undefined
  if (payment.isSimulated) return payment.confirmationsRequired
  const { blockNumber, confirmationsRequired: required, status } = payment
  const counted = Math.max(1, (position ?? blockNumber) - blockNumber + 1)
  if (status === 'DETECTED') return Math.max(1, Math.min(counted, required - 1))
  return isTerminal(status) ? Math.max(counted, required) : counted
}
