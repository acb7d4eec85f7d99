import { centsToDecimal } from '#shared/money.ts'
import { paymentUri } from '#shared/networks/payment-uri.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { confirmationsOf, type PaymentReading } from '#shared/payments/row.ts'

/** What the wire form of a payment is made with. */
export type ViewContext = {
  /** Without a trailing slash. */
  publicUrl: string
  deployments: ReadonlyMap<string, Deployment>
}

/** What of a payment is shown; a reading has it, and so does a claim that was just made. */
export type ShownPayment = Pick<
  PaymentReading,
  | 'paymentId'
  | 'status'
  | 'mode'
  | 'network'
  | 'token'
  | 'deployment'
  | 'address'
  | 'contract'
  | 'decimals'
  | 'amountCents'
  | 'amountBaseUnits'
  | 'txHash'
  | 'blockNumber'
  | 'isSimulated'
  | 'confirmationsRequired'
  | 'referenceKey'
  | 'createdAt'
  | 'expiresAt'
  | 'branding'
  | 'position'
  | 'now'
>

export type PaymentObject = ReturnType<typeof paymentView>

/** The payment object of spec section 2 with the additions of contract section 1. Pure. */
export function paymentView(reading: ShownPayment, context: ViewContext) {
  return {
    paymentId: reading.paymentId,
    status: reading.status,
    mode: reading.mode,
    network: reading.network,
    token: reading.token,
    payTo: reading.address,
    contract: reading.contract,
    amount: centsToDecimal(reading.amountCents),
    amountBaseUnits: reading.amountBaseUnits.toString(),
    decimals: reading.decimals,
    txHash: reading.txHash,
    expiresAt: reading.expiresAt.toISOString(),
    branding: reading.branding,
    confirmations: confirmationsOf(reading, reading.position) ?? 0,
    confirmationsRequired: reading.confirmationsRequired,
    paymentUri: uriOf(reading, context.deployments.get(reading.deployment)),
    checkoutUrl: `${context.publicUrl}/pay/${reading.paymentId}`,
    createdAt: reading.createdAt.toISOString(),
    serverTime: reading.now.toISOString(),
  }
}

/** The plain address when this process does not know the network any more. */
function uriOf(reading: ShownPayment, deployment: Deployment | undefined): string {
  if (!deployment) return reading.address
  return paymentUri({
    deployment,
    token: { contract: reading.contract, decimals: reading.decimals },
    payTo: reading.address,
    amountBaseUnits: reading.amountBaseUnits,
    ...(reading.referenceKey === null ? {} : { reference: reading.referenceKey }),
  })
}
