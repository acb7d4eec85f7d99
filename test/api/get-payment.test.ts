import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

test('404 payment_not_found when nobody has that id', async () => {
  assertError(await api.call('GET', `/v1/payments/${newId('pay')}`), 404, 'payment_not_found')
  assertError(await api.call('GET', '/v1/payments/anything-else'), 404, 'payment_not_found')
  assertError(await api.call('GET', '/v1/payments/pay_%00'), 404, 'payment_not_found')
})
