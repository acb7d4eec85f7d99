import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { fromAnotherIp, mailedTokens, signUp, trustLoopback } from '../support/seller.ts'

const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'staple of the horse'
let api: TestApi

before(async () => {
  api = await startTestApi({ config: { trustedProxies: trustLoopback() } })
})
after(() => api.close())

const forget = (email: string) =>
  api.call('POST', '/v1/accounts/password/forgot', { body: { email }, headers: fromAnotherIp() })
const reset = (token: string, password = NEW_PASSWORD) =>
  api.call('POST', '/v1/accounts/password/reset', { body: { token, password } })
const logIn = (email: string, password: string) =>
  api.call('POST', '/v1/accounts/login', { body: { email, password }, headers: fromAnotherIp() })
const resetTokens = async (email: string) =>
  (await mailedTokens(api, email)).filter((token) => token.startsWith('reset_'))

test('forgot 202 alike, and after the same time, for known and unknown addresses', async () => {
  const email = 'known@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const known = await forget(email)
  const unknown = await forget('unknown@shop.example')
  assert.deepEqual([known.status, known.text], [unknown.status, unknown.text])
  assert.equal(known.status, 202)
  assert.equal((await resetTokens(email)).length, 1)
  assert.deepEqual(await mailedTokens(api, 'unknown@shop.example'), [])
})

test('forgot 400 invalid_request for what is no mail address', async () => {
  assertError(await forget('a@b,c@d'), 400, 'invalid_request', 'email')
})

test('reset 200 sets the password, ends every login, and uses every link up', {
  timeout: 20_000,
}, async () => {
  const email = 'reset@shop.example'
  const { body: made } = await signUp(api, { email, password: PASSWORD })
  const logins = [await logIn(email, PASSWORD), await logIn(email, PASSWORD)]
  await forget(email)
  await forget(email)
  const [first = '', second = ''] = await resetTokens(email)
  const answer = await reset(first)
  assert.equal(answer.status, 200)
  assert.equal(answer.body.account.accountId, made.account.accountId)
  for (const { body } of logins) {
    const read = await api.call('GET', '/v1/account', { key: body.sessionToken })
    assertError(read, 401, 'invalid_api_key')
  }
  assertError(await logIn(email, PASSWORD), 401, 'invalid_credentials')
  assert.equal((await logIn(email, NEW_PASSWORD)).status, 200)
  for (const token of [first, second]) {
    assertError(await reset(token), 400, 'invalid_request', 'token')
  }
})

test('reset 400 invalid_request for a weak password, which does not use the link up', async () => {
  const email = 'weak@shop.example'
  await signUp(api, { email, password: PASSWORD })
  await forget(email)
  const [token = ''] = await resetTokens(email)
  assertError(await reset(token, 'short'), 400, 'invalid_request', 'password')
  assert.equal((await reset(token)).status, 200)
})

test('reset 400 invalid_request for a token that was made up, mailed for another purpose, or has ended', async () => {
  const email = 'late@shop.example'
  await signUp(api, { email, password: PASSWORD })
  await forget(email)
  const [verifying = ''] = await mailedTokens(api, email)
  const [token = ''] = await resetTokens(email)
  assertError(await reset('reset_made_up'), 400, 'invalid_request', 'token')
  assertError(await reset(verifying), 400, 'invalid_request', 'token')
  await travel(api.database, '61 minutes')
  assertError(await reset(token), 400, 'invalid_request', 'token')
  await travel(api.database, '0')
})
