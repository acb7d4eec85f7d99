import { fail } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { cancelAndShow, simulateAndShow } from '../../payments/service.ts'
import { page, seeOther } from '../page.ts'
import { readPayPage } from './queries.ts'
import { payView } from './view.ts'

export const payPage = page({
  method: 'GET',
  path: '/pay/:paymentId',
  summary: 'The hosted payment page',
  async handle(deps, { params: { paymentId }, texts, base }) {
    if (!isId('pay', paymentId)) fail('payment_not_found')
    const row = await readPayPage(deps.db, paymentId)
    if (row === undefined) fail('payment_not_found')
    deps.rechecks.ask(row)
    return payView(row, { texts, base, context: deps.view })
  },
})

export const cancelFromPage = page({
  method: 'POST',
  path: '/pay/:paymentId/cancel',
  summary: 'The cancel button of the payment page',
  async handle(deps, { params: { paymentId }, base }) {
    await cancelAndShow(deps, paymentId)
    return seeOther(base, `/pay/${paymentId}`)
  },
})

export const simulateFromPage = page({
  method: 'POST',
  path: '/pay/:paymentId/simulate',
  summary: 'The button of a test payment’s page that pays without a chain',
  async handle(deps, { params: { paymentId }, base }) {
    await simulateAndShow(deps, paymentId, 'CONFIRMED')
    return seeOther(base, `/pay/${paymentId}`)
  },
})
