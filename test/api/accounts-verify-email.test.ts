import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { fromAnotherIp, mailedTokens, signUp, trustLoopback } from '../support/seller.ts'

const PASSWORD = 'correct horse battery'
let api: TestApi

before(async () => {
  api = await startTestApi({ config: { trustedProxies: trustLoopback() } })
})
after(() => api.close())

const verify = (token: string) => api.call('POST', '/v1/accounts/verify-email', { body: { token } })
const resend = (email: string, headers = fromAnotherIp()) =>
  api.call('POST', '/v1/accounts/verify-email/resend', { body: { email }, headers })

test('verify-email 200 verifies the address, once', async () => {
  const email = 'verify@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const [token = ''] = await mailedTokens(api, email)
  const verified = await verify(token)
  assert.equal(verified.status, 200)
  assert.equal(verified.body.account.emailVerified, true)
  assertError(await verify(token), 400, 'invalid_request', 'token')
})

test('verify-email 400 invalid_request for a token that nobody was mailed, and one that has ended', async () => {
  assertError(await verify('verify_nothing'), 400, 'invalid_request', 'token')
  const email = 'late@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const [token = ''] = await mailedTokens(api, email)
  await travel(api.database, '73 hours')
  assertError(await verify(token), 400, 'invalid_request', 'token')
  await travel(api.database, '0')
})

test('verify-email 400 invalid_request for a token that resets a password', async () => {
  const email = 'other@shop.example'
  await signUp(api, { email, password: PASSWORD })
  await api.call('POST', '/v1/accounts/password/forgot', {
    body: { email },
    headers: fromAnotherIp(),
  })
  const token = (await mailedTokens(api, email)).find((one) => one.startsWith('reset_')) ?? ''
  assertError(await verify(token), 400, 'invalid_request', 'token')
})

test('resend 202 mails another link to an unverified account, and tells nobody about others', async () => {
  const email = 'again@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const known = await resend(email)
  const unknown = await resend('nobody@shop.example')
  assert.deepEqual([known.status, known.text], [202, unknown.text])
  assert.equal(unknown.status, 202)
  const tokens = await mailedTokens(api, email)
  assert.equal(tokens.length, 2)
  assert.deepEqual(await mailedTokens(api, 'nobody@shop.example'), [])
  assert.equal((await verify(tokens[1] ?? '')).status, 200)
  assertError(await verify(tokens[0] ?? ''), 400, 'invalid_request', 'token')
  assert.equal((await resend(email)).status, 202)
  assert.equal((await mailedTokens(api, email)).length, 2)
})

test('resend 202 mails one address five times an hour at most', { timeout: 20_000 }, async () => {
  const email = 'flood@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const answers = await Promise.all(Array.from({ length: 8 }, () => resend(email)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202])
  assert.equal((await mailedTokens(api, email)).length, 1 + 5)
})

test('resend 429 rate_limited from the thirty-first request of one IP in an hour', async () => {
  const headers = fromAnotherIp()
  const send = (count: number) => resend(`no-${count}@shop.example`, headers)
  const answers = await Promise.all(Array.from({ length: 30 }, (_, count) => send(count)))
  assert.ok(answers.every(({ status }) => status === 202))
  assertError(await send(31), 429, 'rate_limited')
})

test('resend 400 invalid_request for what is no mail address', async () => {
  assertError(await resend('nobody'), 400, 'invalid_request', 'email')
})
