import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { ERRORS, type ErrorCode } from '#shared/errors.ts'
import { EVENT_TYPES, type EventType } from '#shared/events.ts'
import { ENDPOINTS } from '../../api/endpoints.ts'
import { FIELDS } from '../../api/openapi/glossary.ts'
import { toPath } from '../../api/openapi/operation.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { API_DOCUMENT, assertDescribed, SEEN_SUCCESSES, schemaAt } from '../support/described.ts'
import { SEED_OBJECT } from '../support/objects.ts'
import { randomEvmAddress, type SeededStore, seedPrice, seedStore } from '../support/seed.ts'
import { fromAnotherIp, mailedTokens, seedLogin, trustLoopback } from '../support/seller.ts'

const TIMEOUT_MS = 60_000

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi({ config: { trustedProxies: trustLoopback() } })
  seller = await seedStore(api.database.db, {
    webhookUrl: 'https://93.184.216.34/hook',
    wallets: [{ network: 'base', address: randomEvmAddress() }],
  })
})
after(() => api.close())

test('GET /openapi.json answers a valid OpenAPI 3.1 document', async () => {
  const answer = await api.call('GET', '/openapi.json')
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body, API_DOCUMENT)
  const result = await new Validator().validate(answer.body)
  assert.equal(result.valid, true, JSON.stringify(result.errors))
  assert.equal(answer.body.openapi, '3.1.1')
  assert.deepEqual(answer.body.servers, [{ url: api.config.publicUrl }])
})

test('every endpoint is in the document, under an operationId of its own', () => {
  const ids = ENDPOINTS.map(
    ({ method, path }) => API_DOCUMENT.paths[toPath(path)]?.[method.toLowerCase()]?.operationId,
  )
  assert.equal(ids.includes(undefined), false)
  assert.equal(new Set(ids).size, ENDPOINTS.length)
})

test('lengths of texts count UTF-16 code units, as the document says', async () => {
  assert.match(API_DOCUMENT.info.description, /Lengths of texts count UTF-16 code units/)
  const { maxLength } =
    API_DOCUMENT.paths['/v1/stores/{storeId}'].patch.requestBody.content['application/json'].schema
      .properties.name
  const rename = (name: string) =>
    api.call('PATCH', `/v1/stores/${seller.store.storeId}`, {
      key: seller.keys.live.secret,
      body: { name },
    })
  assert.equal((await rename('😀'.repeat(maxLength / 2))).status, 200)
  const refused = await rename('😀'.repeat(maxLength / 2 + 1))
  assert.deepEqual([refused.status, refused.body.error.param], [400, 'name'])
})

test('every error code can be answered by some endpoint, or by a path that none has', () => {
  const declared = new Set<ErrorCode>(['not_found', 'method_not_allowed'])
  for (const operation of operations()) {
    for (const response of Object.values<ResponseObject>(operation.responses)) {
      const examples = response.content?.['application/json']?.examples ?? {}
      for (const code of Object.keys(examples)) declared.add(code as ErrorCode)
    }
  }
  assert.deepEqual(
    Object.keys(ERRORS).filter((code) => !declared.has(code as ErrorCode)),
    [],
  )
})

test('every JSON answer has a schema, and every object in it and in a request is closed', () => {
  for (const { method, path, media, response } of ENDPOINTS) {
    if (path === '/openapi.json') continue
    assert.equal(media.includes('application/json'), response !== undefined, `${method} ${path}`)
  }
  const open: string[] = []
  walkSchemas(API_DOCUMENT, '', (schema, where) => {
    if (schema['properties'] === undefined || where.includes('/allOf')) return
    if (schema['additionalProperties'] !== false) open.push(where)
  })
  assert.deepEqual(open, [])
})

test('every field and parameter says what it means', () => {
  const silent = new Set<string>()
  walkSchemas(API_DOCUMENT, '', (schema, where) => {
    if (where.includes('/allOf')) return
    for (const [name, field] of Object.entries<Schema>(schema['properties'] ?? {})) {
      if (typeof field['description'] !== 'string') silent.add(name)
    }
  })
  for (const { parameters } of operations()) {
    for (const { $ref, name, description } of parameters) {
      if ($ref === undefined && description === undefined) silent.add(name)
    }
  }
  assert.deepEqual([...silent], [])
})

test('the glossary explains nothing that is not there, and its examples are valid', () => {
  const used = new Set<string>()
  walkSchemas(API_DOCUMENT, '', (schema, where) => {
    const fields = Object.keys(schema['properties'] ?? {})
    for (const name of fields) {
      used.add(name)
      const examples: unknown[] = schema['properties'][name]?.['examples'] ?? []
      for (const example of examples) {
        const keys = where.slice(1).split('/').map(decodeURIComponent)
        const validate = schemaAt(...keys.map(fromPointer), 'properties', name)
        assertDescribed(validate, example, `the example of ${where}/${name}`)
      }
    }
  })
  for (const { parameters } of operations()) for (const { name } of parameters) used.add(name)
  assert.deepEqual(
    Object.keys(FIELDS).filter((name) => !used.has(name)),
    [],
  )
})

test('each event type is a webhook with its envelope and headers', () => {
  assert.deepEqual(Object.keys(API_DOCUMENT.webhooks), [...EVENT_TYPES])
  for (const { post } of Object.values<{ post: Operation }>(API_DOCUMENT.webhooks)) {
    assert.equal(post.parameters.length, 3)
  }
})

test('live answers of every endpoint are as described', { timeout: TIMEOUT_MS }, async () => {
  await walkAccounts()
  await walkStore()
  await walkCatalog()
  await walkPayments()
  await walkWebhook()
  for (const path of ['/v1/networks', '/healthz', '/readyz', '/metrics', '/openapi.json']) {
    await ok('GET', path)
  }
  // A stream has no end to wait for; its own test reads what it says.
  const missing = ENDPOINTS.map(({ method, path }) => `${method} ${path}`).filter(
    (name) => !SEEN_SUCCESSES.has(name) && !/\/stream$/.test(name),
  )
  assert.deepEqual(missing, [])
})

test('the bodies of events are as the webhooks describe them', {
  timeout: TIMEOUT_MS,
}, async () => {
  for (const outcome of ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED']) {
    const id = await SEED_OBJECT.pay(api, seller, 'test')
    await ok('POST', `/v1/test/payments/${id}/simulate`, { body: { outcome } })
  }
  const rows = await api.database.db<{ type: EventType; body: string }[]>`
    select type, body from events where store_id = ${seller.store.storeId}`
  assert.ok(new Set(rows.map(({ type }) => type)).size >= 6)
  for (const { type, body } of rows) {
    const keys = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema']
    assertDescribed(schemaAt(...keys), JSON.parse(body), body)
  }
})

async function walkAccounts(): Promise<void> {
  const headers = fromAnotherIp()
  const who = { email: 'walker@shop.test', password: 'correct horse battery' }
  await ok('POST', '/v1/accounts', { body: who, headers })
  await ok('POST', '/v1/accounts/verify-email/resend', { body: { email: who.email }, headers })
  const [verify] = await mailedTokens(api, who.email)
  await ok('POST', '/v1/accounts/verify-email', { body: { token: verify } })
  await ok('POST', '/v1/accounts/password/forgot', { body: { email: who.email }, headers })
  const reset = (await mailedTokens(api, who.email)).find((token) => token.startsWith('reset_'))
  const body = { token: reset, password: who.password }
  await ok('POST', '/v1/accounts/password/reset', { body, headers })
  const login = await ok('POST', '/v1/accounts/login', { body: who, headers })
  await ok('POST', '/v1/accounts/logout', { key: login.body.sessionToken })
  await own('GET', '/v1/account')
  await own('PATCH', '/v1/account', { sellerName: 'Walker', openAmountEnabled: true })
}

async function walkStore(): Promise<void> {
  const login = await seedLogin(api.database.db, seller.account.accountId)
  await ok('POST', '/v1/stores', { key: login, body: { name: 'Second' } })
  await own('GET', '/v1/stores')
  await own('GET', store())
  await own('PATCH', store(), { branding: { displayName: 'Shop', color: '#123456' } })
  const key = await own('POST', store('/keys'), { kind: 'SECRET' })
  await own('GET', store('/keys'))
  await own('DELETE', store(`/keys/${key.body.keyId}`))
  const wallet = await own('POST', store('/wallets'), {
    network: 'ethereum',
    address: `0x${'1'.repeat(40)}`,
  })
  await own('GET', store('/wallets'))
  await own('DELETE', store(`/wallets/${wallet.body.walletId}`))
  await own('PUT', store('/origins/bad.example'), { status: 'REJECTED' })
  await own('GET', store('/origins'))
}

async function walkCatalog(): Promise<void> {
  const product = await own('POST', store('/products'), { name: 'Beans', metadata: { a: 'b' } })
  const { productId } = product.body
  await own('GET', store('/products'))
  await own('GET', store(`/products/${productId}`))
  await own('PATCH', store(`/products/${productId}`), { description: 'Roasted' })
  const price = await own('POST', store('/prices'), {
    productId,
    amountCents: 900,
    interval: 'MONTH',
    networks: ['base'],
    tokens: ['usdc'],
  })
  const { priceId } = price.body
  await own('GET', store('/prices'))
  await own('GET', store(`/prices/${priceId}`))
  await own('PATCH', store(`/prices/${priceId}`), { active: true })
  const link = await own('POST', store('/payment-links'), { priceId, metadata: { a: 'b' } })
  await own('GET', store('/payment-links'))
  await own('GET', store(`/payment-links/${link.body.paymentLinkId}`))
  await own('PATCH', store(`/payment-links/${link.body.paymentLinkId}`), { active: false })
  const session = await own('POST', '/v1/checkout/sessions', {
    amountCents: 500,
    successUrl: 'https://shop.example/thanks',
  })
  await own('GET', `/v1/checkout/sessions/${session.body.sessionId}`)
  await own('POST', `/v1/checkout/sessions/${session.body.sessionId}/close`)
}

async function walkPayments(): Promise<void> {
  const publishableKey = seller.keys.test.publishable
  await ok('POST', '/v1/checkout/info', { body: { publishableKey, amount: 500 } })
  const body = { publishableKey, amount: 500, network: 'base', token: 'usdc', metadata: { a: 'b' } }
  const headers = { Origin: 'https://shop.example' }
  const { paymentId } = (await ok('POST', '/v1/checkout', { body, headers })).body
  await ok('GET', `/v1/payments/${paymentId}`)
  const transferId = await SEED_OBJECT.trf(api, seller, 'test')
  await own('POST', store(`/transfers/${transferId}/attach`), { paymentId })
  const other = await SEED_OBJECT.trf(api, seller, 'test')
  await own('POST', store(`/transfers/${other}/resolve`), { note: 'sent back' })
  await own('GET', store('/transfers'))
  const canceled = await SEED_OBJECT.pay(api, seller, 'test')
  await ok('POST', `/v1/payments/${canceled}/cancel`)
  await ok('POST', `/v1/test/payments/${paymentId}/simulate`)
  await own('GET', store('/payments'))
  await own('GET', store(`/payments/${paymentId}`))
  await own('GET', store(`/payments/${paymentId}/trace`))
  const subscriptionId = await SEED_OBJECT.sub(api, seller, 'test')
  await own('GET', store('/subscriptions'))
  const { renewUrl } = (await own('GET', store(`/subscriptions/${subscriptionId}`))).body
  const renewal = `/v1/renewals/${renewUrl.split('/').at(-1)}`
  await ok('GET', renewal)
  await ok('POST', `${renewal}/checkout`, { body: { network: 'base', token: 'usdc' } })
  const to = new Date(Date.now() + 60_000).toISOString()
  await own('POST', `/v1/test/subscriptions/${subscriptionId}/advance`, { to })
  await own('POST', store(`/subscriptions/${subscriptionId}/cancel`))
  await ok('POST', `${renewal}/cancel`)
  await seedPrice(api.database.db, seller.store.storeId)
}

async function walkWebhook(): Promise<void> {
  await own('GET', store('/webhook'))
  await own('PUT', store('/webhook'), { url: 'https://93.184.216.34/other' })
  await own('POST', store('/webhook/rotate'), { overlapHours: 1 })
  await own('POST', store('/webhook/test'))
  const deliveryId = await SEED_OBJECT.dlv(api, seller, 'test')
  await own('GET', store('/webhook/deliveries'))
  await own('GET', store(`/webhook/deliveries/${deliveryId}`))
  await own('POST', store(`/webhook/deliveries/${deliveryId}/resend`))
  const body = { from: '2026-01-01T00:00:00Z', to: '2027-01-01T00:00:00Z' }
  await own('POST', store('/webhook/replay'), body)
  await own('GET', store('/events'))
  await own('DELETE', store('/webhook'))
}

function store(path = ''): string {
  return `/v1/stores/${seller.store.storeId}${path}`
}

function own(method: string, path: string, body?: object) {
  const key = seller.keys.test.secret
  return ok(method, path, { key, ...(body === undefined ? {} : { body }) })
}

async function ok(...args: Parameters<TestApi['call']>) {
  const answer = await api.call(...args)
  assert.ok(answer.status < 300, `${args[0]} ${args[1]}: ${answer.text}`)
  return answer
}

type ResponseObject = { content?: Record<string, { examples?: object }> }
type Operation = {
  parameters: { $ref?: string; name: string; description?: string }[]
  responses: Record<string, ResponseObject>
}
// biome-ignore lint/suspicious/noExplicitAny: a JSON document of any depth
type Schema = Record<string, any>

function operations(): Operation[] {
  return Object.values<Record<string, Operation>>(API_DOCUMENT.paths).flatMap((item) =>
    Object.values(item),
  )
}

/** Visits every object of the document; what is no schema has no `properties`. */
function walkSchemas(value: unknown, where: string, visit: (schema: Schema, at: string) => void) {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value) && typeof (value as Schema)['type'] === 'string') {
    visit(value as Schema, where)
  }
  for (const [key, inner] of Object.entries(value)) {
    walkSchemas(inner, `${where}/${encodeURIComponent(toPointer(key))}`, visit)
  }
}

function toPointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

function fromPointer(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
