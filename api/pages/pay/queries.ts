import type { Db } from '#shared/db.ts'
import type { PaymentReading } from '#shared/payments/row.ts'
import type { Interval } from '#shared/subscriptions/events.ts'

/** A payment with what its page shows around it. */
export type PayPageRow = PaymentReading & {
  sellerName: string
  productName: string | null
  everyInterval: Interval | null
  everyCount: number | null
  /** Whether the link or session that it came from still takes another attempt. */
  isRepeatable: boolean
  successUrl: string | null
  cancelUrl: string | null
}

export async function readPayPage(db: Db, paymentId: string): Promise<PayPageRow | undefined> {
  const rows = await db<PayPageRow[]>`
    select p.*, s.branding, d.block_number as position, service_now() as now,
      coalesce(s.branding ->> 'displayName', a.seller_name, s.name) as seller_name,
      pr.name as product_name, r.interval as every_interval, r.interval_count as every_count,
      coalesce(l.active, c.status = 'OPEN' and c.expires_at > service_now(), false) as is_repeatable,
      c.success_url, c.cancel_url
    from payments p
    join stores s on s.store_id = p.store_id
    join accounts a on a.account_id = s.account_id
    left join deployments d on d.deployment = p.deployment
    left join prices r on r.price_id = p.price_id
    left join products pr on pr.product_id = r.product_id
    left join payment_links l on l.payment_link_id = p.payment_link_id
    left join checkout_sessions c on c.session_id = p.session_id
    where p.payment_id = ${paymentId}`
  return rows[0]
}
