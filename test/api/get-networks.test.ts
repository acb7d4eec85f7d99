import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import { randomEvmAddress, seedStore } from '../support/seed.ts'

let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

type Network = {
  network: string
  mode: string
  state: string
  blocksBehind: number | null
  secondsToCatchUp: number | null
}

async function list(): Promise<Network[]> {
  const answer = await api.call('GET', '/v1/networks')
  assert.equal(answer.status, 200, answer.text)
  const { data, ...rest } = answer.body
  assert.deepEqual(rest, { hasMore: false, nextCursor: null })
  return data
}

test('200 lists what runs in live mode and everything in test mode, with its facts', async () => {
  const networks = await list()
  const live = networks.filter(({ mode }) => mode === 'live')
  assert.deepEqual(
    live.map(({ network }) => network),
    ['base'],
  )
  assert.equal(networks.filter(({ mode }) => mode === 'test').length, 8)
  assert.deepEqual(live[0], {
    network: 'base',
    name: 'Base',
    mode: 'live',
    family: 'evm',
    tokens: [
      {
        token: 'usdc',
        contract: api.config.deployments.get('base:live')?.tokens.usdc?.contract,
        decimals: 6,
      },
    ],
    confirmations: 12,
    isOn: true,
    state: 'NOT_RUNNING',
    blockNumber: null,
    headNumber: null,
    blocksBehind: null,
    secondsToCatchUp: null,
  })
})

test('200 says what each deployment is doing, and readyz the same', async () => {
  const { db } = api.database
  const states = async () => {
    const one = (await list()).find(({ network, mode }) => network === 'base' && mode === 'live')
    const ready = await api.call('GET', '/readyz')
    const fault = ready.body.networks.find(
      ({ deployment }: { deployment: string }) => deployment === 'base:live',
    )
    return [one?.state, fault?.state, one?.blocksBehind]
  }
  await db`
    insert into deployments (deployment, confirmations, leader, lease_until, block_number, head_number, head_seen_at)
    values ('base:live', 12, 'me', service_now() + interval '10 seconds', 90, 100, service_now())`
  assert.deepEqual(await states(), ['RUNNING', undefined, 10])
  await db`update deployments set head_seen_at = service_now() - interval '20 seconds'`
  assert.deepEqual(await states(), ['RUNNING', undefined, 10])
  // The same as the indexer's own, and visible to everybody within 30 s.
  await db`update deployments set head_seen_at = service_now() - interval '26 seconds'`
  assert.deepEqual(await states(), ['STALLED', 'STALLED', 10])
  await db`update deployments set lease_until = service_now() - interval '1 second'`
  assert.deepEqual(await states(), ['NOT_RUNNING', 'NOT_RUNNING', 10])
  await db`update deployments set halted_reason = 'chain id differs'`
  assert.deepEqual(await states(), ['HALTED', 'HALTED', 10])
})

test('200 says how long a catch-up will take at its present rate', async () => {
  const { db } = api.database
  await db`
    update deployments set block_number = 100, head_number = 1101, blocks_per_second = 250.5
    where deployment = 'base:live'`
  const one = (await list()).find(({ network, mode }) => network === 'base' && mode === 'live')
  assert.deepEqual([one?.blocksBehind, one?.secondsToCatchUp], [1001, 4])
})

test('readyz names a network that is off, or gone from the table, while payments of the chain’s clock wait on it', async () => {
  const { db } = api.database
  const wallets = ['base', 'polygon'].map((network) => ({ network, address: randomEvmAddress() }))
  const { keys, price } = await seedStore(db, { wallets })
  const checkout = async (network: string) => {
    const publishableKey = keys.test.publishable
    const body = { publishableKey, priceId: price.priceId, network, token: 'usdc' }
    const answer = await api.call('POST', '/v1/checkout', { body })
    assert.equal(answer.status, 201, answer.text)
    return answer.body.paymentId as string
  }
  // Polygon is off from the first: its payments settle by simulate.
  const [waiting] = [await checkout('base'), await checkout('polygon')]
  const off = await startTestApi({ database: api.database, networks: {} })
  const faults = async () => (await off.call('GET', '/readyz')).body.networks
  try {
    assert.deepEqual(await faults(), [{ deployment: 'base:test', state: 'OFF' }])
    await db`insert into deployments (deployment, confirmations) values ('gone:test', 1)`
    await db`update slots set deployment = 'gone:test' where payment_id = ${waiting}`
    assert.deepEqual(await faults(), [{ deployment: 'gone:test', state: 'OFF' }])
    await api.call('POST', `/v1/payments/${waiting}/cancel`)
    assert.deepEqual(await faults(), [])
  } finally {
    await off.stop()
  }
})

test('no endpoint of an RPC is ever shown', async () => {
  const { text } = await api.call('GET', '/v1/networks')
  assert.doesNotMatch(text, /127\.0\.0\.1|rpc/)
})
