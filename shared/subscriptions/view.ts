import { centsToDecimal } from '#shared/money.ts'
import type { SubscriptionRow } from '#shared/subscriptions/row.ts'

export type SubscriptionObject = ReturnType<typeof subscriptionView>

/** The wire form of a subscription: the fields of its events, and what a seller's list needs. Pure. */
export function subscriptionView(row: SubscriptionRow, renewUrl: string) {
  return {
    subscriptionId: row.subscriptionId,
    storeId: row.storeId,
    mode: row.mode,
    status: row.status,
    priceId: row.priceId,
    network: row.network,
    token: row.token,
    amount: centsToDecimal(row.amountCents),
    amountCents: row.amountCents,
    interval: row.interval,
    intervalCount: row.intervalCount,
    ...(row.buyerEmail === null ? {} : { buyerEmail: row.buyerEmail }),
    ...(row.metadata === null ? {} : { metadata: row.metadata }),
    ...(row.originHost === null ? {} : { originHost: row.originHost }),
    ...(row.nextDueAt === null ? {} : { nextDueAt: row.nextDueAt.toISOString() }),
    renewUrl,
    createdAt: row.createdAt.toISOString(),
    ...(row.endedAt === null ? {} : { endedAt: row.endedAt.toISOString() }),
  }
}
