import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { localCall } from '#shared/start/tokens/token.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type Lies, LOG_LIES, type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { until } from '../support/until.ts'

const RECIPIENT = '0x1111111111111111111111111111111111111111'
type Log = { logIndex: string; removed: boolean; blockHash: string; blockTimestamp?: string }

let chain: TestChain
let rpc: LyingRpc
let head: { number: number; hash: string }

describe('the lying RPC', () => {
  before(async () => {
    chain = await startTestChain()
    rpc = await startLyingRpc(chain)
    const payments = [1n, 2n, 3n].map((amountBaseUnits) => ({ to: RECIPIENT, amountBaseUnits }))
    await chain.payBatch(chain.tokens.usdc, payments)
    head = await chain.head()
  })
  after(async () => {
    await rpc.stop()
    await chain.stop()
  })
  afterEach(() => rpc.lie())

  const ask = <T>(method: string, params: unknown[] = []) =>
    localCall<T>(rpc.httpUrl, method, params)
  const askLogs = () => ask<Log[]>('eth_getLogs', [{ blockHash: head.hash }])

  it('tells the truth unless told otherwise', async () => {
    const logs = await askLogs()
    assert.deepEqual(logs, await chain.call('eth_getLogs', [{ blockHash: head.hash }]))
    assert.equal(logs.length, 3)
  })

  it('plays every lie about logs', async () => {
    const told: Record<string, Log[]> = {}
    for (const [name, logs] of Object.entries(LOG_LIES)) {
      rpc.lie({ logs })
      told[name] = await askLogs()
    }
    assert.equal(told['empty']?.length, 0)
    assert.equal(told['partial']?.length, 2)
    assert.equal(told['duplicated']?.length, 6)
    assert.deepEqual(
      told['reordered']?.map((log) => log.logIndex),
      ['0x2', '0x1', '0x0'],
    )
    assert.equal(told['removed']?.[0]?.removed, true)
    assert.notEqual(told['wrongHash']?.[0]?.blockHash, head.hash)
    assert.equal(told['withoutTime']?.[0]?.blockTimestamp, undefined)
    assert.equal(told['malformed']?.[0]?.logIndex, 'seven')
    assert.equal(Array.isArray(told['notAList']), false)
    assert.equal(Number(told['wrongTime']?.[0]?.blockTimestamp), 1)
    assert.equal(told['truncated']?.length, 1)
    assert.equal(new Set(told['invented']?.map((log) => log.logIndex)).size, 6)
  })

  it('forgets logs, receipts and states of old blocks, and says so', async () => {
    const old = `0x${(head.number - 1).toString(16)}`
    rpc.lie({ historyFrom: head.number, statesFrom: head.number })
    await assert.rejects(ask('eth_getLogs', [{ fromBlock: old, toBlock: old }]), /pruned/)
    await assert.rejects(ask('eth_getBlockReceipts', [old]), /pruned/)
    await assert.rejects(ask('eth_call', [{ to: RECIPIENT }, old]), /state/)
    assert.equal((await askLogs()).length, 3)
    assert.equal(await ask('eth_call', [{ to: RECIPIENT }, 'latest']), '0x')
  })

  it('lags: the head is an earlier one, a range is cut silently, a hash beyond it is unknown', async () => {
    rpc.lie({ headMax: head.number - 1 })
    const block = await ask<{ number: string }>('eth_getBlockByNumber', ['latest', false])
    assert.equal(Number(block.number), head.number - 1)
    assert.equal(Number(await ask('eth_blockNumber')), head.number - 1)
    assert.equal(await ask('eth_getBlockByNumber', [`0x${head.number.toString(16)}`, false]), null)
    const fromBlock = `0x${head.number.toString(16)}`
    assert.deepEqual(await ask('eth_getLogs', [{ fromBlock, toBlock: fromBlock }]), [])
    await assert.rejects(askLogs(), /unknown block/)
  })

  it('refuses: by status, by range, by method, by error', async () => {
    rpc.lie({ status: { status: 429, retryAfterSeconds: 7 } })
    const response = await fetch(rpc.httpUrl, { method: 'POST', body: '{}' })
    assert.equal(response.status, 429)
    assert.equal(response.headers.get('retry-after'), '7')
    const refused: [Lies, RegExp][] = [
      [{ rangeBlocksMax: { blocks: 2 } }, /range 2/],
      [{ missingMethods: ['eth_getLogs'] }, /does not exist/],
      [{ errors: { eth_getLogs: { code: -1, message: 'no' } } }, /no/],
    ]
    for (const [lies, message] of refused) {
      rpc.lie(lies)
      await assert.rejects(ask('eth_getLogs', [{ fromBlock: '0x0', toBlock: '0x2' }]), message)
    }
  })

  it('resets, and hangs for as many requests as it was told', async () => {
    // Deno's fetch sends a request again by itself when a kept connection was reset.
    rpc.lie({ requests: 'reset' })
    await assert.rejects(ask('eth_blockNumber'))
    rpc.lie({ requests: 'hang', requestsLeft: 1 })
    await assert.rejects(localCall(rpc.httpUrl, 'eth_blockNumber', [], 300))
    assert.equal(Number(await ask('eth_blockNumber')), head.number)
  })

  it('falls silent as a black hole does, connections staying open', async () => {
    rpc.blackHole(true)
    await assert.rejects(localCall(rpc.httpUrl, 'eth_blockNumber', [], 300))
    rpc.blackHole(false)
    assert.equal(Number(await ask('eth_blockNumber')), head.number)
  })

  it('passes subscriptions on, and drops notifications when told', async () => {
    const socket = new WebSocket(rpc.wsUrl)
    const heard: { id?: number; method?: string }[] = []
    socket.addEventListener('message', ({ data }) => heard.push(JSON.parse(String(data))))
    await new Promise((done) => socket.addEventListener('open', done))
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}')
    await until(() => heard.length === 1, { what: 'the subscription stands' })
    await chain.mine()
    await until(() => heard.length === 2, { what: 'a head is told' })
    rpc.lie({ droppedNotifications: true })
    await chain.mine()
    socket.send('{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber","params":[]}')
    await until(() => heard.some(({ id }) => id === 2), { what: 'a call is answered' })
    assert.equal(heard.filter(({ method }) => method).length, 1)
    const closed = new Promise((done) => socket.addEventListener('close', done))
    rpc.cut('reset')
    await closed
  })

  it('follows another branch: other hashes, chained, and none of our transactions', async () => {
    await chain.mine(2)
    rpc.lie({ forkFrom: head.number })
    const blocks = await Promise.all(
      [-1, 0, 1].map((offset) => {
        const number = `0x${(head.number + offset).toString(16)}`
        return ask<{ hash: string; parentHash: string }>('eth_getBlockByNumber', [number, false])
      }),
    )
    const [common, first, next] = blocks
    assert.notEqual(first?.hash, head.hash)
    assert.equal(first?.parentHash, common?.hash)
    assert.equal(next?.parentHash, first?.hash)
    const fromBlock = `0x${head.number.toString(16)}`
    assert.deepEqual(await ask('eth_getLogs', [{ fromBlock, toBlock: fromBlock }]), [])
    assert.deepEqual(await ask('eth_getLogs', [{ blockHash: first?.hash }]), [])
    assert.deepEqual(await ask('eth_getBlockReceipts', [fromBlock]), [])
    await assert.rejects(askLogs(), /unknown block/)
  })
})
