import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { silentLog } from '#shared/log.ts'
import { sendMails } from '../../dispatcher/mail.ts'
import { createSmtpMailer, type Mailer } from '../../dispatcher/mailer.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { type SmtpReceiver, startSmtpReceiver } from '../support/smtp.ts'

const DAY_MS = 86_400_000

/** From checkout to the end through the API and a real mail server: what a buyer finds in the mailbox. */
describe('a subscription in its buyer’s mailbox', () => {
  let api: TestApi
  let seller: SeededStore
  let smtp: SmtpReceiver
  let mailer: Mailer
  before(
    async () => {
      api = await startTestApi()
      const branding = { displayName: 'Tea House', color: '#aa3300' }
      seller = await seedStore(api.database.db, { price: { interval: 'MONTH' }, branding })
      smtp = await startSmtpReceiver()
      mailer = createSmtpMailer({ url: smtp.url, from: 'payments@pay.example' })
    },
    { timeout: 60_000 },
  )
  after(async () => {
    mailer.close()
    await smtp.close()
    await api.close()
  })
  beforeEach(() => {
    smtp.received.length = 0
  })

  async function subscribe(buyer: { buyerEmail?: string }) {
    const { body: payment, text } = await api.call('POST', '/v1/checkout', {
      body: {
        ...{ publishableKey: seller.keys.test.publishable, priceId: seller.price.priceId },
        ...{ network: 'base', token: 'usdc', ...buyer },
      },
    })
    const path = `/v1/stores/${seller.store.storeId}/subscriptions`
    const [subscription] = (await api.call('GET', path, { key: seller.keys.test.secret })).body.data
    assert.ok(subscription, text)
    return { subscription, paymentId: payment.paymentId as string }
  }
  const simulate = (paymentId: string) =>
    api.call('POST', `/v1/test/payments/${paymentId}/simulate`)
  const advance = async (subscriptionId: string, ms: number) => {
    const answer = await api.call('POST', `/v1/test/subscriptions/${subscriptionId}/advance`, {
      key: seller.keys.test.secret,
      body: { to: new Date(ms).toISOString() },
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const renew = async (renewUrl: string) => {
    const path = `/v1/renewals/${renewUrl.split('/').at(-1)}/checkout`
    const answer = await api.call('POST', path, { body: { network: 'base', token: 'usdc' } })
    return simulate(answer.body.paymentId)
  }
  /** Sends what waits; answers the subjects of what has arrived since, sorted. */
  const subjects = async () => {
    const { publicUrl, keyring } = api.deps.door.subscriptions
    const deps = { db: api.database.db, keyring, publicUrl, mailer, log: silentLog }
    while ((await sendMails(deps, new AbortController().signal)).rowCount > 0);
    return smtp.received
      .splice(0)
      .map(({ mail }) => mail.subject ?? '')
      .sort()
  }

  const REMINDERS = ['in 3 days', 'in 7 days', 'tomorrow'].map(
    (days) => `[Test] Thing: $10.50 due ${days}`,
  )

  test('opened with the first credited payment, then reminders, past due, the end; each once, a renewed period’s anew', {
    timeout: 60_000,
  }, async () => {
    const { subscription, paymentId } = await subscribe({ buyerEmail: "o'brien+tea@example.com" })
    assert.deepEqual(await subjects(), [], 'anybody could name anybody in a checkout')
    await simulate(paymentId)
    assert.deepEqual(await subjects(), ['[Test] Your subscription to Thing'])
    const { subscriptionId, renewUrl } = subscription
    const path = `/v1/stores/${seller.store.storeId}/subscriptions/${subscriptionId}`
    for (let period = 0; period < 2; period += 1) {
      const { nextDueAt } = (await api.call('GET', path, { key: seller.keys.test.secret })).body
      await advance(subscriptionId, Date.parse(nextDueAt) + DAY_MS)
      assert.deepEqual(await subjects(), [
        ...REMINDERS,
        '[Test] Thing: payment of $10.50 is past due',
      ])
      await renew(renewUrl)
      assert.deepEqual(await subjects(), [])
    }
    const { nextDueAt } = (await api.call('GET', path, { key: seller.keys.test.secret })).body
    await advance(subscriptionId, Date.parse(nextDueAt) + 300 * DAY_MS)
    assert.deepEqual(await subjects(), [
      ...REMINDERS,
      '[Test] Thing: payment of $10.50 is past due',
      '[Test] Your subscription to Thing has ended',
    ])
  })

  test('each goes to the buyer alone, from the seller’s name, with the link that its List-Unsubscribe names; the last has none', async () => {
    const { subscription, paymentId } = await subscribe({ buyerEmail: 'ann@example.com' })
    await simulate(paymentId)
    await advance(subscription.subscriptionId, Date.now() + 300 * DAY_MS)
    const { publicUrl, keyring } = api.deps.door.subscriptions
    const deps = { db: api.database.db, keyring, publicUrl, mailer, log: silentLog }
    while ((await sendMails(deps, new AbortController().signal)).rowCount > 0);
    assert.equal(smtp.received.length, 6)
    for (const { mail, to } of smtp.received) {
      assert.deepEqual(to, ['ann@example.com'])
      assert.deepEqual([mail.from?.name, mail.from?.address], ['Tea House', 'payments@pay.example'])
      const isLast = mail.subject?.includes('has ended')
      const unsubscribe = mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value
      assert.equal(unsubscribe, isLast ? undefined : `<${subscription.renewUrl}>`)
      assert.equal(mail.text?.includes(subscription.renewUrl), !isLast)
      assert.equal(mail.html?.includes(`href="${subscription.renewUrl}"`), !isLast)
    }
  })

  test('who follows List-Unsubscribe and cancels gets nothing more, nor what was waiting to be sent', async () => {
    const { subscription, paymentId } = await subscribe({ buyerEmail: 'ann@example.com' })
    await simulate(paymentId)
    await subjects()
    const { body: renewal } = await api.call(
      'GET',
      `/v1/renewals/${subscription.renewUrl.split('/').at(-1)}`,
    )
    await api.database.db`
      insert into requests (request_id, kind, subject, body)
      select concat('req_', subscription_id), 'mail', concat('subscription-reminder:', subscription_id),
        jsonb_build_object('template', 'subscription-reminder', 'subscriptionId', subscription_id,
          'dueAt', ${renewal.nextDueAt}::text,
          'daysUntilDue', 40)
      from subscriptions
      where subscription_id = ${subscription.subscriptionId}`
    const { pathname } = new URL(subscription.renewUrl)
    const page = await fetch(`${api.url}${pathname}`)
    assert.match(await page.text(), new RegExp(`action="${pathname}/cancel"`))
    await fetch(`${api.url}${pathname}/cancel`, { method: 'POST', redirect: 'manual' })
    await advance(subscription.subscriptionId, Date.now() + 300 * DAY_MS)
    assert.deepEqual(await subjects(), [])
  })

  test('a seller who was suspended or banned writes to nobody through us', async () => {
    const { subscription, paymentId } = await subscribe({ buyerEmail: 'ann@example.com' })
    await simulate(paymentId)
    const { db } = api.database
    const setStatus = (status: string) =>
      db`update accounts set status = ${status} where account_id = ${seller.account.accountId}`
    await setStatus('BANNED')
    assert.deepEqual(await subjects(), [])
    await setStatus('SUSPENDED')
    const due = Date.parse(
      (await advance(subscription.subscriptionId, Date.now() + DAY_MS)).nextDueAt,
    )
    await advance(subscription.subscriptionId, due)
    assert.deepEqual(await subjects(), [])
    await setStatus('ACTIVE')
    await advance(subscription.subscriptionId, due + 300 * DAY_MS)
    assert.deepEqual(await subjects(), ['[Test] Your subscription to Thing has ended'])
  })

  test('a buyer who left no address is not written to, and the events are told all the same', async () => {
    const { subscription, paymentId } = await subscribe({})
    await simulate(paymentId)
    await advance(subscription.subscriptionId, Date.now() + 300 * DAY_MS)
    assert.deepEqual(await subjects(), [])
    const [told] = await api.database.db<{ count: number }[]>`
      select count(*)::integer as count from events
      where subscription_id = ${subscription.subscriptionId} and type like 'subscription.%'`
    assert.equal(told?.count, 7)
  })
})
