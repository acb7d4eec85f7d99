import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestApi, type TestApi } from '../support/api.ts'
import { seedTransfer } from '../support/chain-rows.ts'
import { runOpsCli } from '../support/cli.ts'
import { seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()
/** Milliseconds: some commands in turn, each a process. */
const timeout = 60_000
const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64')
let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const ops = (words: string[], env: Record<string, string> = { ENCRYPTION_KEY }) =>
  runOpsCli([...words, '--json'], { env: { DATABASE_URL: api.database.url, ...env } })
const done = async (words: string[]) => {
  const { code, out, err } = await ops(words)
  assert.equal(code, 0, err)
  return JSON.parse(out)
}
const refused = async (words: string[], message: RegExp) => {
  const { code, err } = await ops(words)
  assert.equal(code, 1, err)
  assert.match(err, message)
}

/** A payment that a transfer was seen for, which readings of its block differ about. */
async function hold() {
  const { db } = api.database
  const seller = await seedStore(db)
  const key = seller.keys.test.secret
  const body = { publishableKey: seller.keys.test.publishable, amount: 700, network: 'base' }
  const { paymentId, amountBaseUnits } = (
    await api.call('POST', '/v1/checkout', { body: { ...body, token: 'usdc' } })
  ).body
  const { transferId } = await seedTransfer(db, [seller], {
    amountBaseUnits: BigInt(amountBaseUnits),
  })
  const path = `/v1/stores/${seller.store.storeId}/transfers/${transferId}/attach`
  await api.call('POST', path, { key, body: { paymentId } })
  await db`update transfers set is_held = true where transfer_id = ${transferId}`
  const trace = async () => {
    const at = `/v1/stores/${seller.store.storeId}/payments/${paymentId}/trace`
    return (await api.call('GET', at, { key })).text
  }
  const status = async () => (await api.call('GET', `/v1/payments/${paymentId}`)).body.status
  return { paymentId, transferId, trace, status }
}

test('transfer held lists what waits for the operator, and the trace says who decides', {
  timeout,
}, async () => {
  const { paymentId, transferId, trace } = await hold()
  const { transfers } = await done(['transfer', 'held'])
  const one = transfers.find((row: { transferId: string }) => row.transferId === transferId)
  assert.equal(one.paymentId, paymentId)
  assert.equal(one.paymentStatus, 'DETECTED')
  assert.match(await trace(), /ops transfer held/)
  const { err } = await ops(['transfer', 'held'])
  assert.match(err, /block explorer/)
})

test('transfer count lets it count again, once', { timeout }, async () => {
  const { transferId, status } = await hold()
  const { transfer } = await done(['transfer', 'count', transferId])
  assert.deepEqual([transfer.state, transfer.isHeld], ['MATCHED', false])
  assert.equal(await status(), 'DETECTED')
  await refused(['transfer', 'count', transferId], /no held transfer/)
})

test('transfer drop takes it back, and its payment waits again', { timeout }, async () => {
  const { transferId, status, trace } = await hold()
  const { code, err } = await ops(['transfer', 'drop', transferId], {})
  assert.deepEqual([code, /ENCRYPTION_KEY/.test(err)], [2, true])
  const { transfer } = await done(['transfer', 'drop', transferId])
  assert.deepEqual([transfer.state, transfer.isHeld], ['RETRACTED', false])
  assert.equal(await status(), 'PENDING')
  assert.match(await trace(), /Taken back/)
  await refused(['transfer', 'drop', transferId], /no held transfer/)
})

test('transfer drop leaves what settled a payment', { timeout }, async () => {
  const { transferId } = await hold()
  await api.database.db`update transfers set is_final = true where transfer_id = ${transferId}`
  await refused(['transfer', 'drop', transferId], /never taken back/)
})
