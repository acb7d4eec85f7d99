import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { type Letter, letterHtml, letterText } from '../../dispatcher/mail-letter.ts'
import { openBrowser } from '../support/browser.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()

const PHONE_WIDTH = 390
const RENEW_URL = `https://pay.example/renew/renew_${'a1'.repeat(32)}`

let browser: Browser
before(async () => {
  browser = await openBrowser()
})
after(() => browser?.close())

/** A mail to a buyer with a product whose name has no place to break. */
const LETTER: Letter = {
  subject: 'A subject',
  from: { name: 'N'.repeat(100), color: '#7a3e12', isTest: true },
  title: '$10.50 is due tomorrow',
  paragraphs: [`To keep ${'W'.repeat(200)}, pay $10.50.`],
  facts: [`pay_${'0'.repeat(200)}`],
  action: { label: 'Pay $10.50', url: RENEW_URL },
  footer: `You subscribed to ${'W'.repeat(200)}.`,
  end: { label: 'End the subscription and these mails', url: RENEW_URL },
}

test('a mail fits a phone, whatever the length of its names and links, and both its links lead there', {
  timeout: 60_000,
}, async () => {
  const page = await browser.newPage({ viewport: { width: PHONE_WIDTH, height: 800 } })
  await page.setContent(letterHtml(LETTER))
  assert.equal(await page.locator('html').evaluate((html) => html.scrollWidth), PHONE_WIDTH)
  const links = page.locator('a')
  assert.deepEqual(await links.allTextContents(), ['Pay $10.50', LETTER.end?.label])
  for (const link of await links.all()) assert.equal(await link.getAttribute('href'), RENEW_URL)
})

test('the text part ends with the sender, why it was sent, and how to end it', () => {
  const lines = letterText(LETTER).split('\n')
  assert.deepEqual(lines.slice(-4), [
    '-- ',
    LETTER.from.name,
    LETTER.footer,
    `End the subscription and these mails: ${RENEW_URL}`,
  ])
})
