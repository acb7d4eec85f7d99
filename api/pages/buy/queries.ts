import type { Db } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { PaymentStatus } from '#shared/payments/machine.ts'
import type { Branding } from '#shared/payments/row.ts'
import type { HostedReference } from '../../checkout/hosted.ts'

/** What a link or session sells, for the eye: whether it is sold, and for how much, the checkout's own terms say. */
export type OfferRow = {
  mode: Mode
  sellerName: string
  branding: Branding
  productName: string | null
  description: string | null
  /** The newest attempt to pay a session, where there was one. */
  payment: { paymentId: string; status: PaymentStatus; isWindowOpen: boolean } | null
  cancelUrl: string | null
}

export async function readOffer(db: Db, reference: HostedReference): Promise<OfferRow | undefined> {
  const rows = await ('sessionId' in reference
    ? readSessionOffer(db, reference.sessionId)
    : readLinkOffer(db, reference.paymentLinkId))
  return rows[0]
}

function readLinkOffer(db: Db, paymentLinkId: string): Promise<OfferRow[]> {
  return db<OfferRow[]>`
    select l.mode, coalesce(s.branding ->> 'displayName', a.seller_name, s.name) as seller_name, s.branding,
      p.name as product_name, p.description, null as payment, null as cancel_url
    from payment_links l
    join stores s on s.store_id = l.store_id
    join accounts a on a.account_id = s.account_id
    join prices r on r.price_id = l.price_id
    join products p on p.product_id = r.product_id
    where l.payment_link_id = ${paymentLinkId}`
}

function readSessionOffer(db: Db, sessionId: string): Promise<OfferRow[]> {
  return db<OfferRow[]>`
    select c.mode, coalesce(s.branding ->> 'displayName', a.seller_name, s.name) as seller_name, s.branding,
      p.name as product_name, p.description, c.cancel_url,
      case when y.payment_id is not null then jsonb_build_object('paymentId', y.payment_id, 'status', y.status,
        'isWindowOpen', y.expires_at > service_now()) end as payment
    from checkout_sessions c
    join stores s on s.store_id = c.store_id
    join accounts a on a.account_id = s.account_id
    left join prices r on r.price_id = c.price_id
    left join products p on p.product_id = r.product_id
    left join payments y on y.payment_id = c.payment_id
    where c.session_id = ${sessionId}`
}
