import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { after, before, test } from 'node:test'
import { type Answer, startTestApi, type TestApi } from '../support/api.ts'
import {
  randomEvmAddress,
  type SeededStore,
  seedPrice,
  seedStore,
  seedWallet,
} from '../support/seed.ts'

const LIMIT = 120
let api: TestApi
let replica: TestApi
let seller: SeededStore

before(async () => {
  const trustedProxies = new BlockList()
  trustedProxies.addSubnet('127.0.0.0', 8, 'ipv4')
  const config = { trustedProxies, rateLimitCheckout: LIMIT }
  api = await startTestApi({ config })
  replica = await startTestApi({ config, database: api.database })
  seller = await seedStore(api.database.db)
})
after(async () => {
  await replica.stop()
  await api.close()
})

let clientCount = 0
function newClient(): string {
  clientCount += 1
  return `198.51.100.${clientCount}`
}

function checkout(of: TestApi, body: object, client = newClient()) {
  return of.call('POST', '/v1/checkout', {
    body: {
      publishableKey: seller.keys.test.publishable,
      ...{ priceId: seller.price.priceId, network: 'base', token: 'usdc', ...body },
    },
    headers: { 'X-Forwarded-For': client },
  })
}

test('checkouts that arrive at once are answered each for itself, as they are one by one', async () => {
  const { db } = api.database
  const two = await seedStore(db, {
    wallets: [randomEvmAddress(), randomEvmAddress()].map((address) => ({
      network: 'base',
      address,
    })),
  })
  const bare = await seedStore(db, { wallets: [] })
  const archived = await seedPrice(db, seller.store.storeId, { amountCents: 500 })
  await db`update prices set active = false where price_id = ${archived.priceId}`
  await seedWallet(db, seller.store.storeId, {
    network: 'bnb',
    address: randomEvmAddress(),
  })
  const cases: { body: object; code: string | undefined }[] = [
    { body: {}, code: undefined },
    { body: { network: 'bnb', token: 'usdt' }, code: undefined },
    { body: { metadata: { order: '42' } }, code: undefined },
    { body: { publishableKey: 'pk_test_unknown' }, code: 'invalid_api_key' },
    { body: { priceId: 'price_unknown' }, code: 'price_not_found' },
    { body: { priceId: archived.priceId }, code: 'price_inactive' },
    { body: { network: 'nowhere' }, code: 'network_not_accepted' },
    { body: { priceId: undefined, amount: 500 }, code: undefined },
    { body: { priceId: undefined, amount: 100_000_001 }, code: 'amount_out_of_range' },
    { body: { network: 'polygon' }, code: 'no_wallet' },
    {
      body: { publishableKey: two.keys.test.publishable, priceId: two.price.priceId },
      code: undefined,
    },
    {
      body: { publishableKey: bare.keys.test.publishable, priceId: bare.price.priceId },
      code: 'no_wallet',
    },
  ]
  const alone: Answer[] = []
  for (const { body } of cases) alone.push(await checkout(api, body))
  const together = await Promise.all(
    [...cases, ...cases, ...cases].map(({ body }) => checkout(api, body)),
  )
  together.forEach((answer, index) => {
    const { body, code } = cases[index % cases.length] ?? { body: {}, code: undefined }
    const said = JSON.stringify(body)
    assert.equal(answer.body.error?.code, code, `${said}: ${answer.text}`)
    assert.equal(answer.status, alone[index % cases.length]?.status, said)
    if (code === undefined) {
      const shape = (one: Answer | undefined) => Object.keys(one?.body ?? {}).sort()
      assert.deepEqual(shape(answer), shape(alone[index % cases.length]), said)
    }
  })
  const made = together.filter(({ status }) => status === 201).map(({ body }) => body)
  const slots = new Set(
    made.map(({ network, payTo, amountBaseUnits }) => `${network} ${payTo} ${amountBaseUnits}`),
  )
  assert.equal(slots.size, made.length, 'no two hold one amount')
  const rows = await db<{ paymentId: string; amountBaseUnits: bigint; address: string }[]>`
    select p.payment_id, s.amount_base_units, s.address
    from payments p join slots s on s.payment_id = p.payment_id
    where p.payment_id = any (${made.map(({ paymentId }) => paymentId)})`
  const kept = new Map(rows.map((row) => [row.paymentId, row]))
  for (const { paymentId, amountBaseUnits, payTo } of made) {
    assert.equal(String(kept.get(paymentId)?.amountBaseUnits), amountBaseUnits)
    assert.equal(kept.get(paymentId)?.address.toLowerCase(), payTo.toLowerCase())
  }
})

test('exactly as many as the limit pass, however many replicas are asked at once', async () => {
  const answers = await Promise.all(
    Array.from({ length: LIMIT + 40 }, (_, index) =>
      checkout(index % 2 === 0 ? api : replica, {}, '203.0.113.9'),
    ),
  )
  const statuses = answers.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 201).length, LIMIT)
  assert.equal(statuses.filter((status) => status === 429).length, 40)
  const left = answers
    .filter(({ status }) => status === 201)
    .map(({ headers }) => Number(headers.get('ratelimit-remaining')))
  assert.deepEqual(
    left.sort((one, other) => one - other),
    Array.from({ length: LIMIT }, (_, index) => index),
    'each is told how many are left to it',
  )
})
