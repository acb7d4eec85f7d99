import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { createLog, silentLog } from '#shared/log.ts'
import { serve } from '#shared/runtime.ts'
import { createRpc, type Rpc, type RpcOptions } from '../../indexer/rpc.ts'
import { RpcError, type RpcErrorKind } from '../../indexer/rpc-error.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type Lies, type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { until } from '../support/until.ts'

const pingCall = { method: 'eth_chainId', params: [] }
const blockNumber = { method: 'eth_blockNumber', params: [] }
const CHAIN_ID = '0x7a69'

let chain: TestChain
let first: LyingRpc
let second: LyingRpc
const open: Rpc[] = []

/** By default two providers, the lying nodes, in this order. */
function connect(options: Partial<RpcOptions> = {}): Rpc {
  const urls = [first.httpUrl, second.httpUrl]
  const rpc = createRpc({ urls, pingCall, log: silentLog, ...options })
  open.push(rpc)
  return rpc
}

const alone = () => connect({ urls: [first.httpUrl] })
const countOf = (node: LyingRpc) => node.requests().length
const isKind = (kind: RpcErrorKind) => (error: unknown) =>
  error instanceof RpcError && error.kind === kind

describe('JSON-RPC', () => {
  before(async () => {
    chain = await startTestChain()
    first = await startLyingRpc(chain)
    second = await startLyingRpc(chain)
  })
  after(async () => {
    await Promise.all([first.stop(), second.stop()])
    await chain.stop()
  })
  afterEach(() => {
    for (const rpc of open.splice(0)) rpc.stop()
    for (const node of [first, second]) {
      node.lie()
      node.blackHole(false)
    }
  })

  it('answers a batch in order by one provider, a JSON-RPC error being an answer', async () => {
    const rpc = connect()
    const { answers, provider } = await rpc.batch([
      pingCall,
      { method: 'nothingOfTheKind', params: [] },
      { method: 'eth_getBlockByNumber', params: ['0xffffff', false] },
    ])
    assert.equal(provider, 0)
    assert.deepEqual(answers[0], { result: CHAIN_ID })
    assert.ok(answers[1] && 'error' in answers[1] && isKind('refused')(answers[1].error))
    assert.deepEqual(answers[2], { result: null })
  })

  it('throws the error of a single call that was refused, with its code', async () => {
    first.lie({ errors: { eth_chainId: { code: -32_000, message: 'header not found' } } })
    await assert.rejects(connect().call(pingCall), (error: RpcError) => {
      return error.kind === 'refused' && error.code === -32_000 && /not found/.test(error.message)
    })
    assert.equal(connect().health().errorCount, 0)
  })

  const failures: Record<string, Lies> = {
    'resets the connection': { requests: 'reset' },
    'answers 500': { status: { status: 500 } },
    'answers 403': { status: { status: 403, body: '{"error":{"message":"key"}}' } },
    redirects: { status: { status: 302 } },
    'answers no JSON': { body: '<html>' },
    'answers JSON that is no JSON-RPC': { body: '{"hello":1}' },
    'answers for another call': { body: '{"jsonrpc":"2.0","id":99,"result":"0x1"}' },
    'is limited by HTTP 429': { status: { status: 429 } },
    'is limited within a 200': {
      errors: { eth_chainId: { code: 429, message: 'compute units per second' } },
    },
  }
  for (const [name, lies] of Object.entries(failures)) {
    it(`asks the next provider when the first ${name}, and leaves that alone for a while`, async () => {
      const rpc = connect()
      first.lie(lies)
      assert.equal(await rpc.call(pingCall), CHAIN_ID)
      assert.equal(rpc.health().provider, new URL(second.httpUrl).host)
      first.lie()
      const asked = countOf(first)
      assert.equal(await rpc.call(pingCall), CHAIN_ID)
      assert.equal(countOf(first), asked)
    })
  }

  it('asks the next provider when the first gives no answer in time', async () => {
    first.blackHole(true)
    assert.equal(await connect().call(pingCall, { timeoutMs: 300 }), CHAIN_ID)
    first.blackHole(false)
    first.lie({ delayMs: 2_000 })
    await assert.rejects(alone().call(pingCall, { timeoutMs: 100 }), isKind('timeout'))
  })

  it('throws what the last provider did when all fail', async () => {
    first.lie({ requests: 'reset' })
    second.lie({ status: { status: 502 } })
    await assert.rejects(connect().call(pingCall), isKind('http'))
  })

  it('comes back to its only provider as soon as that is well', async () => {
    const rpc = alone()
    first.lie({ requests: 'reset' })
    for (let attempt = 0; attempt < 4; attempt += 1) await assert.rejects(rpc.call(pingCall))
    first.lie()
    const startedAt = performance.now()
    assert.equal(await rpc.call(pingCall), CHAIN_ID)
    assert.ok(performance.now() - startedAt < 2_100, 'the pause is bounded by two seconds')
  })

  it('does not ask a provider before the time it wished for, be it the only one', async () => {
    const rpc = alone()
    first.lie({ status: { status: 429, retryAfterSeconds: 30 } })
    await assert.rejects(rpc.call(pingCall), isKind('rate_limited'))
    first.lie()
    const asked = countOf(first)
    await assert.rejects(rpc.call(pingCall), (error: RpcError) => {
      const { kind, retryAfterMs = 0 } = error
      return kind === 'rate_limited' && retryAfterMs > 25_000 && retryAfterMs <= 30_000
    })
    assert.equal(countOf(first), asked)
  })

  it('waits out a short wish', async () => {
    const rpc = alone()
    first.lie({ status: { status: 429, retryAfterSeconds: 1 }, requestsLeft: 1 })
    await assert.rejects(rpc.call(pingCall), isKind('rate_limited'))
    const startedAt = performance.now()
    assert.equal(await rpc.call(pingCall), CHAIN_ID)
    assert.ok(performance.now() - startedAt > 900)
  })

  it('cuts an answer off that is larger than any real one', async () => {
    first.lie({ body: ' '.repeat(33 * 1024 * 1024) })
    await assert.rejects(alone().call(pingCall), isKind('too_large'))
  })

  it('says so when a node takes no batches', async () => {
    first.lie({ noBatches: true })
    const { answers } = await alone().batch([pingCall, blockNumber])
    for (const answer of answers) {
      assert.ok('error' in answer && /batches are not supported/.test(answer.error.message))
    }
  })

  it('asks none of the excepted providers, and refuses when none is left', async () => {
    const rpc = connect()
    assert.equal((await rpc.batch([pingCall], { except: new Set([0]) })).provider, 1)
    assert.equal((await rpc.batch([pingCall], { except: rpc.allBut(1) })).provider, 1)
    await assert.rejects(rpc.call(pingCall, { except: new Set([0, 1]) }), isKind('lagging'))
  })

  it('asks a distrusted provider only after the others', async () => {
    const rpc = connect()
    rpc.distrust(0, new RpcError('lagging', 'behind'))
    assert.equal((await rpc.batch([pingCall])).provider, 1)
    second.lie({ requests: 'reset' })
    assert.equal((await rpc.batch([pingCall])).provider, 0)
  })

  it('does not use a provider that its check refuses', async () => {
    const verified: string[] = []
    const rpc = connect({
      async verify(call, host) {
        verified.push(host)
        if ((await call(pingCall)) !== CHAIN_ID) throw new Error('another chain')
      },
    })
    first.lie({ results: { eth_chainId: () => '0x1' } })
    for (let turn = 0; turn < 2; turn += 1)
      assert.equal((await rpc.batch([blockNumber])).provider, 1)
    assert.equal(verified.length, 2, 'each was asked once')
  })

  it('throws what ails the right provider when the other one is refused, whichever was asked last', async () => {
    const isSecond = (host: string) => host === new URL(second.httpUrl).host
    for (const urls of [
      [first.httpUrl, second.httpUrl],
      [second.httpUrl, first.httpUrl],
    ]) {
      first.lie({ status: { status: 503 } })
      const rpc = connect({
        urls,
        async verify(_, host) {
          if (isSecond(host)) throw new Error('another chain')
        },
      })
      await assert.rejects(rpc.call(pingCall), RpcError)
      await assert.rejects(rpc.call(pingCall), RpcError)
    }
  })

  it('counts each call of a batch, and each failure', async () => {
    const rpc = connect()
    await rpc.batch([pingCall, blockNumber])
    first.lie({ requests: 'reset' })
    await rpc.call(pingCall)
    const { callCount, errorCount } = rpc.health()
    assert.deepEqual({ callCount, errorCount }, { callCount: 4, errorCount: 1 })
  })

  it('makes calls one after the other while it is spared, and all at once as soon as it is not', async () => {
    const rpc = connect()
    rpc.spare(true)
    const before = countOf(first)
    const startedAt = performance.now()
    const one = await rpc.call(pingCall)
    assert.equal(one, CHAIN_ID)
    assert.ok(performance.now() - startedAt > 1_000, 'its turn comes after its second')
    const batch = rpc.batch(new Array(30).fill(blockNumber))
    const another = rpc.call(pingCall)
    assert.equal(countOf(first), before + 1)
    rpc.spare(false)
    assert.equal((await batch).answers.length, 30)
    await another
    assert.ok(performance.now() - startedAt < 3_000, 'nobody waits for a turn any more')
  })

  it('keeps up to three calls of a batch together while it is spared', {
    timeout: 15_000,
  }, async () => {
    const rpc = connect()
    rpc.spare(true)
    const before = countOf(first)
    const { answers } = await rpc.batch([pingCall, blockNumber, blockNumber, pingCall])
    const sizes = first
      .requests()
      .slice(before)
      .map((body) => [JSON.parse(body)].flat().length)
    assert.deepEqual(sizes, [3, 1])
    assert.deepEqual([answers[0], answers[3]], [{ result: CHAIN_ID }, { result: CHAIN_ID }])
  })

  it('rejects calls that wait for their turn when it is stopped', async () => {
    const rpc = connect()
    rpc.spare(true)
    const waiting = rpc.call(pingCall)
    rpc.stop()
    await assert.rejects(waiting, isKind('stopped'))
  })

  it('rejects calls under way and later ones when it is stopped', async () => {
    const rpc = connect()
    first.lie({ requests: 'hang' })
    const underWay = rpc.call(pingCall)
    await until(() => first.requests().at(-1)?.includes('eth_chainId'), {
      what: 'the call is sent',
    })
    rpc.stop()
    await assert.rejects(underWay, isKind('stopped'))
    await assert.rejects(rpc.call(pingCall), isKind('stopped'))
  })

  it('reads over a websocket when there is no other URL, also after it broke', async () => {
    const rpc = connect({ urls: [first.wsUrl] })
    const { answers } = await rpc.batch([pingCall, blockNumber])
    assert.deepEqual(answers[0], { result: CHAIN_ID })
    first.cut('reset')
    const recovered = await until(() => rpc.call(pingCall), { what: 'it answers again' })
    assert.equal(recovered, CHAIN_ID)
    rpc.stop()
    await assert.rejects(rpc.call(pingCall), isKind('stopped'))
  })

  it('takes http and ws URLs of one hostname for one provider, of two for two', () => {
    const urls = ['wss://a.example/key', 'https://a.example/key', 'wss://b.example']
    const rpc = connect({ urls })
    assert.deepEqual(
      [rpc.providerCount, rpc.hostOf(0), rpc.hostOf(1)],
      [2, 'a.example', 'b.example'],
    )
  })

  it('sends user and password of a URL as a header', async () => {
    const seen: (string | null)[] = []
    const server = serve({
      variable: 'PORT',
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        seen.push(request.headers.get('authorization'))
        return Response.json({ jsonrpc: '2.0', id: 1, result: CHAIN_ID })
      },
    })
    const rpc = connect({ urls: [server.url.replace('//', '//user:p%40ss@')] })
    try {
      assert.equal(await rpc.call(pingCall), CHAIN_ID)
      assert.deepEqual(seen, [`Basic ${btoa('user:p@ss')}`])
    } finally {
      rpc.stop()
      await server.stop(100)
    }
  })

  it('shows nothing of a URL but its host, in errors and in the log, even when the node repeats it', async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const log = createLog({ level: 'debug', format: 'json', name: 'test', write })
    const { host } = new URL(first.httpUrl)
    const key = 'Zx81SECRETKEY'
    const rpc = connect({ log, urls: [`http://me:${key}@${host}/v2/${key}?token=${key}`] })
    const shown: string[] = []
    const lies: Lies[] = [
      { errors: { eth_chainId: { code: -1, message: `bad key ${key} at /v2/${key}` } } },
      { status: { status: 401, body: key } },
      { requests: 'reset' },
      { body: key },
    ]
    for (const one of lies) {
      first.lie(one)
      await rpc
        .call(pingCall)
        .catch((error: Error) => shown.push(`${error.message} ${error.cause}`))
    }
    assert.equal(shown.length, lies.length)
    assert.match(shown.join(), new RegExp(host))
    assert.doesNotMatch([...shown, ...lines].join(), new RegExp(key))
  })
})
