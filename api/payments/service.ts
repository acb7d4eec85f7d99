import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { readPayment } from '#shared/payments/queries.ts'
import { type PaymentObject, paymentView } from '#shared/payments/view.ts'
import type { ApiDeps } from '../deps.ts'

/** A payment as its buyer may see it. Error: payment_not_found. */
export async function showPayment(deps: ApiDeps, paymentId: string): Promise<PaymentObject> {
  const reading = isId('pay', paymentId) ? await readPayment(deps.db, paymentId) : undefined
  if (reading === undefined) fail('payment_not_found')
  return paymentView(reading, deps.view)
}
