import assert from 'node:assert/strict'
import { newId } from '#shared/ids.ts'
import type { Answer, TestApi } from './api.ts'
import type { SeededStore } from './seed.ts'

/** Makes a payment link of the store's price over the API; answers its id. */
export async function createLink(
  api: Pick<TestApi, 'call'>,
  { store, keys, price }: SeededStore,
  { priceId = price.priceId, mode = 'test' as 'test' | 'live', metadata = {} } = {},
): Promise<string> {
  const answer = await api.call('POST', `/v1/stores/${store.storeId}/payment-links`, {
    key: keys[mode].secret,
    body: { priceId, metadata },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.paymentLinkId
}

/** Opens a checkout session over the API; answers its id. */
export async function createSession(
  api: Pick<TestApi, 'call'>,
  { keys }: SeededStore,
  body: Record<string, unknown>,
): Promise<string> {
  const answer = await api.call('POST', '/v1/checkout/sessions', { key: keys.test.secret, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.sessionId
}

/** Sends a form as a browser does, and follows no redirect. */
export async function submit(
  url: string,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: undefined, text }
}

/** The payment that a submitted form led to. */
export function paymentIdOf(answer: Answer): string {
  const location = answer.headers.get('location') ?? ''
  assert.match(`${answer.status} ${location}`, /^303 \/pay\/pay_[0-9a-z]+$/, answer.text)
  return location.slice('/pay/'.length)
}

/** What every page must say of itself (contract section 8), whatever its status. */
export function assertPageHeaders({ headers, text }: Answer, logoOrigin?: string): void {
  const policy = headers.get('content-security-policy') ?? ''
  assert.ok(policy.startsWith("default-src 'none'"), policy)
  const directives = new Map(
    policy.split('; ').map((one) => {
      const [name = '', ...sources] = one.split(' ')
      return [name, sources.join(' ')]
    }),
  )
  assert.equal(directives.get('img-src'), logoOrigin)
  assert.equal(directives.get('frame-ancestors'), "'none'")
  assert.equal(directives.get('base-uri'), "'none'")
  assert.equal(directives.get('form-action'), "'self'")
  assert.doesNotMatch(policy, /unsafe|\*|https?:\/\/(?!logo\.)|data:|blob:/)
  const nonce = /^'nonce-([A-Za-z0-9+/]{22}==)'$/.exec(directives.get('style-src') ?? '')?.[1]
  assert.ok(nonce, policy)
  for (const [tag] of text.matchAll(/<(?:script|style|link)\b[^>]*>/g)) {
    assert.ok(tag.includes(`nonce="${nonce}"`), tag)
    assert.doesNotMatch(tag, /(?:src|href)="(?!\/assets\/)/, tag)
  }
  for (const [tag] of text.matchAll(/<[a-z][^<>]*>/g)) {
    assert.doesNotMatch(tag.replace(/"[^"]*"/g, '""'), /\s(?:on\w+|style)=/i)
  }
  assert.equal(headers.get('referrer-policy'), 'no-referrer')
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.match(headers.get('x-robots-tag') ?? '', /noindex/)
  assert.match(text, /<meta name="robots" content="noindex/)
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
  assert.match(headers.get('x-request-id') ?? '', /^req_/)
  assert.equal(headers.get('access-control-allow-origin'), null)
}

/** Ids that nobody has, and texts that are no ids. */
export function unknownIds(prefix: 'pay' | 'plink' | 'cs'): string[] {
  return [newId(prefix), `${prefix}_x`, 'x', '%00', '%zz', "'", '..%2f..%2fetc']
}
