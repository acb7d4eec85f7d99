import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import { openBrowser } from '../support/browser.ts'

const TIMEOUT_MS = 60_000

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

test('GET /docs answers a page that may load from this host alone', async () => {
  const answer = await api.call('GET', '/docs')
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'; /)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer')
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  assert.match(answer.headers.get('x-robots-tag') ?? '', /noindex/)
  assert.match(answer.text, /<meta name="robots" content="noindex/)
  assert.doesNotMatch(answer.text, /https?:\/\/|<script(?! src="\/)/)
  assert.equal((await api.call('GET', '/docs/nothing.js')).status, 404)
  assert.equal((await api.call('GET', '/docs/constructor')).status, 404)
})

test('behind a proxy that adds a path, every link of the reference begins with it', async () => {
  const other = await startTestApi({ config: { publicUrl: 'https://pay.example/till' } })
  try {
    const { text } = await other.call('GET', '/docs')
    const links = [...text.matchAll(/(?:href|src|data-url)="(\/[^"]*)"/g)]
    assert.ok(links.length >= 6)
    for (const [, link = ''] of links) {
      assert.match(link, /^\/till\//)
      assert.equal((await other.call('GET', link.slice('/till'.length))).status, 200, link)
    }
  } finally {
    await other.close()
  }
})

test('the reference shows every part of the API in a browser, with nothing refused or missing', {
  timeout: TIMEOUT_MS,
}, async () => {
  const browser = await openBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 1600 } })
    const faults: string[] = []
    const hosts = new Set<string>()
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(message.text())
    })
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('request', (request) => {
      const { protocol, host } = new URL(request.url())
      if (protocol !== 'data:') hosts.add(host)
    })
    await page.goto(`${api.url}/docs`)
    await page.waitForSelector('.opblock-summary-path')
    const text = await page.textContent('#reference')
    for (const part of [
      'Stablecoin payments',
      '/v1/checkout',
      'webhook events',
      'payment.confirmed',
    ]) {
      assert.ok(text?.includes(part), part)
    }
    assert.deepEqual(faults, [])
    assert.deepEqual([...hosts], [new URL(api.url).host])
  } finally {
    await browser.close()
  }
})
