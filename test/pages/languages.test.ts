import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { en, type Texts } from '../../api/pages/locales/en.ts'
import { LOCALES } from '../../api/pages/locales/locale.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { openBrowser } from '../support/browser.ts'
import { assertPageHeaders, createLink } from '../support/pages.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()
const timeout = 60_000
/** Contract section 8. */
const LANGUAGES = 'en es pt fr de tr ru uk ar hi id vi zh ja'.split(' ')

let api: TestApi
let seller: SeededStore
before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

const get = (path: string, headers: Record<string, string> = {}) =>
  api.call('GET', path, { headers })
const languageOf = ({ text }: { text: string }) => /<html lang="([a-z]+)"/.exec(text)?.[1]

async function createPayment(): Promise<string> {
  const { body } = await api.call('POST', '/v1/checkout', {
    body: {
      ...{ publishableKey: seller.keys.test.publishable, priceId: seller.price.priceId },
      ...{ network: 'base', token: 'usdc' },
    },
  })
  return `/pay/${body.paymentId}`
}

test('every language of the contract is there, by what the browser asks for', async () => {
  assert.deepEqual(
    LOCALES.map(({ language }) => language),
    LANGUAGES,
  )
  const paths = ['/', await createPayment(), `/l/${await createLink(api, seller)}`, '/pay/pay_x']
  for (const language of LANGUAGES) {
    for (const path of paths) {
      const answer = await get(path, { 'Accept-Language': language, Accept: 'text/html' })
      assertPageHeaders(answer)
      assert.equal(languageOf(answer), language)
      assert.equal(answer.headers.get('content-language'), language)
      assert.ok(answer.text.includes(`dir="${language === 'ar' ? 'rtl' : 'ltr'}"`))
      assert.equal(answer.headers.get('set-cookie'), null)
    }
  }
})

test('the best of several that we have is taken, and English when we have none', async () => {
  for (const [header, language] of [
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['pt-BR', 'pt'],
    ['zh-Hant-TW', 'zh'],
    ['xx, fr;q=0.5, es;q=0.6', 'es'],
    ['fr;q=0, ja;q=0.1', 'ja'],
    ['EN-gb', 'en'],
    ['*', 'en'],
    ['nl', 'en'],
    [';;q=,,=', 'en'],
    ['', 'en'],
  ] as const) {
    assert.equal(languageOf(await get('/', { 'Accept-Language': header })), language, header)
  }
})

test('a picked language stays picked, before what the browser asks for', async () => {
  const picked = await get('/?lang=tr', { 'Accept-Language': 'de' })
  assert.equal(languageOf(picked), 'tr')
  assert.equal(
    picked.headers.get('set-cookie'),
    'lang=tr; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly; Secure',
  )
  const later = await get('/', { 'Accept-Language': 'de', Cookie: 'a=b; lang=tr' })
  assert.equal(languageOf(later), 'tr')
  for (const path of ['/?lang=xx', '/?lang=', '/?lang=en%0d%0aX:y']) {
    const answer = await get(path, { Cookie: 'lang=zz' })
    assert.equal(languageOf(answer), 'en')
    assert.equal(answer.headers.get('set-cookie'), null)
  }
})

test('the picker leads to the same page, a mailed link’s token included', async () => {
  const { text } = await get('/verify-email?token=verify_x')
  assert.ok(text.includes('href="?token=verify_x&amp;lang=ja"'))
  assert.match(text, /lang="en" hreflang="en" rel="nofollow" aria-current="true">English</)
  const japanese = await get('/verify-email?token=verify_x&lang=ja')
  assert.equal(languageOf(japanese), 'ja')
  assert.ok(japanese.text.includes('name="token" value="verify_x"'))
})

for (const locale of LOCALES.slice(1)) {
  test(`${locale.language} says everything in words of its own, and puts in what it is given`, () => {
    compare(locale, en, '')
  })
}

/** Words that are the same in several languages. */
const SHARED = /^(direction|pay\.(transaction|network|qr)|buy\.network|pay\.minutesLeft)$/

function compare(own: unknown, english: unknown, path: string): void {
  // Amounts look alike everywhere: what is due is copied to the digit.
  if (path === 'usd') {
    assert.equal(own, english)
  } else if (typeof english === 'function') {
    compareFunctions(own, english, path)
  } else if (typeof english === 'string') {
    assert.ok(typeof own === 'string' && own.trim() !== '', path)
    if (!SHARED.test(path)) assert.notEqual(own, english, path)
  } else {
    assert.deepEqual(Object.keys(own as object), Object.keys(english as object), path)
    for (const [key, value] of Object.entries(english as Partial<Texts>)) {
      compare((own as Record<string, unknown>)[key], value, path === '' ? key : `${path}.${key}`)
    }
  }
}

function compareFunctions(own: unknown, english: CallableFunction, path: string): void {
  assert.ok(typeof own === 'function', path)
  const given = [41, 42, 43].slice(0, english.length)
  const said: string = own(...given)
  for (const one of given) assert.ok(said.includes(String(one)), `${path} puts in ${one}`)
  if (!SHARED.test(path)) assert.notEqual(said, english(...given), path)
}

test('a right-to-left payment page works in a real browser, and the picker changes its language', {
  timeout,
}, async () => {
  const browser = await openBrowser()
  try {
    const context = await browser.newContext({
      locale: 'ar',
      viewport: { width: 390, height: 844 },
    })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${api.url}${await createPayment()}`)
    await page.getByRole('heading', { name: 'في انتظار دفعتك' }).waitFor()
    const overflow = await page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    assert.equal(overflow, 0, 'nothing sticks out of a phone')
    await page.getByRole('link', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Wir warten auf Ihre Zahlung' }).waitFor()
    await page.getByRole('button', { name: 'Betrag kopieren' }).waitFor()
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
  }
})
