import { settleError } from '../../answer.ts'
import {
  cancelRenewal,
  checkOutRenewal,
  findRenewal,
  renewalOptions,
} from '../../checkout/renewal.ts'
import type { RenewalRow } from '../../checkout/renewal-queries.ts'
import type { ApiDeps } from '../../deps.ts'
import { readForm } from '../form.ts'
import { page, problemPage, seeOther } from '../page.ts'
import { type RenewOption, renewView, sellerOf } from './view.ts'

/** Opening the link of a mail changes nothing; its buttons do. */
export const renewPage = page({
  method: 'GET',
  path: '/renew/:token',
  summary: 'The page behind the link of a subscription’s mails: what is due, and the way to end it',
  async handle(deps, { params: { token }, texts, base }) {
    const row = await findRenewal(deps, token)
    return renewView(row, optionsOf(deps, row), { texts, base, token })
  },
})

export const renewFromPage = page({
  method: 'POST',
  path: '/renew/:token',
  summary: 'The button that pays the next period',
  async handle(deps, call) {
    const { token } = call.params
    const { texts, base, headers } = call
    const form = await readForm(call.request)
    const row = await findRenewal(deps, token)
    const options = optionsOf(deps, row)
    const option = options.find(({ value }) => value === form.text('option'))
    // One that has ended meanwhile has no options; its page says that it has.
    if (option === undefined)
      return renewView(row, options, { texts, base, token, isMistaken: true })
    const caller = { clientIp: call.clientIp(), headers }
    try {
      const payment = await checkOutRenewal(deps, token, option, caller)
      return seeOther(base, `/pay/${payment.paymentId}`)
    } catch (error) {
      const problem = problemPage(settleError(deps, error, headers), call)
      return { ...problem, seller: sellerOf(row), isTest: row.mode === 'test' }
    }
  },
})

export const cancelFromRenewPage = page({
  method: 'POST',
  path: '/renew/:token/cancel',
  summary: 'The button that ends the subscription',
  async handle(deps, { params: { token }, base }) {
    await cancelRenewal(deps, token)
    return seeOther(base, `/renew/${token}`)
  },
})

function optionsOf(deps: ApiDeps, row: RenewalRow): RenewOption[] {
  return renewalOptions(deps, row).map(({ network, token }) => ({
    ...{ network, token, value: `${network}:${token}` },
    networkName: deps.config.deployments.get(`${network}:${row.mode}`)?.networkName ?? network,
  }))
}
