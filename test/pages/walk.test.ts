import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { call } from '../support/api.ts'
import { openBrowser } from '../support/browser.ts'
import { createLink } from '../support/pages.ts'
import { scan } from '../support/qr.ts'
import { randomEvmAddress } from '../support/seed.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

const timeout = 60_000
const SOLANA_OWNER = '7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv'
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 } }

let stack: Stack
let browser: Browser
let linkPath: string

before(async () => {
  stack = await startStack({
    seed: {
      branding: { displayName: 'Corner Roastery', color: '#7a3e12' },
      wallets: [
        { network: 'base', address: randomEvmAddress() },
        { network: 'solana', address: SOLANA_OWNER },
      ],
    },
  })
  browser = await openBrowser()
  const api = { call: call.bind(undefined, stack.apiUrl) }
  linkPath = `/l/${await createLink(api, stack.seller)}`
})
after(async () => {
  await browser?.close()
  await stack?.close()
})

/** What went wrong in a page, and which hosts it asked. */
type Seen = { complaints: string[]; hosts: Set<string> }

async function inPage(
  options: BrowserContextOptions,
  walk: (page: Page, seen: Seen) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const seen: Seen = { complaints: [], hosts: new Set() }
  page.on('console', (message) => seen.complaints.push(message.text()))
  page.on('pageerror', (error) => seen.complaints.push(error.message))
  page.on('request', (request) => seen.hosts.add(new URL(request.url()).host))
  try {
    await walk(page, seen)
  } finally {
    await context.close()
  }
}

/** Chooses on the link's page; answers the payment it led to. */
async function choose(page: Page, option: string) {
  await page.goto(`${stack.apiUrl}${linkPath}`)
  await page.getByLabel(option).check()
  await page.getByRole('button', { name: 'Continue to payment' }).click()
  await page.waitForURL('**/pay/pay_*')
  return stack.read(new URL(page.url()).pathname.slice('/pay/'.length))
}

async function textOf(element: Locator): Promise<string> {
  return (await element.textContent()) ?? ''
}

function untilShown(page: Page, state: string): Promise<void> {
  return page.locator(`#payment[data-state=${state}]`).waitFor()
}

test(
  'from the link to a confirmed payment, in a real browser against a real chain',
  {
    timeout,
  },
  () =>
    inPage(PHONE, async (page, seen) => {
      const payment = await choose(page, 'USDC on Base')
      assert.equal(
        await textOf(page.getByRole('heading', { level: 1 })),
        'Waiting for your payment',
      )
      assert.equal(await textOf(page.locator('#address')), payment.payTo)
      const amount = await textOf(page.locator('#amount'))
      assert.equal(amount, `10.${payment.amountBaseUnits.slice(2)}`.replace(/0+$/, ''))
      assert.ok(await page.getByText('Send only USDC on Base.').isVisible())
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.equal(width, 390, 'nothing sticks out of a phone')

      const txHash = await stack.pay(payment)
      await untilShown(page, 'DETECTED')
      assert.equal(await page.title(), 'Payment seen · Corner Roastery')
      assert.ok(await page.getByText(txHash).isVisible())
      assert.equal(await page.locator('#address').count(), 0, 'nobody pays twice')
      assert.match(await textOf(page.locator('.confirmations')), /1 of 3 confirmations/)
      await stack.chain.mine(3)
      await untilShown(page, 'CONFIRMED')
      assert.equal(await textOf(page.getByRole('heading', { level: 1 })), 'Payment confirmed')
      assert.equal((await stack.read(payment.paymentId)).status, 'CONFIRMED')
      assert.deepEqual(seen.complaints, [])
      assert.deepEqual([...seen.hosts], [new URL(stack.apiUrl).host])
    }),
)

test(
  'the first code holds the plain address, the second an EIP-681 link of this payment',
  {
    timeout,
  },
  () =>
    inPage(PHONE, async (page) => {
      const payment = await choose(page, 'USDC on Base')
      const codes = page.getByRole('img', { name: /QR code/ })
      assert.equal(await codes.count(), 1, 'one code is shown at a time')
      assert.equal(await scan(codes), payment.payTo)
      await page.getByText('Payment link', { exact: true }).click()
      const uri = await scan(codes)
      const [, contract, chainId, to, units] =
        /^ethereum:(0x\w{40})@(\d+)\/transfer\?address=(0x\w{40})&uint256=(\d+)$/.exec(uri) ?? []
      assert.deepEqual(
        { contract, chainId, to, units },
        {
          contract: payment.contract,
          chainId: '31337',
          to: payment.payTo,
          units: payment.amountBaseUnits,
        },
      )
      const wallet = page.getByRole('link', { name: 'Open in a wallet' })
      assert.equal(await wallet.getAttribute('href'), uri)
    }),
)

test(
  'on Solana the second code is a transfer request with its reference; both in dark mode',
  {
    timeout,
  },
  () =>
    inPage({ ...PHONE, colorScheme: 'dark' }, async (page) => {
      const payment = await choose(page, 'USDC on Solana')
      const codes = page.getByRole('img', { name: /QR code/ })
      assert.equal(await scan(codes), SOLANA_OWNER)
      await page.getByText('Payment link', { exact: true }).click()
      const uri = new URL(await scan(codes))
      assert.deepEqual([uri.protocol, uri.pathname], ['solana:', SOLANA_OWNER])
      assert.equal(uri.searchParams.get('spl-token'), payment.contract)
      const units = (uri.searchParams.get('amount') ?? '').replace('.', '')
      assert.equal(BigInt(units), BigInt(payment.amountBaseUnits))
      assert.match(uri.searchParams.get('reference') ?? '', /^[1-9A-HJ-NP-Za-km-z]{32,44}$/)
    }),
)

test('without the stream the page asks by itself', { timeout }, () =>
  inPage({}, async (page) => {
    await page.route('**/stream', (route) => route.abort())
    const { paymentId } = await choose(page, 'USDC on Base')
    await stack.post(`/v1/test/payments/${paymentId}/simulate`)
    await untilShown(page, 'CONFIRMED')
  }),
)

test('says that the connection is gone, and catches up when it is back', { timeout }, () =>
  inPage({}, async (page) => {
    await page.route('**/stream', (route) => route.abort())
    const { paymentId } = await choose(page, 'USDC on Base')
    await page.context().setOffline(true)
    await page.getByText('No connection').waitFor()
    await stack.post(`/v1/test/payments/${paymentId}/simulate`, { outcome: 'OVERPAID' })
    await page.context().setOffline(false)
    await untilShown(page, 'OVERPAID')
    await page.getByText('No connection').waitFor({ state: 'hidden' })
  }),
)

test('without scripts: choose, look again by itself, cancel', { timeout }, () =>
  inPage({ javaScriptEnabled: false }, async (page) => {
    const { paymentId } = await choose(page, 'USDC on Base')
    assert.match(await page.content(), /<noscript><meta http-equiv="refresh" content="\d+">/)
    assert.equal(await page.getByRole('button', { name: /Copy/ }).count(), 0)
    assert.match(await textOf(page.getByRole('timer')), /^(60|59) min$/)
    await page.getByText('Cancel this payment').click()
    await page.getByRole('button', { name: 'Yes, cancel it' }).click()
    await untilShown(page, 'CANCELED')
    assert.equal((await stack.read(paymentId)).status, 'CANCELED')
    await page.getByRole('link', { name: 'Try again' }).click()
    await page.waitForURL(`**${linkPath}`)
  }),
)

test('with the keyboard alone: choose, switch the code, cancel', { timeout }, () =>
  inPage({}, async (page) => {
    await page.goto(`${stack.apiUrl}${linkPath}`)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/pay/pay_*')
    await page.locator('#code-address').focus()
    await page.keyboard.press('ArrowRight')
    assert.ok(await page.getByRole('img', { name: /payment link/ }).isVisible())
    await page.getByText('Cancel this payment').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await untilShown(page, 'CANCELED')
  }),
)

test('copies amount and address; where there is no clipboard, selects them', { timeout }, () =>
  inPage({ permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
    const { payTo } = await choose(page, 'USDC on Base')
    const amount = await textOf(page.locator('#amount'))
    await page.getByRole('button', { name: 'Copy the amount' }).click()
    await page.getByText('Copied', { exact: true }).waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), amount)
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
      document.execCommand = () => false
    })
    await page.reload()
    await page.getByRole('button', { name: 'Copy the address' }).click()
    await page.getByText('Selected: copy it now').waitFor()
    assert.equal(await page.evaluate(() => String(getSelection())), payTo)
  }),
)

test('counts down by the server’s clock, whatever the device’s says', { timeout }, () =>
  inPage({}, async (page) => {
    await page.clock.setFixedTime(Date.now() + 3 * 3_600_000)
    await choose(page, 'USDC on Base')
    await page.getByRole('button', { name: 'Copy the amount' }).waitFor()
    assert.match(await textOf(page.getByRole('timer')), /^(1:00:00|59:5\d)$/)
  }),
)
