import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createKeyring } from '#shared/crypto.ts'
import { silentLog } from '#shared/log.ts'
import { simulatePayment } from '#shared/payments/service.ts'
import { remindSubscriptions } from '../../dispatcher/remind.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

describe('subscriptions under contention', () => {
  let api: TestApi
  let seller: SeededStore
  before(
    async () => {
      api = await startTestApi()
      seller = await seedStore(api.database.db, { price: { interval: 'WEEK' } })
    },
    { timeout: 60_000 },
  )
  after(() => api.close())

  async function subscribe() {
    const { body } = await api.call('POST', '/v1/checkout', {
      body: {
        ...{ publishableKey: seller.keys.test.publishable, priceId: seller.price.priceId },
        ...{ network: 'base', token: 'usdc' },
      },
    })
    const [row] = await api.database.db<{ subscriptionId: string; body: string }[]>`
      select e.subscription_id, e.body
      from events e
      join payments p on p.subscription_id = e.subscription_id
      where p.payment_id = ${body.paymentId} and e.type = 'subscription.created'`
    assert.ok(row)
    const token: string = JSON.parse(row.body).data.renewUrl.split('/').at(-1)
    return { subscriptionId: row.subscriptionId, paymentId: body.paymentId as string, token }
  }
  const renew = async (token: string): Promise<string> => {
    const body = { network: 'base', token: 'usdc' }
    return (await api.call('POST', `/v1/renewals/${token}/checkout`, { body })).body.paymentId
  }
  const end = (paymentId: string, outcome: string) =>
    api.call('POST', `/v1/test/payments/${paymentId}/simulate`, { body: { outcome } })
  const read = async (subscriptionId: string) => {
    const [row] = await api.database.db<{ status: string; periodCount: number }[]>`
      select status, period_count from subscriptions where subscription_id = ${subscriptionId}`
    return row && { ...row }
  }

  test('the last two open payments of a first period, lapsing at once, end it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { subscriptionId, paymentId, token } = await subscribe()
      const other = await renew(token)
      await Promise.all([end(paymentId, 'EXPIRED'), end(other, 'EXPIRED')])
      assert.deepEqual(await read(subscriptionId), { status: 'EXPIRED', periodCount: 0 })
    }
  })

  test('payments credited while due dates pass and dispatchers look: each pays one period, nothing is told twice', {
    timeout: 60_000,
  }, async () => {
    const { subscriptionId, paymentId, token } = await subscribe()
    await end(paymentId, 'CONFIRMED')
    const { db } = api.database
    await db`
      update subscriptions set
        next_due_at = next_due_at - interval '8 days',
        anchor_at = anchor_at - interval '8 days',
        next_action_at = service_now() - interval '1 day'
      where subscription_id = ${subscriptionId}`
    const payments: string[] = []
    for (let count = 0; count < 6; count += 1) payments.push(await renew(token))
    const deps = { db, door: api.deps.door, log: silentLog }
    await Promise.all([
      ...payments.map((id) => end(id, 'CONFIRMED')),
      ...payments.map(() => remindSubscriptions(deps)),
    ])
    assert.deepEqual(await read(subscriptionId), { status: 'ACTIVE', periodCount: 7 })
    const [told] = await db<{ renewed: number; pastDue: number }[]>`
      select count(*) filter (where type = 'subscription.renewed')::integer as renewed,
        count(*) filter (where type = 'subscription.past_due')::integer as past_due
      from events where subscription_id = ${subscriptionId}`
    assert.equal(told?.renewed, 6)
    assert.ok(told.pastDue <= 2, 'at most for the two due dates that had passed')
  })

  test('grace does not end while a payment that was begun in it is open, and that payment renews', {
    timeout: 60_000,
  }, async () => {
    const { db } = api.database
    const look = async (subscriptionId: string) => {
      await db`
        update subscriptions set next_action_at = service_now()
        where subscription_id = ${subscriptionId}`
      await remindSubscriptions({ db, door: api.deps.door, log: silentLog })
      return (await read(subscriptionId))?.status
    }
    const inGrace = async (endsIn: string) => {
      const { subscriptionId, paymentId, token } = await subscribe()
      await end(paymentId, 'CONFIRMED')
      await db`
        update subscriptions set
          status = 'PAST_DUE',
          next_due_at = service_now() - interval '7 days' + ${endsIn}::interval
        where subscription_id = ${subscriptionId}`
      return { subscriptionId, token }
    }
    const endGrace = (subscriptionId: string) => db`
      update subscriptions set next_due_at = service_now() - interval '7 days'
      where subscription_id = ${subscriptionId}`
    const paid = await inGrace('1 hour')
    const payment = await renew(paid.token)
    await endGrace(paid.subscriptionId)
    assert.equal(await look(paid.subscriptionId), 'PAST_DUE')
    await db`update payments set status = 'DETECTED' where payment_id = ${payment}`
    assert.equal(await look(paid.subscriptionId), 'PAST_DUE')
    const renewal = await api.call('GET', `/v1/renewals/${paid.token}`)
    assert.equal(renewal.body.paymentId, payment, 'nobody should pay twice unawares')
    await end(payment, 'CONFIRMED')
    assert.equal((await read(paid.subscriptionId))?.status, 'ACTIVE')

    const lapsed = await inGrace('1 hour')
    const unpaid = await renew(lapsed.token)
    await endGrace(lapsed.subscriptionId)
    assert.equal(await look(lapsed.subscriptionId), 'PAST_DUE')
    await end(unpaid, 'EXPIRED')
    assert.equal(await look(lapsed.subscriptionId), 'EXPIRED')

    const late = await inGrace('-1 minute')
    await renew(late.token)
    assert.equal(await look(late.subscriptionId), 'EXPIRED', 'it was begun after grace')
  })

  test('a payment beyond the end of the calendar is credited, and fails nobody’s block', async () => {
    const { subscriptionId, paymentId, token } = await subscribe()
    await end(paymentId, 'CONFIRMED')
    await api.database.db`
      update subscriptions set period_count = 1000000 where subscription_id = ${subscriptionId}`
    for (let count = 0; count < 2; count += 1) {
      assert.equal((await end(await renew(token), 'CONFIRMED')).status, 200)
    }
    const renewal = await api.call('GET', `/v1/renewals/${token}`)
    assert.equal(renewal.body.nextDueAt, '9999-12-31T23:59:59.999Z')
  })

  test('a payment is credited even where the key of its subscription’s link is missing', async () => {
    const { subscriptionId, paymentId } = await subscribe()
    const broken = { ...api.deps.door.subscriptions, keyring: createKeyring(new Uint8Array(32)) }
    const door = { ...api.deps.door, subscriptions: broken }
    await simulatePayment(api.database.db, paymentId, 'CONFIRMED', door)
    const [event] = await api.database.db<{ body: string }[]>`
      select body from events
      where event_id = ${`${subscriptionId}:subscription.activated`}`
    assert.equal(JSON.parse(event?.body ?? '').data.renewUrl, undefined)
    assert.deepEqual(await read(subscriptionId), { status: 'ACTIVE', periodCount: 1 })
  })
})
