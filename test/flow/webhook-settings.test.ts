import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Dispatcher } from '../../dispatcher/dispatcher.ts'
import { dispatch } from '../dispatcher/support.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { isGenuine } from '../support/verify-webhook.ts'

const TIMEOUT_MS = 30_000
let api: TestApi
let dispatcher: Dispatcher
let receiver: Receiver
let seller: SeededStore

before(async () => {
  api = await startTestApi({ config: { webhookAllowPrivate: true } })
  dispatcher = dispatch(api.database, { keyring: api.deps.keyring })
  await dispatcher.ready
  receiver = await startReceiver()
})
after(async () => {
  await dispatcher.stop()
  await receiver.close()
  await api.close()
})
beforeEach(async () => {
  seller = await seedStore(api.database.db)
  receiver.answer(200)
})

const call = (method: string, path: string, body?: unknown) =>
  api.call(method, `/v1/stores/${seller.store.storeId}${path}`, {
    key: seller.keys.live.secret,
    ...(body === undefined ? {} : { body }),
  })
const genuine = ({ headers, rawBody, atMs }: Received, secret: string) =>
  isGenuine(String(headers['x-service-signature']), rawBody, secret, Math.floor(atMs / 1000))
const arrivals = (eventId: string) =>
  receiver.received.filter(({ headers }) => headers['x-service-delivery'] === eventId)
const arrived = (eventId: string, count = 1) =>
  until(() => arrivals(eventId).length >= count && arrivals(eventId), {
    what: `${eventId} to arrive ${count} times`,
    timeoutMs: 10_000,
  })
const sendTest = async (): Promise<string> => (await call('POST', '/webhook/test')).body.id
const delivered = (eventId: string, attemptCount: number) =>
  until(
    async () => {
      const { data } = (await call('GET', '/webhook/deliveries')).body
      return data.find(
        (one: { eventId: string; status: string; attemptCount: number }) =>
          one.eventId === eventId && one.status === 'DELIVERED' && one.attemptCount >= attemptCount,
      )
    },
    { what: `${eventId} to be DELIVERED`, timeoutMs: 10_000 },
  )

test('a test event arrives signed with the secret that PUT showed, is listed, and is sent again on demand', {
  timeout: TIMEOUT_MS,
}, async () => {
  const { secret } = (await call('PUT', '/webhook', { url: receiver.url })).body
  const eventId = await sendTest()
  const [first] = await arrived(eventId)
  assert.ok(first && genuine(first, secret))
  assert.equal(JSON.parse(first.rawBody.toString()).id, eventId)
  const { deliveryId } = await delivered(eventId, 1)

  await call('POST', `/webhook/deliveries/${deliveryId}/resend`)
  const [, second] = await arrived(eventId, 2)
  assert.ok(second && genuine(second, secret))
  assert.deepEqual(second.rawBody, first.rawBody)
  await delivered(eventId, 2)
  const { attempts } = (await call('GET', `/webhook/deliveries/${deliveryId}`)).body
  assert.deepEqual(
    attempts.map(({ responseStatus }: { responseStatus: number }) => responseStatus),
    [200, 200],
  )

  const { data } = (await call('GET', '/events?after=0&mode=live')).body
  assert.deepEqual(
    data.map((event: { id: string; sequence: number }) => [event.id, event.sequence]),
    [[eventId, 1]],
  )
})

test('after a rotation both secrets sign; after another one the first no longer does', {
  timeout: TIMEOUT_MS,
}, async () => {
  const one = (await call('PUT', '/webhook', { url: receiver.url })).body.secret
  const two = (await call('POST', '/webhook/rotate')).body.secret
  const [both] = await arrived(await sendTest())
  assert.ok(both && genuine(both, one) && genuine(both, two))
  const three = (await call('POST', '/webhook/rotate')).body.secret
  const [latest] = await arrived(await sendTest())
  assert.ok(latest && genuine(latest, two) && genuine(latest, three))
  assert.ok(!genuine(latest, one))
})

test('what is pending when the URL is removed arrives at the next URL, signed with its secret', {
  timeout: TIMEOUT_MS,
}, async () => {
  await call('PUT', '/webhook', { url: receiver.url })
  receiver.answer(500)
  const eventId = await sendTest()
  await arrived(eventId)
  await call('DELETE', '/webhook')
  const pending = (await call('GET', '/webhook/deliveries?status=PENDING')).body.data
  assert.deepEqual(
    pending.map((one: { eventId: string }) => one.eventId),
    [eventId],
  )
  receiver.answer(200)
  const { secret } = (await call('PUT', '/webhook', { url: receiver.url })).body
  await call('POST', `/webhook/deliveries/${pending[0].deliveryId}/resend`)
  const [, again] = await arrived(eventId, 2)
  assert.ok(again && genuine(again, secret))
})

test('a replay delivers events from before there was a URL, under their ids', {
  timeout: TIMEOUT_MS,
}, async () => {
  const from = new Date(Date.now() - 60_000)
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) {
    const { body } = await api.call('POST', '/v1/checkout', {
      body: {
        publishableKey: seller.keys.test.publishable,
        amount: 500,
        network: 'base',
        token: 'usdc',
      },
    })
    await api.call('POST', `/v1/test/payments/${body.paymentId}/simulate`)
    ids.push(`${body.paymentId}:payment.confirmed`)
  }
  const key = seller.keys.test.secret
  const path = `/v1/stores/${seller.store.storeId}`
  const numbered = await until(
    async () => {
      const { data } = (await api.call('GET', `${path}/events?after=0`, { key })).body
      return data.length === 3 && data
    },
    { what: 'three events to have their sequence', timeoutMs: 10_000 },
  )
  assert.deepEqual(
    numbered.map(({ id }: { id: string }) => id),
    ids,
  )
  const { secret } = (await call('PUT', '/webhook', { url: receiver.url })).body
  const range = { from, to: new Date(Date.now() + 60_000) }
  const replayed = await api.call('POST', `${path}/webhook/replay`, { key, body: range })
  assert.deepEqual(replayed.body, { replayedCount: 3 })
  for (const id of ids) {
    const [one] = await arrived(id)
    assert.ok(one && genuine(one, secret))
  }
})
