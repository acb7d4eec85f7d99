import { ERRORS, type ErrorCode, fail, ServiceError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import { isPaid } from '#shared/payments/machine.ts'
import { settleError } from '../../answer.ts'
import { createHostedCheckout, type HostedReference, hostedPaidFor } from '../../checkout/hosted.ts'
import { listOptions } from '../../checkout/network.ts'
import { readTerms, type Terms } from '../../checkout/queries.ts'
import type { ApiDeps } from '../../deps.ts'
import { readForm } from '../form.ts'
import type { PageView } from '../layout/document.ts'
import { type PageCall, page, problemPage, seeOther } from '../page.ts'
import { type OfferRow, readOffer } from './queries.ts'
import { type BuyMistake, type BuyOption, buyView, isEmailWanted, sellerOf } from './view.ts'

export const linkPage = page({
  method: 'GET',
  path: '/l/:paymentLinkId',
  summary: 'The hosted page of a payment link: choose network and token',
  handle: (deps, call) => showOffer(deps, call, linkOf(call.params.paymentLinkId)),
})

export const buyFromLink = page({
  method: 'POST',
  path: '/l/:paymentLinkId',
  summary: 'The button of a payment link’s page',
  handle: (deps, call) => buy(deps, call, linkOf(call.params.paymentLinkId)),
})

export const sessionPage = page({
  method: 'GET',
  path: '/c/:sessionId',
  summary: 'The hosted page of a checkout session: choose network and token',
  handle: (deps, call) => showOffer(deps, call, sessionOf(call.params.sessionId)),
})

export const buyFromSession = page({
  method: 'POST',
  path: '/c/:sessionId',
  summary: 'The button of a checkout session’s page',
  handle: (deps, call) => buy(deps, call, sessionOf(call.params.sessionId)),
})

/** What is sold and what with, or the page that says why it is not. */
type Offer = { row: OfferRow; terms: Terms; options: BuyOption[] }
type Caller = PageCall<string>

async function showOffer(
  deps: ApiDeps,
  call: Caller,
  reference: HostedReference,
): Promise<PageView | Response> {
  const offer = await findOffer(deps, call, reference)
  return 'row' in offer ? buyView(offer, call) : offer.instead
}

async function buy(
  deps: ApiDeps,
  call: Caller,
  reference: HostedReference,
): Promise<PageView | Response> {
  const form = await readForm(call.request)
  const offer = await findOffer(deps, call, reference)
  if (!('row' in offer)) return offer.instead
  const { row, terms, options } = offer
  const email = form.text('email').trim()
  const option = options.find(({ value }) => value === form.text('option'))
  const refuse = (mistake: BuyMistake) =>
    buyView(offer, { ...call, mistake, email, chosen: option?.value })
  if (option === undefined) return refuse('option')
  const asksEmail = isEmailWanted(terms)
  if (asksEmail && parseMailAddress(email) === undefined) return refuse('email')
  const { network, token } = option
  const wish = { network, token, ...(asksEmail ? { buyerEmail: email } : {}) }
  const caller = { clientIp: call.clientIp(), headers: call.headers }
  try {
    const payment = await createHostedCheckout(deps, { reference, mode: terms.mode }, wish, caller)
    return seeOther(call.base, `/pay/${payment.paymentId}`)
  } catch (error) {
    return inLookOf(row, problemPage(settleError(deps, error, call.headers), call))
  }
}

async function findOffer(
  deps: ApiDeps,
  call: Caller,
  reference: HostedReference,
): Promise<Offer | { instead: PageView | Response }> {
  const row = await readOffer(deps.db, reference)
  if (row === undefined) failUnknown(reference)
  const { payment } = row
  if (payment !== null && (payment.status === 'DETECTED' || isPaid(payment.status))) {
    return { instead: seeOther(call.base, `/pay/${payment.paymentId}`) }
  }
  const terms = await readTerms(deps.db, hostedPaidFor(reference))
  if (terms.code !== null) {
    const error = new ServiceError(toErrorCode(terms.code))
    return { instead: inLookOf(row, problemPage(error, call)) }
  }
  const { deployments } = deps.config
  const options = listOptions(deployments, terms.mode, terms.walletNetworks, terms).map((one) => {
    const deployment = deployments.get(`${one.network}:${terms.mode}`)
    const { networkName = one.network, confirmations = 0, blockTimeMs = 0 } = deployment ?? {}
    return {
      ...{ network: one.network, token: one.token, networkName },
      value: `${one.network}:${one.token}`,
      seconds: Math.ceil((confirmations * blockTimeMs) / 1000),
    }
  })
  return { row, terms, options }
}

function linkOf(paymentLinkId: string): HostedReference {
  const reference = { paymentLinkId }
  return isId('plink', paymentLinkId) ? reference : failUnknown(reference)
}

function sessionOf(sessionId: string): HostedReference {
  const reference = { sessionId }
  return isId('cs', sessionId) ? reference : failUnknown(reference)
}

function failUnknown(reference: HostedReference): never {
  return fail('sessionId' in reference ? 'session_not_found' : 'payment_link_not_found')
}

function inLookOf(row: OfferRow, view: PageView): PageView {
  return { ...view, seller: sellerOf(row), isTest: row.mode === 'test' }
}

function toErrorCode(code: string): ErrorCode {
  return Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'internal_error'
}
