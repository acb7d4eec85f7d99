import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import {
  randomEvmAddress,
  type SeededStore,
  type SeedPrice,
  seedPrice,
  seedStore,
} from '../support/seed.ts'

/** Subscriptions through the API alone, on their own clock: `POST /v1/test/subscriptions/{id}/advance`. */
describe('the life of a subscription', () => {
  let api: TestApi
  let seller: SeededStore
  before(async () => {
    api = await startTestApi()
    seller = await seedStore(api.database.db)
  })
  after(() => api.close())

  const DAY_MS = 86_400_000

  async function subscribe(price: SeedPrice = { interval: 'MONTH' }) {
    const { priceId } = await seedPrice(api.database.db, seller.store.storeId, price)
    const { body: payment, text } = await api.call('POST', '/v1/checkout', {
      body: {
        ...{
          publishableKey: seller.keys.test.publishable,
          priceId,
          network: 'base',
          token: 'usdc',
        },
        ...{ buyerEmail: 'ann@example.com', metadata: { plan: 'gold' } },
      },
    })
    const [row] = await api.database.db<{ subscriptionId: string }[]>`
      select subscription_id from payments where payment_id = ${payment.paymentId}`
    assert.ok(row, text)
    return { subscriptionId: row.subscriptionId, paymentId: payment.paymentId, priceId }
  }
  const simulate = async (paymentId: string, outcome = 'CONFIRMED') => {
    const path = `/v1/test/payments/${paymentId}/simulate`
    const answer = await api.call('POST', path, { body: { outcome } })
    assert.equal(answer.status, 200, answer.text)
  }
  const activate = async (price?: SeedPrice) => {
    const made = await subscribe(price)
    await simulate(made.paymentId)
    return made
  }
  const read = async (subscriptionId: string) => {
    const path = `/v1/stores/${seller.store.storeId}/subscriptions/${subscriptionId}`
    return (await api.call('GET', path, { key: seller.keys.test.secret })).body
  }
  const ask = (subscriptionId: string, to: unknown, key = seller.keys.test.secret) =>
    api.call('POST', `/v1/test/subscriptions/${subscriptionId}/advance`, { key, body: { to } })
  const advance = async (subscriptionId: string, to: Date | number) => {
    const answer = await ask(subscriptionId, new Date(to).toISOString())
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  const renew = async (subscriptionId: string) => {
    const { renewUrl } = await read(subscriptionId)
    const path = `/v1/renewals/${renewUrl.split('/').at(-1)}/checkout`
    const answer = await api.call('POST', path, { body: { network: 'base', token: 'usdc' } })
    assert.equal(answer.status, 201, answer.text)
    return answer.body.paymentId
  }
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every event type
  const events = async (subscriptionId: string): Promise<any[]> => {
    const rows = await api.database.db<{ body: string }[]>`
      select body from events
      where subscription_id = ${subscriptionId} and type like 'subscription.%'
      order by order_key`
    return rows.map((row) => JSON.parse(row.body))
  }
  const told = async (subscriptionId: string) =>
    (await events(subscriptionId)).map(({ id }) => id.slice(subscriptionId.length + 1))
  const dateOf = (ms: number | string) => new Date(ms).toISOString().slice(0, 10)

  test('the first credited payment activates it: next due one interval on, and the spec’s fields', async () => {
    const { subscriptionId, paymentId, priceId } = await subscribe()
    assert.equal((await read(subscriptionId)).status, 'PENDING')
    await simulate(paymentId)
    const subscription = await read(subscriptionId)
    assert.equal(subscription.status, 'ACTIVE')
    const [created, activated, ...more] = await events(subscriptionId)
    assert.deepEqual(more, [])
    assert.equal(created.id, `${subscriptionId}:subscription.created`)
    assert.equal(activated.id, `${subscriptionId}:subscription.activated`)
    const fields = {
      ...{ subscriptionId, storeId: seller.store.storeId, mode: 'test', priceId },
      ...{ network: 'base', token: 'usdc', amount: '10.50', interval: 'MONTH' },
      ...{ buyerEmail: 'ann@example.com', metadata: { plan: 'gold' } },
      renewUrl: subscription.renewUrl,
    }
    assert.deepEqual(created.data, { ...fields, status: 'PENDING' })
    assert.deepEqual(activated.data, {
      ...fields,
      ...{ status: 'ACTIVE', nextDueAt: subscription.nextDueAt },
    })
    assert.equal(
      new Date(subscription.nextDueAt).toISOString().slice(10),
      activated.createdAt.slice(10),
    )
  })

  test('OVERPAID activates, UNDERPAID pays nothing and ends the first payment quietly', async () => {
    const over = await subscribe()
    await simulate(over.paymentId, 'OVERPAID')
    assert.equal((await read(over.subscriptionId)).status, 'ACTIVE')
    const under = await subscribe()
    await simulate(under.paymentId, 'UNDERPAID')
    assert.equal((await read(under.subscriptionId)).status, 'EXPIRED')
    assert.deepEqual(await told(under.subscriptionId), ['subscription.created'])
  })

  test('a first payment that expires or is canceled ends it quietly, unless another one is open', async () => {
    const lapsed = await subscribe()
    await simulate(lapsed.paymentId, 'EXPIRED')
    assert.equal((await read(lapsed.subscriptionId)).status, 'EXPIRED')
    assert.deepEqual(await told(lapsed.subscriptionId), ['subscription.created'])
    const retried = await subscribe()
    const second = await renew(retried.subscriptionId)
    await api.call('POST', `/v1/payments/${retried.paymentId}/cancel`)
    assert.equal((await read(retried.subscriptionId)).status, 'PENDING')
    await simulate(second)
    assert.equal((await read(retried.subscriptionId)).status, 'ACTIVE')
  })

  test('a year of months: each reminder, renewal and due date once, counted from the first payment', {
    timeout: 60_000,
  }, async () => {
    const { subscriptionId } = await activate()
    const anchor = new Date((await events(subscriptionId))[1].createdAt)
    const expected = ['subscription.created', 'subscription.activated']
    for (let month = 1; month <= 12; month += 1) {
      const { nextDueAt } = await read(subscriptionId)
      const first = new Date(Date.UTC(anchor.getUTCFullYear(), anchor.getUTCMonth() + month, 1))
      const last = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0))
      const day = Math.min(anchor.getUTCDate(), last.getUTCDate())
      assert.equal(nextDueAt.slice(0, 10), dateOf(last.setUTCDate(day)))
      await advance(subscriptionId, Date.parse(nextDueAt) - 1)
      await simulate(await renew(subscriptionId))
      const date = dateOf(nextDueAt)
      expected.push(...[7, 3, 1].map((days) => `subscription.reminder:${date}:${days}`))
      expected.push(`subscription.renewed:${date}`)
    }
    assert.deepEqual(await told(subscriptionId), expected)
    const reminder = (await events(subscriptionId)).find(
      ({ type }) => type === 'subscription.reminder',
    )
    assert.equal(reminder.data.daysUntilDue, 7)
    assert.equal(reminder.data.status, 'ACTIVE')
    assert.equal(Date.parse(reminder.createdAt), Date.parse(reminder.data.nextDueAt) - 7 * DAY_MS)
  })

  test('unpaid: PAST_DUE at the due date, EXPIRED when grace has run out, in order and once', async () => {
    const { subscriptionId } = await activate({ interval: 'WEEK', intervalCount: 2 })
    const { nextDueAt } = await read(subscriptionId)
    const due = Date.parse(nextDueAt)
    assert.equal((await advance(subscriptionId, due)).status, 'PAST_DUE')
    assert.equal((await advance(subscriptionId, due + 7 * DAY_MS - 1)).status, 'PAST_DUE')
    const ended = await advance(subscriptionId, due + 30 * DAY_MS)
    assert.equal(ended.status, 'EXPIRED')
    assert.equal(Date.parse(ended.endedAt), due + 7 * DAY_MS)
    await advance(subscriptionId, due + 900 * DAY_MS)
    const date = dateOf(due)
    assert.deepEqual((await told(subscriptionId)).slice(2), [
      ...[7, 3, 1].map((days) => `subscription.reminder:${date}:${days}`),
      `subscription.past_due:${date}`,
      'subscription.expired',
    ])
    const past = (await events(subscriptionId)).find(({ type }) => type === 'subscription.past_due')
    assert.equal(past.createdAt, nextDueAt)
    assert.equal(past.data.status, 'PAST_DUE')
    assert.equal(past.data.nextDueAt, nextDueAt)
  })

  test('one long step tells the same as many short ones', async () => {
    const { subscriptionId } = await activate()
    const due = Date.parse((await read(subscriptionId)).nextDueAt)
    await advance(subscriptionId, due + 400 * DAY_MS)
    const types = (await events(subscriptionId)).map(({ type }) => type.split('.')[1])
    const told = 'created activated reminder reminder reminder past_due expired'
    assert.equal(types.join(' '), told)
  })

  test('paid in grace: ACTIVE again, and the next due date is an interval after the previous one', async () => {
    const { subscriptionId } = await activate({ interval: 'WEEK' })
    const due = Date.parse((await read(subscriptionId)).nextDueAt)
    await advance(subscriptionId, due + 5 * DAY_MS)
    await simulate(await renew(subscriptionId))
    const renewed = await read(subscriptionId)
    assert.equal(renewed.status, 'ACTIVE')
    assert.equal(Date.parse(renewed.nextDueAt), due + 7 * DAY_MS)
    assert.equal((await told(subscriptionId)).at(-1), `subscription.renewed:${dateOf(due)}`)
  })

  test('paid early and twice: two periods on, two events, and no reminder of what is paid', async () => {
    const { subscriptionId } = await activate({ interval: 'WEEK', intervalCount: 4 })
    const due = Date.parse((await read(subscriptionId)).nextDueAt)
    const payments = [await renew(subscriptionId), await renew(subscriptionId)]
    for (const paymentId of payments) await simulate(paymentId)
    const renewed = await read(subscriptionId)
    assert.equal(Date.parse(renewed.nextDueAt), due + 56 * DAY_MS)
    await advance(subscriptionId, due + 20 * DAY_MS)
    assert.deepEqual((await told(subscriptionId)).slice(2), [
      `subscription.renewed:${dateOf(due)}`,
      `subscription.renewed:${dateOf(due + 28 * DAY_MS)}`,
    ])
  })

  test('several short periods owed: one payment pays one of them', async () => {
    const { subscriptionId } = await activate({ interval: 'DAY' })
    const due = Date.parse((await read(subscriptionId)).nextDueAt)
    await advance(subscriptionId, due + 3 * DAY_MS)
    await simulate(await renew(subscriptionId))
    assert.equal(Date.parse((await read(subscriptionId)).nextDueAt), due + DAY_MS)
    assert.equal((await advance(subscriptionId, due + 3 * DAY_MS + 60_000)).status, 'PAST_DUE')
  })

  test('a price archived meanwhile still renews, at the amount that was agreed', async () => {
    const { subscriptionId, priceId } = await activate({ interval: 'MONTH', amountCents: 777 })
    await api.database.db`update prices set active = false where price_id = ${priceId}`
    const paymentId = await renew(subscriptionId)
    const { body: payment } = await api.call('GET', `/v1/payments/${paymentId}`)
    assert.equal(payment.amount, '7.77')
    await simulate(paymentId)
    assert.match((await told(subscriptionId)).at(-1) ?? '', /^subscription\.renewed:/)
  })

  test('a payment credited after the end changes nothing but itself', async () => {
    const { subscriptionId } = await activate()
    const paymentId = await renew(subscriptionId)
    const path = `/v1/stores/${seller.store.storeId}/subscriptions/${subscriptionId}/cancel`
    await api.call('POST', path, { key: seller.keys.test.secret })
    await simulate(paymentId)
    assert.equal((await read(subscriptionId)).status, 'CANCELED')
    assert.equal((await told(subscriptionId)).at(-1), 'subscription.canceled')
  })

  test('advanced past its window, a first payment lapses', async () => {
    const { subscriptionId, paymentId } = await subscribe()
    assert.equal((await advance(subscriptionId, Date.now() + 59 * 60_000)).status, 'PENDING')
    assert.equal((await advance(subscriptionId, Date.now() + 61 * 60_000)).status, 'EXPIRED')
    const { body: payment } = await api.call('GET', `/v1/payments/${paymentId}`)
    assert.equal(payment.status, 'EXPIRED')
    assert.deepEqual(await told(subscriptionId), ['subscription.created'])
  })

  test('events of a moved clock wait for nothing: their rows are of our time', async () => {
    const { subscriptionId } = await activate()
    await advance(subscriptionId, Date.now() + 300 * DAY_MS)
    const [row] = await api.database.db<{ late: number }[]>`
      select count(*)::integer as late from events
      where subscription_id = ${subscriptionId} and created_at > service_now()`
    assert.equal(row?.late, 0)
  })

  test('reminder and grace days that the store changes meanwhile count at once, also earlier ones', async () => {
    const wallets = [{ network: 'base', address: randomEvmAddress() }]
    const own = await seedStore(api.database.db, { wallets })
    const before = seller
    seller = own
    const path = `/v1/stores/${own.store.storeId}`
    const key = own.keys.test.secret
    const { subscriptionId } = await activate({ interval: 'MONTH' })
    const due = Date.parse((await read(subscriptionId)).nextDueAt)
    const body = { reminderDays: [20, 2], graceDays: 1 }
    assert.equal((await api.call('PATCH', path, { key, body })).status, 200)
    await advance(subscriptionId, due + 6 * 3_600_000)
    await api.call('PATCH', path, { key, body: { graceDays: 0 } })
    await advance(subscriptionId, due + 7 * 3_600_000)
    const date = dateOf(due)
    assert.deepEqual((await told(subscriptionId)).slice(2), [
      ...[20, 2].map((days) => `subscription.reminder:${date}:${days}`),
      `subscription.past_due:${date}`,
      'subscription.expired',
    ])
    seller = before
  })

  test('400 invalid_request for a time in its past, none, or beyond a century', async () => {
    const { subscriptionId } = await activate()
    await advance(subscriptionId, Date.now() + DAY_MS)
    for (const to of [new Date().toISOString(), 'tomorrow', '2200-01-01T00:00:00Z']) {
      assertError(await ask(subscriptionId, to), 400, 'invalid_request', 'to')
    }
  })

  test('404 subscription_not_found for strangers and the other mode, 400 not_test_mode for live ones', async () => {
    const { subscriptionId } = await activate()
    const to = new Date(Date.now() + DAY_MS).toISOString()
    const stranger = await seedStore(api.database.db)
    assertError(await ask(newId('sub'), to), 404, 'subscription_not_found')
    assertError(
      await ask(subscriptionId, to, stranger.keys.test.secret),
      404,
      'subscription_not_found',
    )
    assertError(
      await ask(subscriptionId, to, seller.keys.live.secret),
      404,
      'subscription_not_found',
    )
    await api.database
      .db`update subscriptions set mode = 'live' where subscription_id = ${subscriptionId}`
    assertError(await ask(subscriptionId, to, seller.keys.live.secret), 400, 'not_test_mode')
  })
})
