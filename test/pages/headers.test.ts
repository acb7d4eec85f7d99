import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { closeDb, openDb } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { startApi } from '../../api/start.ts'
import { assertError, startTestApi, type TestApi, testConfig } from '../support/api.ts'
import {
  assertPageHeaders,
  createLink,
  createSession,
  submit,
  unknownIds,
} from '../support/pages.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, {
    branding: { displayName: 'Shop', logoUrl: 'https://logo.example/x.png', color: '#0a0b0c' },
  })
})
after(() => api.close())

async function createPayment(): Promise<string> {
  const answer = await api.call('POST', '/v1/checkout', {
    headers: { Origin: 'https://shop.example' },
    body: {
      publishableKey: seller.keys.test.publishable,
      priceId: seller.price.priceId,
      network: 'base',
      token: 'usdc',
    },
  })
  return answer.body.paymentId
}

test('200 every page has its headers, and loads nothing from elsewhere but the seller’s logo', async () => {
  const logo = 'https://logo.example'
  const pages: [path: string, logo?: string][] = [
    ['/'],
    [`/pay/${await createPayment()}`, logo],
    [`/l/${await createLink(api, seller)}`, logo],
    [`/c/${await createSession(api, seller, { amountCents: 500 })}`, logo],
    ['/verify-email?token=verify_x'],
    ['/reset-password?token=reset_x'],
  ]
  for (const [path, logoOrigin] of pages) {
    const answer = await api.call('GET', path)
    assert.equal(answer.status, 200, path)
    assertPageHeaders(answer, logoOrigin)
    const head = await api.call('HEAD', path)
    assert.deepEqual([head.status, head.text], [200, ''], path)
  }
})

test('200 scripts and styles are served from here under names that hold their hash', async () => {
  const { text } = await api.call('GET', `/pay/${await createPayment()}`)
  const names = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, name]) => name ?? '')
  assert.equal(names.length, 3, text)
  for (const name of names) {
    assert.match(name, /^\/assets\/[a-z]+-[0-9a-f]{16}\.(?:css|js)$/)
    const answer = await api.call('GET', name)
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/(?:css|javascript)/)
    assert.match(answer.headers.get('cache-control') ?? '', /immutable/)
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  }
  const other = await api.call('GET', '/assets/pay-0000000000000000.js')
  assert.equal(other.status, 404)
})

test('behind a proxy that adds a path, every link of ours begins with it', async () => {
  const other = await startTestApi({ config: { publicUrl: 'https://pay.example/till' } })
  try {
    const store = await seedStore(other.database.db)
    const link = await createLink(other, store)
    const bought = await submit(other.url, `/l/${link}`, { option: 'base:usdc' })
    const path = bought.headers.get('location') ?? ''
    assert.match(path, /^\/till\/pay\/pay_/)
    const { text } = await other.call('GET', path.slice('/till'.length))
    const links = [...text.matchAll(/(?:href|src|action|data-url)="(\/[^"]*)"/g)]
    assert.ok(links.length >= 6)
    for (const [, one] of links) assert.match(one ?? '', /^\/till\//)
    assert.match((await other.call('GET', '/')).text, /href="\/till\/docs"/)
  } finally {
    await other.close()
  }
})

test('404 an unknown id has a page of ours, which tells nothing of what exists', async () => {
  const texts = new Set<string>()
  for (const [path, prefix] of [
    ['pay', 'pay'],
    ['l', 'plink'],
    ['c', 'cs'],
  ] as const) {
    for (const id of unknownIds(prefix)) {
      const answer = await api.call('GET', `/${path}/${id}`)
      assert.equal(answer.status, 404, `${path}/${id}`)
      assertPageHeaders(answer)
      texts.add(answer.text.replace(/nonce="[^"]+"/g, ''))
    }
    const posted = await submit(
      api.url,
      `/${path}/${newId(prefix)}${path === 'pay' ? '/cancel' : ''}`,
      {},
    )
    assert.equal(posted.status, 404)
    assertPageHeaders(posted)
  }
  assert.equal(texts.size, 1)
})

test('404 and 405 outside the API: a page for a browser, JSON for a program', async () => {
  const payment = await createPayment()
  for (const [method, path, status, allow] of [
    ['GET', '/nowhere', 404, null],
    ['GET', '/pay/', 404, null],
    ['GET', '/v2/networks', 404, null],
    ['POST', `/pay/${payment}`, 405, 'GET, HEAD'],
    ['GET', `/pay/${payment}/cancel`, 405, 'POST'],
  ] as const) {
    const shown = await api.call(method, path, {
      headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    assert.equal(shown.status, status, path)
    assert.equal(shown.headers.get('allow'), allow)
    assertPageHeaders(shown)
    const told = await api.call(method, path, { headers: { Accept: '*/*' } })
    assertError(told, status, status === 404 ? 'not_found' : 'method_not_allowed')
    assert.equal(told.headers.get('allow'), allow)
    for (const answer of [shown, told]) assert.equal(answer.headers.get('vary'), 'Accept')
  }
  const inApi = await api.call('GET', '/v1/nowhere', { headers: { Accept: 'text/html' } })
  assertError(inApi, 404, 'not_found')
})

test('415 and 413: a form that is none, or is too large, has a page of ours', async () => {
  const path = `/l/${await createLink(api, seller)}`
  const json = await api.call('POST', path, { body: {} })
  assert.equal(json.status, 415)
  assertPageHeaders(json)
  const large = await submit(api.url, path, { option: 'x'.repeat(70_000) })
  assert.equal(large.status, 413)
  assertPageHeaders(large)
})

test('500 an error nobody foresaw has a page with the request’s number, and tells nothing else', async () => {
  const { db } = api.database
  await db`alter table products rename column name to name_gone`
  try {
    const answer = await api.call('GET', `/pay/${await createPayment()}`)
    assert.equal(answer.status, 500)
    assertPageHeaders(answer)
    assert.match(answer.text, /req_[0-9a-z]+/)
    assert.doesNotMatch(answer.text, /column|select|name_gone/)
  } finally {
    await db`alter table products rename column name_gone to name`
  }
})

test('503 a page of ours while the database cannot be reached', async () => {
  const url = 'postgres://nobody@127.0.0.1:9/none'
  const db = openDb({ url, applicationName: 'test' })
  const dead = startApi({ config: testConfig(url), db, log: silentLog })
  dead.ready.catch(() => {})
  try {
    const call = async (path: string) => {
      const response = await fetch(`${dead.url}${path}`)
      const { status, headers } = response
      return { status, headers, text: await response.text(), body: undefined }
    }
    for (const path of [`/pay/${newId('pay')}`, `/l/${newId('plink')}`, `/c/${newId('cs')}`]) {
      const answer = await call(path)
      assert.equal(answer.status, 503)
      assert.ok(Number(answer.headers.get('retry-after')) >= 1)
      assertPageHeaders(answer)
      assert.doesNotMatch(answer.text, /127\.0\.0\.1|postgres/i)
    }
    const posted = await submit(dead.url, '/verify-email', { token: 'x' })
    assert.equal(posted.status, 503)
    assertPageHeaders(posted)
    assert.equal((await call('/')).status, 200)
  } finally {
    await dead.stop()
    await closeDb(db, 500)
  }
})
