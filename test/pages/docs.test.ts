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
  assert.doesNotMatch(answer.text, /https?:\/\/|<script(?! src="\/)/)
  assert.equal((await api.call('GET', '/docs/nothing.js')).status, 404)
  assert.equal((await api.call('GET', '/docs/constructor')).status, 404)
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
