import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { startTestApi, type TestApi } from '../support/api.ts'
import { openBrowser } from '../support/browser.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()
const timeout = 60_000
/** Octets of contract section 8: "under 15 kB". */
const SIZE_MAX = 15_000

let api: TestApi
let seller: SeededStore
let browser: Browser
let shop: Server
let shopUrl: string

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db, {
    branding: { displayName: '<b>Corner</b> Roastery', color: '#7a3e12' },
  })
  browser = await openBrowser()
  shop = createServer(({ url }, response) => {
    if (url === '/favicon.ico') return response.writeHead(204).end()
    response.writeHead(200, {
      'Content-Type': 'text/html; charset=utf-8',
      // The strictest a seller can be: nothing inline, our script and our API alone.
      'Content-Security-Policy': `default-src 'none'; script-src ${api.url}; connect-src ${api.url}`,
    })
    return response.end(pageOf(url ?? ''))
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
})
after(async () => {
  await browser?.close()
  shop?.close()
  await api?.close()
})

/** A seller's page whose button sells what the path names: `/price_…`. */
function pageOf(path: string): string {
  const { publishable } = seller.keys.test
  return `<!doctype html><html lang="en"><title>Shop</title>
<button id="buy" data-publishable-key="${publishable}" data-price-id="${path.slice(1)}" data-metadata='{"order":"7"}'>Buy</button>
<script src="${api.url}/embed.js" async></script></html>`
}

type Told = { status: string; paymentId: string }

async function inShop(
  priceId: string,
  walk: (page: Page, told: Told[], complaints: string[]) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  const told: Told[] = []
  await page.exposeFunction('tell', (one: Told) => told.push(one))
  await page.goto(`${shopUrl}/${priceId}`)
  await page.evaluate(`document.addEventListener('checkout', ({ detail }) => tell(detail))`)
  await page.waitForFunction('window.StablecoinCheckout')
  try {
    await walk(page, told, complaints)
  } finally {
    await context.close()
  }
}

test('200 is a script under 15 kB that any site may load', async () => {
  const answer = await api.call('GET', '/embed.js')
  assert.equal(answer.status, 200)
  assert.ok(Buffer.byteLength(answer.text) < SIZE_MAX, `${Buffer.byteLength(answer.text)} octets`)
  assert.equal(answer.headers.get('content-type'), 'text/javascript; charset=utf-8')
  assert.equal(answer.headers.get('cross-origin-resource-policy'), 'cross-origin')
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_/)
  assert.equal((await api.call('POST', '/embed.js')).status, 405)
})

test('from a button of the seller’s to a confirmed payment, under the seller’s strictest policy', {
  timeout,
}, async () => {
  await inShop(seller.price.priceId, async (page, told, complaints) => {
    await page.click('#buy')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('<b>Corner</b> Roastery').waitFor()
    await dialog.getByLabel('USDC on Base').check()
    await dialog.getByRole('button', { name: 'Continue to payment' }).click()
    await dialog.getByText('Waiting for your payment').waitFor()
    const [first] = await until(() => told.length > 0 && told, { what: 'the payment is told' })
    assert.ok(first)
    const { body } = await api.call('GET', `/v1/payments/${first.paymentId}`)
    await dialog.getByText(body.payTo).waitFor()
    const exact = (Number(body.amountBaseUnits) / 1e6).toString()
    await dialog.getByText(`${exact} USDC`).waitFor()
    await dialog.getByText(/Time left \d+:\d\d/).waitFor()
    assert.equal(await dialog.getByText('Open in a wallet').getAttribute('href'), body.paymentUri)
    assert.equal(await dialog.getByText('QR code and more').getAttribute('href'), body.checkoutUrl)

    await dialog.getByRole('button', { name: 'Close' }).click()
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.click('#buy')
    await dialog.getByText(body.payTo).waitFor()
    assert.equal(told.at(-1)?.paymentId, first.paymentId, 'opened again, it claims no second slot')

    await api.call('POST', `/v1/test/payments/${first.paymentId}/simulate`)
    await dialog.getByText('Payment confirmed').waitFor()
    await until(() => told.at(-1)?.status === 'CONFIRMED', { what: 'the page is told' })
    const path = `/v1/stores/${seller.store.storeId}/payments/${first.paymentId}`
    const { body: full } = await api.call('GET', path, { key: seller.keys.test.secret })
    assert.deepEqual(full.metadata, { order: '7' })
    assert.equal(full.originHost, '127.0.0.1')
    assert.deepEqual(complaints, [])
  })
})

test('a buyer cancels, and a refusal is said in words with another try', { timeout }, async () => {
  await inShop(seller.price.priceId, async (page, told, complaints) => {
    await page.click('#buy')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Continue to payment' }).click()
    await dialog.getByRole('button', { name: 'Cancel this payment' }).click()
    await dialog.getByText('This payment was canceled').waitFor()
    assert.equal(told.at(-1)?.status, 'CANCELED')
    assert.deepEqual(complaints, [])
  })
  await inShop('price_x', async (page) => {
    await page.click('#buy')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Nothing was charged').waitFor()
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await dialog.getByText('Nothing was charged').waitFor()
  })
})
