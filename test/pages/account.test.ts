import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import { assertPageHeaders, submit } from '../support/pages.ts'
import { fromAnotherIp, mailedTokens, signUp, trustLoopback } from '../support/seller.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

const OLD = 'correct horse battery'
const NEW = 'another staple 2026'

let api: TestApi

before(async () => {
  api = await startTestApi({ config: { trustedProxies: trustLoopback() } })
})
after(() => api.close())

function logIn(email: string, password: string) {
  const headers = fromAnotherIp()
  return api.call('POST', '/v1/accounts/login', { body: { email, password }, headers })
}

async function isVerified(email: string): Promise<boolean> {
  const [row] = await api.database.db<{ isVerified: boolean }[]>`
    select email_verified_at is not null as is_verified from accounts where email = ${email}`
  return row?.isVerified === true
}

test('verify-email: opening the link does nothing, the button verifies, once', async () => {
  const email = 'ann@shop.example'
  await signUp(api, { email, password: OLD })
  const [token = ''] = await mailedTokens(api, email)
  const shown = await api.call('GET', `/verify-email?token=${token}`)
  assert.equal(shown.status, 200)
  assert.ok(shown.text.includes(`value="${token}"`))
  assert.equal(await isVerified(email), false)
  const done = await submit(api.url, '/verify-email', { token })
  assert.equal(done.status, 200)
  assertPageHeaders(done)
  assert.equal(await isVerified(email), true)
  const again = await submit(api.url, '/verify-email', { token })
  assert.equal(again.status, 400)
  assert.match(again.text, /does not work any more/)
})

test('reset-password: opening the link does nothing, the button sets the password, once', async () => {
  const email = 'bob@shop.example'
  await signUp(api, { email, password: OLD })
  await api.call('POST', '/v1/accounts/password/forgot', {
    body: { email },
    headers: fromAnotherIp(),
  })
  const token = (await mailedTokens(api, email)).at(-1) ?? ''
  assert.equal((await api.call('GET', `/reset-password?token=${token}`)).status, 200)
  assert.equal((await logIn(email, OLD)).status, 200)

  const cases: [password: string, repeat: string, say: RegExp][] = [
    ['short', 'short', /12 characters or more, and/],
    [NEW, `${NEW}x`, /not the same/],
    ['', '', /12 characters or more, and/],
  ]
  for (const [password, repeat, say] of cases) {
    const answer = await submit(api.url, '/reset-password', { token, password, repeat })
    assert.equal(answer.status, 400)
    assert.match(answer.text, say)
    assert.ok(password === '' || !answer.text.includes(password), 'a password is never shown')
    assertPageHeaders(answer)
  }
  const done = await submit(api.url, '/reset-password', { token, password: NEW, repeat: NEW })
  assert.equal(done.status, 200, done.text)
  assertPageHeaders(done)
  assert.equal((await logIn(email, OLD)).status, 401)
  assert.equal((await logIn(email, NEW)).status, 200)
  const again = await submit(api.url, '/reset-password', { token, password: NEW, repeat: NEW })
  assert.equal(again.status, 400)
  assert.match(again.text, /does not work any more/)
})

test('400 one and the same page for a token that is missing, made up, doubled or too long', async () => {
  for (const path of ['/verify-email', '/reset-password']) {
    const dead = new Set<string>()
    for (const query of ['', '?token=', '?token=a&token=b', `?token=${'a'.repeat(300)}`]) {
      const answer = await api.call('GET', `${path}${query}`)
      assert.equal(answer.status, 400, `${path}${query}`)
      assertPageHeaders(answer)
      dead.add(answer.text.replace(/nonce="[^"]+"/g, ''))
    }
    const fields = { token: 'verify_made_up', password: NEW, repeat: NEW }
    const answer = await submit(api.url, path, fields)
    assert.equal(answer.status, 400)
    dead.add(answer.text.replace(/nonce="[^"]+"/g, ''))
    assert.equal(dead.size, 1)
    assert.ok(answer.text.includes(`action="${path}/again"`))
  }
})

test('a dead link’s page mails a new one, and does not tell whether the address has an account', async () => {
  const email = 'eve@shop.example'
  await signUp(api, { email, password: OLD })
  for (const [path, prefix] of [
    ['/verify-email', 'verify_'],
    ['/reset-password', 'reset_'],
  ] as const) {
    const told = new Set<string>()
    for (const address of [email, 'nobody@shop.example']) {
      const sent = await mailedTokens(api, address)
      const answer = await submit(api.url, `${path}/again`, { email: address }, fromAnotherIp())
      assert.equal(answer.status, 200, answer.text)
      assertPageHeaders(answer)
      told.add(answer.text.replace(/nonce="[^"]+"/g, ''))
      const added = (await mailedTokens(api, address)).slice(sent.length)
      assert.equal(added.length, address === email ? 1 : 0)
      assert.ok(added.every((token) => token.startsWith(prefix)))
    }
    assert.equal(told.size, 1)
  }
  const token = (await mailedTokens(api, email)).findLast((one) => one.startsWith('verify_')) ?? ''
  assert.equal((await submit(api.url, '/verify-email', { token })).status, 200)
  assert.equal(await isVerified(email), true)
})

test('400 with the form again for what is no address, 429 for more than 30 requests an hour', async () => {
  const from = fromAnotherIp()
  for (const wrong of ['', 'ann', 'a@b.example\r\nBcc: c@d.example', '<b>@x']) {
    const answer = await submit(api.url, '/reset-password/again', { email: wrong }, from)
    assert.equal(answer.status, 400)
    assertPageHeaders(answer)
    assert.match(answer.text, /Write one e-mail address/)
    assert.ok(answer.text.includes('action="/reset-password/again"'))
    assert.ok(!answer.text.includes('<b>'))
  }
  const ask = () => submit(api.url, '/reset-password/again', { email: 'x@y.example' }, from)
  const answers = await Promise.all(Array.from({ length: 31 }, ask))
  assert.equal(answers.filter(({ status }) => status === 200).length, 30)
  const refused = answers.find(({ status }) => status === 429)
  assert.ok(refused)
  assertPageHeaders(refused)
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
})
