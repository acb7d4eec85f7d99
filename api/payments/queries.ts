import type { SqlLike } from '#shared/db.ts'
import type { PaymentReading } from '#shared/payments/row.ts'
import type { ShownPayment } from '#shared/payments/view.ts'

/** What of a payment its buyer is shown, and what decides whether a fresh check is asked for. */
export type ShownReading = ShownPayment & Pick<PaymentReading, 'clock'>

/**
 * The payments as they are shown, by their ids; without those that are not there. Buyers' pages ask this again and
 * again, so it names the columns it needs (parsing all of a row costs as much as finding it) and looks up the other two
 * tables by key.
 */
export async function readShownPayments(
  sql: SqlLike,
  paymentIds: readonly string[],
): Promise<Map<string, ShownReading>> {
  const rows = await sql<ShownReading[]>`
    select p.payment_id, p.status, p.mode, p.network, p.token, p.deployment, p.address, p.contract, p.decimals,
      p.amount_cents, p.amount_base_units, p.tx_hash, p.block_number, p.is_simulated, p.confirmations_required,
      p.reference_key, p.created_at, p.expires_at, p.clock,
      (select s.branding from stores s where s.store_id = p.store_id) as branding,
      (select d.block_number from deployments d where d.deployment = p.deployment) as position,
      service_now() as now
    from payments p
    where p.payment_id = any (${paymentIds as string[]})`
  return new Map(rows.map((row) => [row.paymentId, row]))
}
