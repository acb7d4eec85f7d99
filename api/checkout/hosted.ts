import { fail } from '#shared/errors.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { PaymentObject } from '#shared/payments/view.ts'
import type { ApiDeps } from '../deps.ts'
import type { PaidFor } from './queries.ts'
import { type BuyersWish, claimPayment } from './service.ts'

/** What a hosted page sells: its id is the capability. */
export type HostedReference = { paymentLinkId: string } | { sessionId: string }

/** A hosted page in the place of a publishable key: no key, and no foreign host to refuse. */
export function hostedPaidFor(reference: HostedReference): PaidFor {
  return {
    keyHash: null,
    originHosts: [],
    priceId: null,
    paymentLinkId: 'paymentLinkId' in reference ? reference.paymentLinkId : null,
    sessionId: 'sessionId' in reference ? reference.sessionId : null,
    amountCents: null,
  }
}

/**
 * Claims a slot as `POST /checkout` does, by the same rules and counted with the same calls, for a buyer on a page of
 * ours. No `originHost`: it was nobody's page but ours. Errors: as there, without those of keys and origins.
 */
export async function createHostedCheckout(
  deps: ApiDeps,
  { reference, mode }: { reference: HostedReference; mode: Mode },
  wish: Pick<BuyersWish, 'network' | 'token' | 'buyerEmail'>,
  caller: { clientIp: string; headers: Record<string, string> },
): Promise<PaymentObject> {
  const { buyerEmail } = wish
  if (buyerEmail !== undefined && parseMailAddress(buyerEmail) === undefined) {
    fail('invalid_request', { message: 'This should be one mail address.', param: 'buyerEmail' })
  }
  const order = { paidFor: hostedPaidFor(reference), mode, originHost: null }
  return claimPayment(deps, wish, order, caller)
}
