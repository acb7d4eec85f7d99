import { formatUnits } from '#shared/money.ts'
import type { PaymentReading } from '#shared/payments/row.ts'
import { paymentView, type ViewContext } from '#shared/payments/view.ts'
import { whenSet } from '../fields.ts'
import { transferView } from '../transfer-object.ts'
import { csvLine } from './csv.ts'
import { explainMove, explainTransfer } from './explain.ts'
import type { TraceObject } from './model.ts'
import type { DeliveryRow, HeldSlot, MoveRow, TracedRow } from './queries.ts'

export type StorePayment = ReturnType<typeof storePaymentView>

/** The payment object with what its seller may know besides (contract section 2). Pure. */
export function storePaymentView(row: PaymentReading, context: ViewContext) {
  return {
    ...paymentView(row, context),
    storeId: row.storeId,
    expectedAmount: formatUnits(row.amountBaseUnits, row.decimals),
    receivedAmount: formatUnits(row.receivedBaseUnits, row.decimals),
    receivedAmountBaseUnits: row.receivedBaseUnits.toString(),
    ...whenSet('blockNumber', row.blockNumber),
    ...whenSet('metadata', row.metadata),
    ...whenSet('originHost', row.originHost),
    ...whenSet('priceId', row.priceId),
    ...whenSet('paymentLinkId', row.paymentLinkId),
    ...whenSet('sessionId', row.sessionId),
    ...whenSet('subscriptionId', row.subscriptionId),
    ...whenSet('detectedAt', row.detectedAt?.toISOString()),
    ...whenSet('settledAt', row.settledAt?.toISOString()),
  }
}

const CSV_COLUMNS = [
  ...['paymentId', 'status', 'mode', 'createdAt', 'detectedAt', 'settledAt', 'expiresAt'],
  ...['network', 'token', 'amount', 'amountBaseUnits', 'decimals', 'expectedAmount'],
  ...['receivedAmount', 'receivedAmountBaseUnits', 'payTo', 'contract', 'txHash', 'blockNumber'],
  ...['confirmations', 'confirmationsRequired', 'originHost', 'priceId', 'paymentLinkId'],
  ...['sessionId', 'subscriptionId', 'metadata'],
]

export const CSV_HEADER = csvLine(CSV_COLUMNS)

/** A payment as a line of the export; metadata as JSON. Pure. */
export function paymentCsvLine(payment: StorePayment): string {
  const cells: Record<string, unknown> = {
    ...payment,
    metadata: payment.metadata && JSON.stringify(payment.metadata),
  }
  return csvLine(CSV_COLUMNS.map((column) => cells[column] as string | number | null | undefined))
}

/** Why a payment is where it is. Pure. */
export function traceView(
  payment: PaymentReading,
  slot: HeldSlot | undefined,
  transfers: readonly TracedRow[],
  moves: readonly MoveRow[],
  deliveries: readonly DeliveryRow[],
): TraceObject {
  const { paymentId, mode, status } = payment
  return {
    ...{ paymentId, mode, status },
    slot: slotView(payment, slot),
    transfers: transfers.map((row) => tracedView(row, paymentId)),
    moves: moves.map(({ at, from, to, trigger }) => ({
      ...{ at: at.toISOString(), from, to, trigger },
      explanation: explainMove(trigger),
    })),
    deliveries: deliveries.map(deliveryView),
  }
}

function slotView(payment: PaymentReading, slot: HeldSlot | undefined): TraceObject['slot'] {
  return {
    network: payment.network,
    token: payment.token,
    address: payment.address,
    amount: formatUnits(payment.amountBaseUnits, payment.decimals),
    amountBaseUnits: payment.amountBaseUnits.toString(),
    decimals: payment.decimals,
    isExclusive: payment.isExclusive,
    isHeld: slot !== undefined,
    isReused: slot?.isReused ?? false,
    clock: payment.clock,
    ...whenSet('positionBlock', payment.positionBlock),
    claimedAt: payment.createdAt.toISOString(),
    expiresAt: payment.expiresAt.toISOString(),
    ...whenSet('endedAt', payment.settledAt?.toISOString()),
    ...whenSet('releaseAt', slot?.releaseAt?.toISOString()),
  }
}

function tracedView(row: TracedRow, paymentId: string): TraceObject['transfers'][number] {
  const { state, rule, isFinal, isHeld, reason, ...rest } = row
  const isThisPayments = row.paymentId === paymentId
  return {
    ...transferView({ ...rest, reason, state: state === 'RETRACTED' ? 'MATCHED' : state }),
    ...{ state, rule, isFinal, isHeld },
    explanation: explainTransfer({ state, rule, reason, isFinal, isHeld, isThisPayments }),
  }
}

function deliveryView(row: DeliveryRow): TraceObject['deliveries'][number] {
  return {
    deliveryId: row.deliveryId,
    eventId: row.eventId,
    eventType: row.eventType,
    url: row.url,
    status: row.status,
    attemptCount: row.attemptCount,
    ...whenSet('nextAttemptAt', row.nextAttemptAt?.toISOString()),
    createdAt: row.createdAt.toISOString(),
    ...whenSet('deliveredAt', row.deliveredAt?.toISOString()),
    ...whenSet('lastResponseStatus', row.lastResponseStatus),
    ...whenSet('lastError', row.lastError),
  }
}
