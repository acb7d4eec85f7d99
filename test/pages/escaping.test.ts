import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Html, html } from '../../api/pages/html.ts'
import { lookOf } from '../../api/pages/layout/branding.ts'
import { webUrl } from '../../api/pages/pay/facts.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import {
  assertPageHeaders,
  createLink,
  createSession,
  paymentIdOf,
  submit,
} from '../support/pages.ts'
import { type SeededStore, seedPrice, seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

const HOSTILE = `</title><script>alert(1)</script><img src=x onerror="alert(2)">'"&amp;\``
const ESCAPED =
  '&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;alert(2)&quot;&gt;&#39;&quot;&amp;amp;`'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  const { db } = api.database
  // Written past the API, which refuses most of it: a page trusts no row.
  seller = await seedStore(db, {
    branding: {
      displayName: HOSTILE,
      logoUrl: 'javascript:alert(3)',
      color: '#fff;}</style><script>alert(4)</script>',
    },
  })
  await db`update products set name = ${HOSTILE}, description = ${HOSTILE}`
})
after(() => api.close())

function assertHarmless({ text }: { text: string }): void {
  assert.doesNotMatch(text, /<script>|<img src=x|alert\(3\)|alert\(4\)|javascript:/)
  assert.ok(text.includes(ESCAPED), 'the hostile text is shown, escaped')
}

test('the template escapes texts, in text and in attributes, and nothing twice', () => {
  const inner = html`<b title="${HOSTILE}">${HOSTILE}</b>`
  assert.equal(inner.markup, `<b title="${ESCAPED}">${ESCAPED}</b>`)
  assert.equal(html`<p>${inner}${[inner, inner]}</p>`.markup, `<p>${inner.markup.repeat(3)}</p>`)
  assert.equal(html`${undefined}${null}${false}${0}${''}${1n.toString()}`.markup, '01')
})

test('what looks like made markup in data is no markup', () => {
  const pretended: Html = JSON.parse('{"markup":"<script>"}')
  assert.equal(html`${pretended}${[pretended]}`.markup, '[object Object]'.repeat(2))
})

test('hostile names, descriptions and branding are shown as text on every page', async () => {
  const link = await createLink(api, seller, { metadata: { note: `META${HOSTILE}` } })
  const shown = await api.call('GET', `/l/${link}`)
  assertHarmless(shown)
  assertPageHeaders(shown)
  const session = await createSession(api, seller, {
    priceId: seller.price.priceId,
    metadata: { note: `META${HOSTILE}` },
  })
  assertHarmless(await api.call('GET', `/c/${session}`))
  const paymentId = paymentIdOf(await submit(api.url, `/l/${link}`, { option: 'base:usdc' }))
  for (const outcome of [undefined, 'CONFIRMED'] as const) {
    if (outcome !== undefined) {
      await api.call('POST', `/v1/test/payments/${paymentId}/simulate`, { body: { outcome } })
    }
    const page = await api.call('GET', `/pay/${paymentId}`)
    assertHarmless(page)
    assertPageHeaders(page)
    assert.ok(!page.text.includes('META'), 'metadata is the seller’s, not the buyer’s to see')
  }
})

test('what a form sends comes back as text', async () => {
  const recurring = await seedPrice(api.database.db, seller.store.storeId, { interval: 'MONTH' })
  const link = await createLink(api, seller, { priceId: recurring.priceId })
  const answer = await submit(api.url, `/l/${link}`, { option: 'base:usdc', email: HOSTILE })
  assert.equal(answer.status, 400)
  assertHarmless(answer)
  assertPageHeaders(answer)
  const token = await api.call('GET', `/verify-email?token=${encodeURIComponent(HOSTILE)}`)
  assertHarmless(token)
  assertHarmless(await api.call('GET', `/reset-password?token=${encodeURIComponent(HOSTILE)}`))
})

test('links lead to the web alone, whatever is stored', async () => {
  assert.equal(webUrl('https://a.example/?a=1&b=2'), 'https://a.example/?a=1&b=2')
  for (const bad of ['javascript:alert(1)', 'data:text/html,x', ' \tjavascript:x', 'no url', '']) {
    assert.equal(webUrl(bad), undefined, bad)
  }
  const session = await createSession(api, seller, {
    amountCents: 700,
    successUrl: 'https://shop.example/done?x="><script>alert(5)</script>',
  })
  const paymentId = paymentIdOf(await submit(api.url, `/c/${session}`, { option: 'base:usdc' }))
  await api.call('POST', `/v1/test/payments/${paymentId}/simulate`)
  const { text } = await api.call('GET', `/pay/${paymentId}`)
  assert.match(text, /href="https:\/\/shop\.example\/done\?x=%22%3E%3Cscript%3Ealert\(5\)/)
})

test('a logo is an https URL whose host cannot end the policy; a colour is six digits', () => {
  const good = lookOf({ logoUrl: 'https://logo.example:8443/a b?x', color: '#1A2b3c' })
  assert.equal(good.logo?.origin, 'https://logo.example:8443')
  assert.equal(good.colour?.brand, '#1A2b3c')
  for (const logoUrl of [
    'http://logo.example/x.png',
    'https://a;script-src/x.png',
    "https://a'b.example/x",
    'https://user@logo.example/x.png',
    'data:image/png;base64,x',
    '//logo.example/x.png',
  ]) {
    assert.equal(lookOf({ logoUrl }).logo, undefined, logoUrl)
  }
  for (const color of ['red', '#fff', '#12345g', '#123456;', 'url(x)', '#123456\n']) {
    assert.equal(lookOf({ color }).colour, undefined, color)
  }
  assert.equal(lookOf({ color: '#ffee00' }).colour?.onBrand, '#000000')
  assert.equal(lookOf({ color: '#102030' }).colour?.onBrand, '#ffffff')
})
