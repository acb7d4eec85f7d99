import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSolanaRpc } from '@solana/kit'
import type { SolanaNode } from '#shared/start/solana/node.ts'
import { associatedAccount, transfer } from '#shared/start/solana/token.ts'
import { randomSolanaAddress, type SvmChain, startSvmChain } from '../support/svm.ts'
import { until } from '../support/until.ts'

/** The part of the tests that stands for a Solana node is itself held to what real ones answer. */
const timeout = 30_000
let chain: SvmChain
before(
  async () => {
    chain = await startSvmChain()
  },
  { timeout },
)
after(() => chain.stop())

type Answer = { result?: unknown; error?: { code: number; message: string } }

async function call(method: string, params: unknown[] = [], node = chain.node): Promise<Answer> {
  const response = await fetch(node.httpUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  })
  return (await response.json()) as Answer
}

async function codeOf(method: string, params: unknown[], node?: SolanaNode): Promise<number> {
  return (await call(method, params, node)).error?.code ?? 0
}

const confirmed = { commitment: 'confirmed' }

test('it serves @solana/kit', async () => {
  const rpc = createSolanaRpc(chain.node.httpUrl)
  assert.equal(await rpc.getGenesisHash().send(), chain.ledger.genesisHash)
  const slot = await rpc.getSlot({ commitment: 'confirmed' }).send()
  const block = await rpc
    .getBlock(slot, { ...{ commitment: 'confirmed', transactionDetails: 'none' }, rewards: false })
    .send()
  assert.equal(block?.blockhash, chain.ledger.at('confirmed').blockhash)
  const account = await associatedAccount(chain.buyer.address, chain.mints.usdc)
  const { value } = await rpc.getTokenAccountBalance(account, { commitment: 'confirmed' }).send()
  assert.ok(BigInt(value.amount) > 0n)
})

test('the real token program refuses what it should: a failed transaction is in its block', async () => {
  const { buyer, mints } = chain
  const from = await associatedAccount(buyer.address, mints.usdc)
  const signature = await chain.submit([
    transfer({ from, to: from, owner: buyer, amount: 10n ** 19n - 1n }),
  ])
  const block = chain.ledger.produce()
  const failed = block.transactions.find((one) => one.signature === signature)
  assert.notEqual(failed?.error, null)
  assert.deepEqual(failed?.postTokenBalances, failed?.preTokenBalances)
})

test('processed, confirmed and finalized are three places', () => {
  chain.produce(40)
  const [processed, sure, final] = (['processed', 'confirmed', 'finalized'] as const).map(
    (commitment) => chain.ledger.at(commitment).height,
  )
  assert.equal(Number(processed) - Number(sure), 1)
  assert.equal(Number(processed) - Number(final), 31)
})

test('a skipped slot, one to come and one cleaned up are told apart', async () => {
  const node = await chain.addNode()
  chain.ledger.skip(1)
  const hole = chain.ledger.tip.slot + 1
  chain.produce(3)
  assert.equal(await codeOf('getBlock', [hole, confirmed]), -32_007)
  assert.equal(await codeOf('getBlock', [hole + 1_000, confirmed]), -32_004)
  node.faults.prunedBelow = hole
  assert.equal(await codeOf('getBlock', [hole - 5, confirmed], node), -32_001)
  const { result } = await call('getBlocks', [hole - 1, hole + 1, confirmed])
  assert.deepEqual(result, [hole - 1, hole + 1])
})

test('a lagging node answers nothing of what it has not seen, and says so only when asked to', async () => {
  const node = await chain.addNode()
  node.faults.lagBlocks = 5
  const to = await randomSolanaAddress()
  await chain.pay({ to, amountBaseUnits: 1n })
  const account = await associatedAccount(to, chain.mints.usdc)
  const minContextSlot = chain.ledger.at('confirmed').slot
  assert.deepEqual((await call('getSignaturesForAddress', [account, confirmed], node)).result, [])
  const strict = { ...confirmed, minContextSlot }
  assert.equal(await codeOf('getSignaturesForAddress', [account, strict], node), -32_016)
})

test('a transaction of version 1 is refused to whoever does not know it', async () => {
  const to = await randomSolanaAddress()
  const signature = await chain.pay({ to, amountBaseUnits: 1n, version: 1 })
  const { slot } = chain.ledger.at('confirmed')
  assert.equal(await codeOf('getBlock', [slot, confirmed]), -32_015)
  const old = { ...confirmed, maxSupportedTransactionVersion: 0 }
  assert.equal(await codeOf('getTransaction', [signature, old]), -32_015)
  const fit = { ...confirmed, maxSupportedTransactionVersion: 1 }
  const { result } = await call('getTransaction', [signature, fit])
  assert.equal((result as { version: unknown }).version, 1)
})

test('signatures of an address come newest first, and page', async () => {
  const to = await randomSolanaAddress()
  const sent: string[] = []
  for (let index = 0; index < 4; index += 1) sent.push(await chain.pay({ to, amountBaseUnits: 1n }))
  const account = await associatedAccount(to, chain.mints.usdc)
  const list = async (config: object) => {
    const { result } = await call('getSignaturesForAddress', [account, { ...confirmed, ...config }])
    return (result as { signature: string }[]).map(({ signature }) => signature)
  }
  const newest = sent.toReversed()
  assert.deepEqual(await list({}), newest)
  assert.deepEqual(await list({ limit: 2 }), newest.slice(0, 2))
  assert.deepEqual(await list({ before: newest[1] }), newest.slice(2))
  assert.deepEqual(await list({ until: newest[2] }), newest.slice(0, 2))
})

test('a fork forgets blocks and balances, and the same transaction lands again', async () => {
  const to = await randomSolanaAddress()
  const account = await associatedAccount(to, chain.mints.usdc)
  const before = chain.ledger.checkpoint()
  await chain.pay({ to, amountBaseUnits: 5n })
  const left = chain.ledger.blocks.at(-2)
  chain.ledger.rewind(before)
  assert.equal(chain.ledger.account(account, chain.ledger.tip.slot), undefined)
  chain.ledger.submit(left?.transactions[0]?.wire ?? new Uint8Array())
  const again = chain.ledger.produce()
  assert.equal(again.slot, left?.slot)
  assert.notEqual(again.blockhash, left?.blockhash)
  assert.equal(again.transactions[0]?.signature, left?.transactions[0]?.signature)
})

test('slots and accounts are told over the websocket, until they are not', {
  timeout,
}, async () => {
  const to = await randomSolanaAddress()
  const account = await associatedAccount(to, chain.mints.usdc)
  const told: string[] = []
  const socket = new WebSocket(chain.node.wsUrl)
  await new Promise((done) => socket.addEventListener('open', done))
  socket.addEventListener('message', ({ data }) => {
    told.push(JSON.parse(String(data)).method ?? 'answer')
  })
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'slotSubscribe', params: [] }))
  const params = [account, { commitment: 'confirmed', encoding: 'base64' }]
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'accountSubscribe', params }))
  await until(() => told.length === 2, { what: 'both subscriptions' })
  await chain.pay({ to, amountBaseUnits: 5n })
  await until(() => told.includes('accountNotification'), { what: 'the account is told of' })
  assert.ok(told.includes('slotNotification'))
  chain.node.faults.isMute = true
  const before = told.length
  await chain.pay({ to, amountBaseUnits: 6n })
  assert.equal((await call('getHealth')).result, 'ok')
  assert.equal(told.length, before)
  chain.node.faults.isMute = false
  const closed = new Promise((done) => socket.addEventListener('close', done))
  chain.node.cutWebsockets()
  await closed
  await until(() => chain.node.subscriptionCount === 0, { what: 'its subscriptions end' })
})
