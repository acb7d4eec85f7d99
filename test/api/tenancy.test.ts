import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ErrorCode } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Endpoint, Method } from '../../api/endpoint.ts'
import { ENDPOINTS } from '../../api/endpoints.ts'
import { type Answer, assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type ObjectKind, SEED_OBJECT, unknownId } from '../support/objects.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { seedLogin } from '../support/seller.ts'

/**
 * A route that names an object. The object's id stands in the path, or in the body. `own` makes what else the call needs
 * of the caller's own.
 */
type Row = {
  route: `${Method} ${string}`
  kind: ObjectKind
  code: ErrorCode
  /** Whether a live caller may use it on a test object. */
  isRead?: true
  /** There is no such thing as success in live mode. */
  isTestOnly?: true
  body?: (id: string, own: { paymentId: string }) => object
}

const store = '/v1/stores/:storeId'
const session = '/v1/checkout/sessions'

/** Every route that names an object beside its store. To add one: a row, and its kind in test/support/objects.ts. */
const ROWS: readonly Row[] = [
  { route: `DELETE ${store}/keys/:keyId`, kind: 'key', code: 'key_not_found' },
  { route: `DELETE ${store}/wallets/:walletId`, kind: 'wal', code: 'wallet_not_found' },
  {
    route: `GET ${store}/webhook/deliveries/:deliveryId`,
    kind: 'dlv',
    code: 'delivery_not_found',
    isRead: true,
  },
  {
    route: `POST ${store}/webhook/deliveries/:deliveryId/resend`,
    kind: 'dlv',
    code: 'delivery_not_found',
  },
  {
    route: `GET ${store}/products/:productId`,
    kind: 'prod',
    code: 'product_not_found',
    isRead: true,
  },
  {
    route: `PATCH ${store}/products/:productId`,
    kind: 'prod',
    code: 'product_not_found',
    body: () => ({ active: false }),
  },
  {
    route: `POST ${store}/prices`,
    kind: 'prod',
    code: 'product_not_found',
    body: (productId) => ({ productId, amountCents: 100 }),
  },
  { route: `GET ${store}/prices/:priceId`, kind: 'price', code: 'price_not_found', isRead: true },
  {
    route: `PATCH ${store}/prices/:priceId`,
    kind: 'price',
    code: 'price_not_found',
    body: () => ({ active: false }),
  },
  {
    route: `POST ${store}/payment-links`,
    kind: 'price',
    code: 'price_not_found',
    body: (priceId) => ({ priceId }),
  },
  {
    route: `GET ${store}/payment-links/:paymentLinkId`,
    kind: 'plink',
    code: 'payment_link_not_found',
    isRead: true,
  },
  {
    route: `PATCH ${store}/payment-links/:paymentLinkId`,
    kind: 'plink',
    code: 'payment_link_not_found',
    body: () => ({ active: false }),
  },
  {
    route: `POST ${session}`,
    kind: 'price',
    code: 'price_not_found',
    body: (priceId) => ({ priceId }),
  },
  { route: `GET ${session}/:sessionId`, kind: 'cs', code: 'session_not_found', isRead: true },
  { route: `POST ${session}/:sessionId/close`, kind: 'cs', code: 'session_not_found' },
  {
    route: `GET ${store}/payments/:paymentId`,
    kind: 'pay',
    code: 'payment_not_found',
    isRead: true,
  },
  {
    route: `GET ${store}/payments/:paymentId/trace`,
    kind: 'pay',
    code: 'payment_not_found',
    isRead: true,
  },
  {
    route: `POST ${store}/transfers/:transferId/attach`,
    kind: 'trf',
    code: 'transfer_not_found',
    body: (_, own) => own,
  },
  {
    route: `POST ${store}/transfers/:transferId/resolve`,
    kind: 'trf',
    code: 'transfer_not_found',
    body: () => ({ note: 'sent back' }),
  },
  {
    route: `GET ${store}/subscriptions/:subscriptionId`,
    kind: 'sub',
    code: 'subscription_not_found',
    isRead: true,
  },
  {
    route: `POST ${store}/subscriptions/:subscriptionId/cancel`,
    kind: 'sub',
    code: 'subscription_not_found',
  },
  {
    route: 'POST /v1/test/subscriptions/:subscriptionId/advance',
    kind: 'sub',
    code: 'subscription_not_found',
    isTestOnly: true,
    body: () => ({ to: new Date(Date.now() + 60_000).toISOString() }),
  },
]

/** Parameters of paths that are no ids of objects: whatever stands there is the caller's own. */
const NO_OBJECT = [':storeId', ':host']
const MODES: readonly Mode[] = ['test', 'live']
const TIMEOUT_MS = 60_000

let api: TestApi
/** The store that is meddled with, another of the same account, and a stranger's. */
let own: SeededStore
let sister: SeededStore
let stranger: SeededStore
let logins: { own: string; stranger: string; ended: string }

before(async () => {
  api = await startTestApi()
  const { db } = api.database
  const webhookUrl = 'https://shop.example/hook'
  own = await seedStore(db, { webhookUrl, plan: 'SCALE' })
  sister = await seedStore(db, { webhookUrl, accountId: own.account.accountId })
  stranger = await seedStore(db, { webhookUrl, plan: 'SCALE' })
  logins = {
    own: await seedLogin(db, own.account.accountId),
    stranger: await seedLogin(db, stranger.account.accountId),
    ended: await seedLogin(db, own.account.accountId),
  }
  const revoked = await api.call('POST', '/v1/accounts/logout', { key: logins.ended })
  assert.equal(revoked.status, 204)
})
after(() => api.close())

const sellers = ENDPOINTS.filter(({ auth }) => auth === 'seller' || auth === 'store')

test('every route that names an object stands in the matrix', () => {
  const named = sellers
    .filter(({ path }) =>
      path.split('/').some((part) => part.startsWith(':') && !NO_OBJECT.includes(part)),
    )
    .map(({ method, path }) => `${method} ${path}`)
  const rows: readonly string[] = ROWS.map(({ route }) => route)
  assert.deepEqual(
    named.filter((route) => !rows.includes(route)),
    [],
  )
  const known = ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(
    rows.filter((route) => !known.includes(route)),
    [],
  )
})

for (const endpoint of sellers) {
  const name = `${endpoint.method} ${endpoint.path}`
  test(`401 invalid_api_key to whoever is nobody: ${name}`, { timeout: TIMEOUT_MS }, async () => {
    const { secret, publishable } = own.keys.live
    const keys = [
      undefined,
      publishable,
      own.keys.test.publishable,
      `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`,
      secret.replace('live', 'test'),
      `sess_${secret.slice(8)}`,
      await revokedKey(),
      logins.ended,
      '',
    ]
    for (const key of keys) {
      const path = fill(endpoint.path, own.store.storeId, newId('evt'))
      const answer = await send(endpoint.method, path, key, bodyOf(endpoint))
      assertError(answer, 401, 'invalid_api_key')
    }
  })
}

for (const endpoint of sellers.filter(({ auth }) => auth === 'store')) {
  const name = `${endpoint.method} ${endpoint.path}`
  test(`404 store_not_found alike for a foreign store and none: ${name}`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const foreigners = [
      ...MODES.flatMap((mode) => [sister.keys[mode].secret, stranger.keys[mode].secret]),
      logins.stranger,
    ]
    for (const key of foreigners) {
      const ask = (storeId: string) =>
        send(endpoint.method, fill(endpoint.path, storeId, 'x'), key, bodyOf(endpoint))
      const foreign = await ask(own.store.storeId)
      assertError(foreign, 404, 'store_not_found')
      assert.equal(bare(foreign), bare(await ask(newId('store'))))
    }
  })
}

for (const row of ROWS) {
  const [method = '', path = ''] = row.route.split(' ')
  const ask = async (key: string, id: string, mode: Mode, headers = {}) => {
    const mine = { paymentId: await SEED_OBJECT.pay(api, own, mode) }
    const body = row.body?.(id, mine)
    return send(method, fill(path, own.store.storeId, id), key, body, headers)
  }
  const name = `${row.route} (${row.kind})`

  test(`${row.code} alike for a foreign object and none: ${name}`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    for (const mode of MODES) {
      const foreign = [
        await SEED_OBJECT[row.kind](api, stranger, mode),
        await SEED_OBJECT[row.kind](api, sister, mode),
      ]
      for (const key of [own.keys[mode].secret, logins.own]) {
        // A login reaches the sister too, but where the path names a store it means that one.
        const hidden = key === logins.own && !path.startsWith(store) ? foreign.slice(0, 1) : foreign
        const headers = key === logins.own ? { 'X-Service-Mode': mode } : {}
        if (key === logins.own && method === 'POST' && path === session) continue
        const unknown = await ask(key, unknownId(row.kind), mode, headers)
        assert.equal(unknown.body?.error?.code, row.code, unknown.text)
        for (const id of hidden) {
          const answer = await ask(key, id, mode, headers)
          assert.equal(answer.status, 404, answer.text)
          assert.equal(bare(answer), bare(unknown))
        }
      }
    }
  })

  test(`${row.code} alike for an object of the other mode and none, but what live reads: ${name}`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    for (const [mode, other] of [
      ['test', 'live'],
      ['live', 'test'],
    ] as const) {
      const id = await SEED_OBJECT[row.kind](api, own, other)
      const answer = await ask(own.keys[mode].secret, id, mode)
      if (row.isRead && mode === 'live') {
        assert.equal(answer.status, 200, answer.text)
        continue
      }
      const unknown = await ask(own.keys[mode].secret, unknownId(row.kind), mode)
      assertError(answer, 404, row.code, answer.body?.error?.param)
      assert.equal(bare(answer), bare(unknown))
    }
  })

  test(`success for one’s own object, so that the refusals mean something: ${name}`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    for (const mode of MODES) {
      if (row.isTestOnly && mode === 'live') continue
      const id = await SEED_OBJECT[row.kind](api, own, mode)
      // The key that is revoked must not be the one that the later tests call with.
      assert.notEqual(id, '')
      const answer = await ask(own.keys[mode].secret, id, mode)
      assert.ok(answer.status < 300, answer.text)
      if (row.kind === 'key')
        await api.database.db`update keys set revoked_at = null where key_id = ${id}`
    }
  })
}

test('403 mode_mismatch to a test key that names live in its query, header or body', async () => {
  const key = own.keys.test.secret
  const keys = `${store.replace(':storeId', own.store.storeId)}/keys`
  assertError(await send('GET', `${keys}?mode=live`, key), 403, 'mode_mismatch')
  const live = { 'X-Service-Mode': 'live' }
  assertError(await send('GET', keys, key, undefined, live), 403, 'mode_mismatch')
  const body = { kind: 'SECRET', mode: 'live' }
  assertError(await send('POST', keys, key, body), 403, 'mode_mismatch')
})

/** A key that worked until a moment ago. */
async function revokedKey(): Promise<string> {
  const path = `/v1/stores/${own.store.storeId}/keys`
  const owner = own.keys.live.secret
  const { body } = await send('POST', path, owner, { kind: 'SECRET' })
  await send('DELETE', `${path}/${body.keyId}`, owner)
  return body.key
}

function fill(path: string, storeId: string, id: string): string {
  return path.replace(':storeId', storeId).replace(/:[A-Za-z]+/g, id)
}

/** The caller is looked at before the body, so any will do. */
function bodyOf({ body }: Endpoint): object | undefined {
  return body === undefined ? undefined : {}
}

function send(
  method: string,
  path: string,
  key: string | undefined,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return api.call(method, path, {
    headers,
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body }),
  })
}

/** An answer without what is new in each: the request id. */
function bare({ status, text, body }: Answer): string {
  return `${status} ${text.replace(body?.error?.requestId ?? '', '')}`
}
