import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listen } from '#shared/db/listen.ts'
import { createLog, silentLog } from '#shared/log.ts'
import { REQUESTS_CHANNEL } from '#shared/requests.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { fromAnotherIp, mailedTokens, signUp, trustLoopback } from '../support/seller.ts'
import { until } from '../support/until.ts'

const PASSWORD = 'correct horse battery'
let api: TestApi

before(async () => {
  api = await startTestApi({ config: { trustedProxies: trustLoopback() } })
})
after(() => api.close())

test('201 with the account, a store and four working keys', async () => {
  const { status, body, headers } = await signUp(api, {
    email: 'Ann@Shop.Example',
    password: PASSWORD,
    sellerName: 'Ann’s',
  })
  assert.equal(status, 201)
  assert.equal(headers.get('ratelimit-remaining'), '9')
  assert.deepEqual(Object.keys(body), ['account', 'store', 'keys'])
  assert.match(body.account.accountId, /^acct_/)
  assert.equal(body.account.email, 'ann@shop.example')
  assert.equal(body.account.emailVerified, false)
  assert.equal(body.account.sellerName, 'Ann’s')
  assert.equal(body.store.name, 'Ann’s')
  assert.deepEqual(body.store.branding, {})
  const kinds = body.keys.map((key: { mode: string; kind: string }) => `${key.mode} ${key.kind}`)
  assert.deepEqual(kinds, ['test SECRET', 'test PUBLISHABLE', 'live SECRET', 'live PUBLISHABLE'])
  for (const { key, kind, mode } of body.keys) {
    assert.match(key, new RegExp(`^${kind === 'SECRET' ? 'sk' : 'pk'}_${mode}_[0-9a-f]{64}$`))
    if (kind !== 'SECRET') continue
    const account = await api.call('GET', '/v1/account', { key })
    assert.equal(account.body.accountId, body.account.accountId)
  }
})

test('201 leaves neither the password, nor a secret key, nor the mailed token in the database', async () => {
  const email = 'secrets@shop.example'
  const { body } = await signUp(api, { email, password: PASSWORD })
  const [token] = await mailedTokens(api, email)
  assert.match(token ?? '', /^verify_[0-9a-f]{64}$/)
  const secrets = [
    PASSWORD,
    token,
    ...body.keys.flatMap(({ kind, key }: { kind: string; key: string }) =>
      kind === 'SECRET' ? [key] : [],
    ),
  ]
  const { db } = api.database
  for (const table of ['accounts', 'stores', 'keys', 'mailed_tokens', 'requests']) {
    const rows = await db.unsafe(`select t::text as text from ${table} t`)
    for (const secret of secrets) {
      assert.ok(!rows.some((row) => row['text'].includes(secret)), `${table} holds a secret`)
    }
  }
  const [row] = await db`select password_hash from accounts where email = ${email}`
  assert.match(row?.['passwordHash'], /^\$argon2id\$/)
})

test('201 wakes the mailer after the commit', async () => {
  const heard: string[] = []
  let isListening = false
  const listener = listen({
    url: api.database.url,
    applicationName: 'test-listen',
    handlers: { [REQUESTS_CHANNEL]: (payload) => heard.push(payload) },
    onListening: () => {
      isListening = true
    },
    log: silentLog,
  })
  try {
    await until(() => isListening, { what: 'the channel to be open' })
    await signUp(api, { email: 'wake@shop.example', password: PASSWORD })
    await until(() => heard.includes('mail'), { what: 'a notification of the mail' })
  } finally {
    await listener.stop()
  }
})

test('409 email_taken for an address in any case', async () => {
  await signUp(api, { email: 'twice@shop.example', password: PASSWORD })
  const again = await signUp(api, { email: 'TWICE@shop.example', password: PASSWORD })
  assertError(again, 409, 'email_taken')
})

test('409 email_taken for all but one of ten sign-ups at once', async () => {
  const body = { email: 'race@shop.example', password: PASSWORD }
  const answers = await Promise.all(Array.from({ length: 10 }, () => signUp(api, body)))
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [201, ...Array.from({ length: 9 }, () => 409)])
})

test('400 invalid_request for what is not one strict mail address', async () => {
  for (const email of [
    '',
    'ann',
    'ann@shop.example\r\nBcc: evil@x.example',
    'a@x.example,b@x.example',
    'Ann <ann@shop.example>',
    `${'a'.repeat(65)}@x.example`,
  ]) {
    const answer = await signUp(api, { email, password: PASSWORD })
    assertError(answer, 400, 'invalid_request', 'email')
  }
})

test('400 invalid_request for a password under 12 characters or too long to hash', async () => {
  for (const password of ['', 'elevenchars', '😀'.repeat(11), 'é'.repeat(1_000)]) {
    const answer = await signUp(api, { email: 'weak@shop.example', password })
    assertError(answer, 400, 'invalid_request', 'password')
  }
})

test('400 invalid_request for a seller name with a line break, and for unknown fields', async () => {
  const email = 'name@shop.example'
  const broken = await signUp(api, { email, password: PASSWORD, sellerName: 'a\nb' })
  assertError(broken, 400, 'invalid_request', 'sellerName')
  const more = { email, password: PASSWORD, plan: 'SCALE' }
  assertError(await signUp(api, more), 400, 'invalid_request', 'plan')
})

test('429 rate_limited from the eleventh sign-up of one IP in an hour', {
  timeout: 20_000,
}, async () => {
  const headers = fromAnotherIp()
  const send = (count: number) =>
    api.call('POST', '/v1/accounts', {
      body: { email: `many-${count}@shop.example`, password: PASSWORD },
      headers,
    })
  for (let count = 1; count <= 10; count += 1) assert.equal((await send(count)).status, 201)
  const refused = await send(11)
  assertError(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers.get('retry-after')) > 3_500)
  assert.equal(refused.headers.get('ratelimit-limit'), '10')
})

test('no secret of a seller’s life reaches the logs', { timeout: 20_000 }, async () => {
  const lines: string[] = []
  const log = createLog({
    level: 'debug',
    format: 'json',
    name: 'api',
    write: (line) => lines.push(line),
  })
  const loud = await startTestApi({ log, config: { webhookAllowPrivate: true } })
  try {
    const email = 'quiet@shop.example'
    const { body } = await signUp(loud, { email, password: PASSWORD })
    const secrets: string[] = [PASSWORD, email, ...(await mailedTokens(loud, email))]
    for (const { key } of body.keys) secrets.push(key)
    const login = await loud.call('POST', '/v1/accounts/login', {
      body: { email, password: PASSWORD },
    })
    secrets.push(login.body.sessionToken)
    const path = `/v1/stores/${body.store.storeId}`
    const key = login.body.sessionToken
    const webhook = { key, body: { url: 'http://127.0.0.1:9/secret-path' } }
    secrets.push((await loud.call('PUT', `${path}/webhook`, webhook)).body.secret)
    await loud.call('POST', `${path}/webhook/test`, { key })
    await loud.call('POST', `${path}/keys`, { key, body: '{"kind":' })
    // What the database says of a failure may quote a row.
    await loud.database.db`alter table keys rename to keys_gone`
    const failed = await loud.call('POST', `${path}/keys`, { key, body: { kind: 'SECRET' } })
    assertError(failed, 500, 'internal_error')
    await loud.database.db`alter table keys_gone rename to keys`
    assert.ok(lines.some((line) => line.includes('request failed')))
    for (const secret of secrets) {
      assert.ok(secret.length > 0 && !lines.join('\n').includes(secret), `${secret} was logged`)
    }
  } finally {
    await loud.close()
  }
})

test('403 signup_closed when the operator takes no accounts', async () => {
  const closed = await startTestApi({ config: { isSignupOpen: false } })
  try {
    const body = { email: 'late@shop.example', password: PASSWORD }
    assertError(await closed.call('POST', '/v1/accounts', { body }), 403, 'signup_closed')
    const [row] = await closed.database.db`select count(*)::integer as count from accounts`
    assert.equal(row?.['count'], 0)
  } finally {
    await closed.close()
  }
})
