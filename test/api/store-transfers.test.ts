import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { commitAudit } from '../../indexer/audit.ts'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { randomHash, seedTransfer } from '../support/chain-rows.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { until } from '../support/until.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  const { db } = api.database
  seller = await seedStore(db)
  await db`
    insert into deployments (deployment, confirmations, block_number, audited_number, epoch)
    values ('base:test', 12, 500, 480, 1)`
})
after(() => api.close())

function ask(method: string, path: string, body?: unknown, of: SeededStore = seller) {
  const options = body === undefined ? {} : { body }
  return api.call(method, `/v1/stores/${of.store.storeId}/transfers${path}`, {
    key: of.keys.test.secret,
    ...options,
  })
}

async function checkout(of: SeededStore = seller, changes: object = {}) {
  const body = {
    publishableKey: of.keys.test.publishable,
    priceId: of.price.priceId,
    ...{ network: 'base', token: 'usdc' },
    ...changes,
  }
  const answer = await api.call('POST', '/v1/checkout', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

async function paymentOf(paymentId: string) {
  const key = seller.keys.test.secret
  return (
    await api.call('GET', `/v1/stores/${seller.store.storeId}/payments/${paymentId}`, { key })
  ).body
}

/** What the follower does when it reads blocks at depth again. */
async function audit(number: number) {
  const { db } = api.database
  const deployment = api.config.deployments.get('base:test')
  assert.ok(deployment)
  const deps = { db, deployment, settings: api.deps.door, log: silentLog }
  const last = { number, hash: randomHash(), parentHash: randomHash(), timeMs: Date.now() }
  await commitAudit(deps, { from: 481, last, position: 500, epoch: 1 }, [])
}

test('GET lists transfers exactly, newest first, by state, without what left the chain', async () => {
  const own = await seedStore(api.database.db)
  const first = await seedTransfer(api.database.db, [own], { amountBaseUnits: 1n, reason: 'DUST' })
  await seedTransfer(api.database.db, [own], { state: 'RETRACTED' })
  await seedTransfer(api.database.db, [own], { mode: 'live' })
  const second = await seedTransfer(api.database.db, [own], { amountBaseUnits: 10_000_001n })
  const { status, body, text } = await ask('GET', '', undefined, own)
  assert.equal(status, 200, text)
  const ids = body.data.map((row: { transferId: string }) => row.transferId)
  assert.deepEqual(ids, [second.transferId, first.transferId])
  const { seenAt, ...rest } = body.data[1]
  assert.ok(seenAt)
  assert.deepEqual(rest, {
    ...first,
    ...{ state: 'UNMATCHED', reason: 'DUST', candidates: [], network: 'base', token: 'usdc' },
    ...{ mode: 'test', logIndex: 7, blockNumber: 100, from: 'sender' },
    address: own.wallets[0]?.address,
    ...{ amount: '0.000001', amountBaseUnits: '1', decimals: 6 },
  })
  assert.equal(body.data[0].amount, '10.000001')
  const waiting = await ask('GET', '?state=UNMATCHED&limit=1', undefined, own)
  assert.deepEqual(waiting.body.data, [body.data[0]])
  const cursor = waiting.body.nextCursor
  const next = await ask('GET', `?state=UNMATCHED&limit=1&cursor=${cursor}`, undefined, own)
  assert.deepEqual([next.body.data, next.body.hasMore], [[body.data[1]], false])
  assert.deepEqual((await ask('GET', '?state=MATCHED', undefined, own)).body.data, [])
  const foreign = await ask('GET', `?state=RESOLVED&cursor=${cursor}`, undefined, own)
  assertError(foreign, 400, 'invalid_request', 'cursor')
})

test('GET hides the payments of other stores among the candidates', async () => {
  const other = await seedStore(api.database.db)
  const mine = await checkout()
  const theirs = await checkout(other)
  const candidates = [theirs.paymentId, mine.paymentId]
  await seedTransfer(api.database.db, [seller, other], { reason: 'AMBIGUOUS', candidates })
  const [seen] = (await ask('GET', '?limit=1')).body.data
  assert.deepEqual(seen.candidates, [mine.paymentId])
  const [seenThere] = (await ask('GET', '?limit=1', undefined, other)).body.data
  assert.deepEqual(seenThere.candidates, [theirs.paymentId])
})

test('POST attach 200 detects the payment, and the next second reading settles it however old the block', async () => {
  const { db } = api.database
  const neighbour = await seedStore(db)
  const payment = await checkout()
  const amountBaseUnits = BigInt(payment.amountBaseUnits)
  const options = { amountBaseUnits, blockNumber: 300, reason: 'LATE' as const, isFinal: true }
  const { transferId, txHash } = await seedTransfer(db, [seller, neighbour], options)
  const path = `/${transferId}/attach`
  const answer = await ask('POST', path, { paymentId: payment.paymentId })
  assert.equal(answer.status, 200, answer.text)
  const { state, paymentId, reason, candidates } = answer.body
  assert.deepEqual(
    { state, paymentId, reason, candidates },
    {
      ...{ state: 'MATCHED', paymentId: payment.paymentId },
      ...{ reason: undefined, candidates: undefined },
    },
  )
  assert.deepEqual((await ask('GET', '', undefined, neighbour)).body.data, [])
  const detected = await paymentOf(payment.paymentId)
  assert.equal(detected.status, 'DETECTED')
  assert.equal(detected.txHash, txHash)
  assert.equal(detected.receivedAmountBaseUnits, payment.amountBaseUnits)
  assert.deepEqual(detected.transfers, [answer.body])
  const again = await ask('POST', path, { paymentId: payment.paymentId })
  assert.deepEqual([again.status, again.body], [200, answer.body])

  await audit(485)
  assert.equal((await paymentOf(payment.paymentId)).status, 'CONFIRMED')
  const events = await db<{ type: string }[]>`
    select type from events where payment_id = ${payment.paymentId} order by order_key`
  assert.deepEqual(
    events.map(({ type }) => type),
    ['payment.detected', 'payment.confirmed'],
  )
})

test('POST attach waits for the payment before it takes the transfer, as blocks and reorganisations do', async () => {
  const { db } = api.database
  const payment = await checkout()
  const { transferId } = await seedTransfer(db, [seller], {
    amountBaseUnits: BigInt(payment.amountBaseUnits),
  })
  let attached: ReturnType<typeof ask> | undefined
  await db.begin(async (tx) => {
    await tx`select from payments where payment_id = ${payment.paymentId} for update`
    attached = ask('POST', `/${transferId}/attach`, { paymentId: payment.paymentId })
    await until(
      async () => {
        const rows = await db`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        return rows.length > 0
      },
      { what: 'the attach waits' },
    )
    await tx`select set_config('lock_timeout', '200ms', true)`
    await tx`update transfers set is_held = is_held where transfer_id = ${transferId}`
  })
  const answer = await attached
  assert.equal(answer?.status, 200, answer?.text ?? '')
})

test('POST attach of dust is credited without a word', async () => {
  const payment = await checkout()
  const { transferId } = await seedTransfer(api.database.db, [seller], { amountBaseUnits: 5n })
  const answer = await ask('POST', `/${transferId}/attach`, { paymentId: payment.paymentId })
  assert.equal(answer.status, 200, answer.text)
  const seen = await paymentOf(payment.paymentId)
  assert.deepEqual([seen.status, seen.receivedAmount], ['PENDING', '0.000005'])
})

test('POST attach 404 for transfers and payments that are not the caller’s', async () => {
  const { db } = api.database
  const other = await seedStore(db)
  const theirs = await checkout(other)
  const mine = await checkout()
  const { transferId } = await seedTransfer(db, [seller])
  const foreign = await seedTransfer(db, [other])
  const gone = await seedTransfer(db, [seller], { state: 'RETRACTED' })
  const live = await seedTransfer(db, [seller], { mode: 'live' })
  const body = { paymentId: mine.paymentId }
  for (const id of [
    newId('trf'),
    'x',
    'trf_%00',
    ...[foreign, gone, live].map((t) => t.transferId),
  ]) {
    assertError(await ask('POST', `/${id}/attach`, body), 404, 'transfer_not_found')
    assertError(await ask('POST', `/${id}/resolve`, { note: 'n' }), 404, 'transfer_not_found')
  }
  for (const paymentId of [newId('pay'), 'x', theirs.paymentId]) {
    const answer = await ask('POST', `/${transferId}/attach`, { paymentId })
    assertError(answer, 404, 'payment_not_found', 'paymentId')
  }
})

test('POST attach 422 token_not_accepted when the payment waits elsewhere', async () => {
  const payment = await checkout()
  for (const options of [{ token: 'usdt' }, { network: 'polygon' }, { contract: '0xB' }]) {
    const { transferId } = await seedTransfer(api.database.db, [seller], options)
    const answer = await ask('POST', `/${transferId}/attach`, { paymentId: payment.paymentId })
    assertError(answer, 422, 'token_not_accepted', 'paymentId')
  }
})

test('POST attach 409 not_open when the payment has ended, or the transfer belongs to another', async () => {
  const ended = await checkout()
  await api.call('POST', `/v1/payments/${ended.paymentId}/cancel`)
  const { transferId } = await seedTransfer(api.database.db, [seller])
  const late = await ask('POST', `/${transferId}/attach`, { paymentId: ended.paymentId })
  assertError(late, 409, 'not_open', 'paymentId')
  const [one, other] = [await checkout(), await checkout()]
  assert.equal(
    (await ask('POST', `/${transferId}/attach`, { paymentId: one.paymentId })).status,
    200,
  )
  const twice = await ask('POST', `/${transferId}/attach`, { paymentId: other.paymentId })
  assertError(twice, 409, 'not_open')
  assertError(await ask('POST', `/${transferId}/resolve`, { note: 'n' }), 409, 'not_open')
})

test('two stores that attach the same transfer at once: one payment gets it', async () => {
  const { db } = api.database
  const other = await seedStore(db)
  for (let round = 0; round < 5; round += 1) {
    const { transferId } = await seedTransfer(db, [seller, other])
    const payments = [await checkout(), await checkout(other)]
    const answers = await Promise.all([
      ask('POST', `/${transferId}/attach`, { paymentId: payments[0].paymentId }),
      ask('POST', `/${transferId}/attach`, { paymentId: payments[1].paymentId }, other),
    ])
    const statuses = answers.map(({ status }) => status).sort()
    assert.ok(statuses[0] === 200 && [404, 409].includes(statuses[1] ?? 0), `${statuses}`)
    const rows = await db`select from inbox where transfer_id = ${transferId}`
    assert.equal(rows.length, 1)
  }
})

test('POST resolve 200 takes a transfer off this store’s list alone, and it can be attached still', async () => {
  const { db } = api.database
  const other = await seedStore(db)
  const { transferId } = await seedTransfer(db, [seller, other])
  const answer = await ask('POST', `/${transferId}/resolve`, { note: 'refunded in 0xabc' })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.body.state, 'RESOLVED')
  assert.equal(answer.body.note, 'refunded in 0xabc')
  assert.ok(answer.body.resolvedAt)
  assert.deepEqual((await ask('GET', '?state=RESOLVED')).body.data[0], answer.body)
  const there = (await ask('GET', '', undefined, other)).body.data[0]
  assert.deepEqual([there.transferId, there.state], [transferId, 'UNMATCHED'])
  assertError(await ask('POST', `/${transferId}/resolve`, {}), 400, 'invalid_request', 'note')
  const { paymentId } = await checkout()
  assert.equal((await ask('POST', `/${transferId}/attach`, { paymentId })).body.state, 'MATCHED')
})
