import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { silentLog } from '#shared/log.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { travel } from '../support/database.ts'
import { seedStore } from '../support/seed.ts'
import { fromAnotherIp, signUp, trustLoopback } from '../support/seller.ts'

const PASSWORD = 'correct horse battery'
const WRONG = 'a wrong password'
let api: TestApi

before(async () => {
  // Silent: a crowd is refused by the hundred, and each refusal is a line.
  api = await startTestApi({ config: { trustedProxies: trustLoopback() }, log: silentLog })
})
after(() => api.close())

const logIn = (email: string, password: string, headers = fromAnotherIp()) =>
  api.call('POST', '/v1/accounts/login', { body: { email, password }, headers })
const logOut = (key: string) => api.call('POST', '/v1/accounts/logout', { key })

test('login 200 with a token that reads the account and reaches its stores until it ends', async () => {
  const email = 'login@shop.example'
  const { body: made } = await signUp(api, { email, password: PASSWORD })
  const { status, body } = await logIn('LOGIN@shop.example', PASSWORD)
  assert.equal(status, 200)
  assert.match(body.sessionToken, /^sess_[0-9a-f]{64}$/)
  assert.ok(Date.parse(body.expiresAt) > Date.now() + 24 * 3_600_000)
  const key = body.sessionToken
  const account = await api.call('GET', '/v1/account', { key })
  assert.equal(account.body.accountId, made.account.accountId)
  const store = await api.call('GET', `/v1/stores/${made.store.storeId}`, { key })
  assert.equal(store.status, 200)
  await travel(api.database, '8 days')
  assertError(await api.call('GET', '/v1/account', { key }), 401, 'invalid_api_key')
  await travel(api.database, '0')
})

test('login 401 invalid_credentials alike for a wrong password, an unknown address and an account without password', async () => {
  const email = 'wrong@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const seeded = await seedStore(api.database.db)
  const answers = [
    await logIn(email, WRONG),
    await logIn('nobody@shop.example', WRONG),
    await logIn(seeded.account.email, 'no password'),
  ]
  for (const answer of answers) assertError(answer, 401, 'invalid_credentials')
  const texts = answers.map(({ text, body }) => text.replace(body.error.requestId, ''))
  assert.equal(new Set(texts).size, 1)
})

test('login 429 rate_limited for 15 minutes after five failures, with the right password too, for that IP alone', {
  timeout: 20_000,
}, async () => {
  const email = 'locked@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const headers = fromAnotherIp()
  for (let count = 0; count < 5; count += 1) {
    assertError(await logIn(email, WRONG, headers), 401, 'invalid_credentials')
  }
  const locked = await logIn(email, PASSWORD, headers)
  assertError(locked, 429, 'rate_limited')
  const retryAfter = Number(locked.headers.get('retry-after'))
  assert.ok(retryAfter > 890 && retryAfter <= 900, `${retryAfter} s`)
  assert.equal((await logIn(email, PASSWORD)).status, 200)
  await travel(api.database, '16 minutes')
  assert.equal((await logIn(email, PASSWORD, headers)).status, 200)
  await travel(api.database, '0')
})

test('login 429 rate_limited after five failures for an unknown address too', async () => {
  const headers = fromAnotherIp()
  for (let count = 0; count < 5; count += 1) await logIn('ghost@shop.example', WRONG, headers)
  assertError(await logIn('ghost@shop.example', WRONG, headers), 429, 'rate_limited')
})

test('login 401 to five at most of twenty guesses made at once', async () => {
  const email = 'burst@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const headers = fromAnotherIp()
  const answers = await Promise.all(Array.from({ length: 20 }, () => logIn(email, WRONG, headers)))
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [...Array(5).fill(401), ...Array(15).fill(429)])
})

test('login 503 unavailable when too many passwords wait, which counts as no failure', {
  timeout: 60_000,
}, async () => {
  const email = 'crowd@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const headers = fromAnotherIp()
  let isCrowded = false
  // How many come at once is the machine's affair: a larger crowd each time, until one is too large.
  for (let size = 200; !isCrowded && size <= 1_600; size *= 2) {
    const crowd = Array.from({ length: size }, (_, count) =>
      logIn(`crowd-${count}@shop.example`, WRONG, fromAnotherIp()),
    )
    const own = Array.from({ length: 5 }, () => logIn(email, PASSWORD, headers))
    const refused = (await Promise.all(own)).filter(({ status }) => status === 503)
    for (const answer of refused) assertError(answer, 503, 'unavailable')
    isCrowded = (await Promise.all(crowd)).some(({ status }) => status === 503)
  }
  assert.ok(isCrowded)
  assert.equal((await logIn(email, PASSWORD, headers)).status, 200)
})

test('login 200 forgets the failures before it', { timeout: 20_000 }, async () => {
  const email = 'forget@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const headers = fromAnotherIp()
  for (let round = 0; round < 2; round += 1) {
    for (let count = 0; count < 4; count += 1) await logIn(email, WRONG, headers)
    assert.equal((await logIn(email, PASSWORD, headers)).status, 200)
  }
})

test('logout 204 ends this login and no other', async () => {
  const email = 'out@shop.example'
  await signUp(api, { email, password: PASSWORD })
  const one = (await logIn(email, PASSWORD)).body.sessionToken
  const other = (await logIn(email, PASSWORD)).body.sessionToken
  const answer = await logOut(one)
  assert.deepEqual([answer.status, answer.text], [204, ''])
  assertError(await api.call('GET', '/v1/account', { key: one }), 401, 'invalid_api_key')
  assert.equal((await api.call('GET', '/v1/account', { key: other })).status, 200)
})

test('logout 401 invalid_api_key without a login', async () => {
  const seeded = await seedStore(api.database.db)
  assertError(await logOut(seeded.keys.test.secret), 401, 'invalid_api_key')
  assertError(await api.call('POST', '/v1/accounts/logout'), 401, 'invalid_api_key')
})
