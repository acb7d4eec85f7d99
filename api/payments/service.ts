import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { cancelPayment, type SimulatedOutcome, simulatePayment } from '#shared/payments/service.ts'
import { type PaymentObject, paymentView } from '#shared/payments/view.ts'
import { announce } from '../announce.ts'
import type { ApiDeps } from '../deps.ts'

/** A payment as its buyer may see it; asks for a fresh look at the chain. Error: payment_not_found. */
export async function showPayment(deps: ApiDeps, paymentId: string): Promise<PaymentObject> {
  checkId(paymentId)
  const reading = await deps.payments(paymentId)
  if (reading === undefined) fail('payment_not_found')
  deps.rechecks.ask(reading)
  return paymentView(reading, deps.view)
}

/** Cancels a pending payment; any other is answered as it is. Error: payment_not_found. */
export async function cancelAndShow(deps: ApiDeps, paymentId: string): Promise<PaymentObject> {
  checkId(paymentId)
  if (await cancelPayment(deps.db, paymentId, deps.door)) announce(deps, [paymentId])
  return showPayment(deps, paymentId)
}

/** Drives a test payment to an outcome. Errors: payment_not_found, not_test_mode, not_open. */
export async function simulateAndShow(
  deps: ApiDeps,
  paymentId: string,
  outcome: SimulatedOutcome,
): Promise<PaymentObject> {
  checkId(paymentId)
  await simulatePayment(deps.db, paymentId, outcome, deps.door)
  announce(deps, [paymentId])
  return showPayment(deps, paymentId)
}

function checkId(paymentId: string): void {
  if (!isId('pay', paymentId)) fail('payment_not_found')
}
