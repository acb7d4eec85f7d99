import { column } from '#shared/db/columns.ts'
import type { Tx } from '#shared/db.ts'
import { newOrderKey } from '#shared/ids.ts'
import { centsToDecimal, formatUnits } from '#shared/money.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { PAYMENT_EVENT_TYPES, type PaymentEventType } from '#shared/payments/machine.ts'
import type { PaymentRow } from '#shared/payments/row.ts'

/** The payload schema's version (spec section 9). Changes only on a breaking payload change. */
export const API_VERSION = '2026-07-02'

/** Spec section 6. */
export const SUBSCRIPTION_EVENT_TYPES = [
  'subscription.created',
  'subscription.activated',
  'subscription.reminder',
  'subscription.renewed',
  'subscription.past_due',
  'subscription.expired',
  'subscription.canceled',
] as const
export type SubscriptionEventType = (typeof SUBSCRIPTION_EVENT_TYPES)[number]

/** Everything a seller's endpoint can be sent. `webhook.test` is made on request only (contract section 2). */
export const EVENT_TYPES = [
  ...PAYMENT_EVENT_TYPES,
  ...SUBSCRIPTION_EVENT_TYPES,
  'webhook.test',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Wakes the relay: notify after commit, never within (each NOTIFY serialises commits). */
export const EVENTS_CHANNEL = 'events'
/** Wakes payment streams: the payload holds payment ids separated by commas, or nothing for "look at all". */
export const PAYMENTS_CHANNEL = 'payments'

/** An event before it is a row. `data` goes out as it is: what is absent is absent, not null. */
export type EventDraft = {
  eventId: string
  type: EventType
  storeId: string
  accountId: string
  mode: Mode
  paymentId?: string
  subscriptionId?: string
  createdAt: Date
  /** When the row is made, if that is another time than the event's: a test subscription has a clock of its own. */
  storedAt?: Date
  data: Record<string, unknown>
}

/**
 * Writes an event with the exact bytes of its body, once: an id that exists already keeps its first body.
 * Call it in the transaction of the change it tells.
 */
export async function insertEvent(tx: Tx, draft: EventDraft): Promise<void> {
  await insertEvents(tx, [draft])
}

/** {@link insertEvent} for many, in their order: a statement to await, or to put into another one. */
export function insertEvents(tx: Tx, drafts: readonly EventDraft[]) {
  const of = <T>(pick: (draft: EventDraft) => T) => drafts.map(pick)
  return tx`
    insert into events (event_id, order_key, store_id, account_id, mode, type, payment_id, subscription_id, body, created_at)
    select * from unnest(
      ${column(of(({ eventId }) => eventId))}::text[],
      ${column(of(() => newOrderKey()))}::text[],
      ${column(of(({ storeId }) => storeId))}::text[],
      ${column(of(({ accountId }) => accountId))}::text[],
      ${column(of(({ mode }) => mode))}::text[],
      ${column(of(({ type }) => type))}::text[],
      ${column(of(({ paymentId = null }) => paymentId))}::text[],
      ${column(of(({ subscriptionId = null }) => subscriptionId))}::text[],
      ${column(of(eventBody))}::text[],
      ${column(of(({ storedAt, createdAt }) => (storedAt ?? createdAt).toISOString()))}::timestamptz[]
    )
    on conflict (event_id) do nothing`
}

/** The envelope of spec section 2, as the text that is signed and sent. */
export function eventBody(draft: EventDraft): string {
  return JSON.stringify({
    id: draft.eventId,
    type: draft.type,
    createdAt: draft.createdAt.toISOString(),
    apiVersion: API_VERSION,
    data: draft.data,
  })
}

/** The event of a payment's move; `payment` is the row after it. Id: `<paymentId>:<type>`. */
export function paymentEvent(
  payment: PaymentRow,
  type: PaymentEventType,
  facts: { createdAt: Date; confirmations: number | undefined },
): EventDraft {
  return {
    eventId: `${payment.paymentId}:${type}`,
    type,
    storeId: payment.storeId,
    accountId: payment.accountId,
    mode: payment.mode,
    paymentId: payment.paymentId,
    ...(payment.subscriptionId === null ? {} : { subscriptionId: payment.subscriptionId }),
    createdAt: facts.createdAt,
    data: paymentEventData(payment, type, facts.confirmations),
  }
}

function paymentEventData(
  payment: PaymentRow,
  type: PaymentEventType,
  confirmations: number | undefined,
): Record<string, unknown> {
  const { decimals } = payment
  return {
    paymentId: payment.paymentId,
    accountId: payment.accountId,
    storeId: payment.storeId,
    mode: payment.mode,
    network: payment.network,
    token: payment.token,
    address: payment.address,
    amount: centsToDecimal(payment.amountCents),
    amountBaseUnits: payment.amountBaseUnits.toString(),
    decimals,
    status: payment.status,
    ...(payment.txHash === null ? {} : { txHash: payment.txHash }),
    ...(payment.blockNumber === null ? {} : { blockNumber: payment.blockNumber }),
    ...(confirmations === undefined ? {} : { confirmations }),
    ...(payment.originHost === null ? {} : { originHost: payment.originHost }),
    ...(payment.metadata === null ? {} : { metadata: payment.metadata }),
    ...(type === 'payment.underpaid' || type === 'payment.overpaid'
      ? {
          expectedAmount: formatUnits(payment.amountBaseUnits, decimals),
          receivedAmount: formatUnits(payment.receivedBaseUnits, decimals),
          receivedAmountBaseUnits: payment.receivedBaseUnits.toString(),
        }
      : {}),
  }
}
