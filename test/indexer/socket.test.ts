import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { silentLog } from '#shared/log.ts'
import { RpcError } from '../../indexer/rpc-error.ts'
import { RpcSocket, type Subscription } from '../../indexer/socket.ts'
import { startTestChain, type TestChain } from '../support/anvil.ts'
import { type LyingRpc, startLyingRpc } from '../support/lying-rpc.ts'
import { until } from '../support/until.ts'

/** Milliseconds within which a dead socket has to be replaced, as the house promises. */
const HEALED_MS = 15_000
const pingCall = { method: 'eth_chainId', params: [] }

let chain: TestChain
let node: LyingRpc
const open: RpcSocket[] = []

type Listener = { socket: RpcSocket; heads: number[]; opened: () => number }

/** A socket that hears of new heads, through the lying node unless told otherwise. */
function listen(options: { urls?: string[]; silenceMs?: number } = {}): Listener {
  const heads: number[] = []
  let openedCount = 0
  const socket = new RpcSocket({
    urls: [node.wsUrl],
    pingCall,
    log: silentLog,
    onOpen() {
      openedCount += 1
    },
    ...options,
  })
  open.push(socket)
  socket.subscribe(newHeads((head) => heads.push(Number((head as { number: string }).number))))
  return { socket, heads, opened: () => openedCount }
}

function newHeads(onNotification: (head: unknown) => void): Subscription {
  return {
    subscribe: { method: 'eth_subscribe', params: ['newHeads'] },
    unsubscribeMethod: 'eth_unsubscribe',
    isRequired: true,
    onNotification,
  }
}

/** The socket hears of the next block: its subscription stands. */
async function hearsOfBlocks({ heads }: Listener): Promise<void> {
  await chain.mine()
  const { number } = await chain.head()
  await until(() => heads.includes(number), { what: `head ${number} is told` })
}

const ready = (listener: Listener, timeoutMs = 5_000) =>
  until(() => listener.socket.isReady, { what: 'the socket is ready', timeoutMs })
const notReady = (listener: Listener, timeoutMs = 5_000) =>
  until(() => !listener.socket.isReady, { what: 'the socket is found dead', timeoutMs })

describe('the websocket', () => {
  before(async () => {
    chain = await startTestChain()
    node = await startLyingRpc(chain)
  })
  after(async () => {
    await node.stop()
    await chain.stop()
  })
  afterEach(() => {
    for (const socket of open.splice(0)) socket.stop()
    node.lie()
    node.blackHole(false)
    // A plain WebSocket without `terminate` waits for an answer to its close for ever.
    node.cut('close')
  })

  it('tells each new head, and once that it is connected', async () => {
    const listener = listen()
    await ready(listener)
    await hearsOfBlocks(listener)
    await hearsOfBlocks(listener)
    assert.equal(listener.opened(), 1)
  })

  for (const how of ['reset', 'close'] as const) {
    it(`connects and subscribes again after a ${how}, and says so`, async () => {
      const listener = listen()
      await ready(listener)
      node.cut(how)
      await until(() => listener.opened() === 2, { what: 'it is connected again' })
      await hearsOfBlocks(listener)
    })
  }

  it('finds a black-holed connection dead and replaces it within 15 s, with a ping of its own or without', {
    timeout: 60_000,
  }, async () => {
    const withPing = listen()
    const withoutPing = withPlainWebSocket(() => listen())
    await Promise.all([ready(withPing), ready(withoutPing)])
    node.blackHole(true)
    await Promise.all([notReady(withPing, HEALED_MS), notReady(withoutPing, HEALED_MS)])
    node.blackHole(false)
    await Promise.all([ready(withPing, HEALED_MS), ready(withoutPing, HEALED_MS)])
    await hearsOfBlocks(withPing)
    await hearsOfBlocks(withoutPing)
  })

  it('gives up a connection that was accepted and never answered', {
    timeout: 60_000,
  }, async () => {
    await until(() => node.connectionCount() === 0, { what: 'earlier connections have ended' })
    node.blackHole(true)
    const listener = listen()
    await until(() => node.connectionCount() > 0, { what: 'a connection is accepted' })
    assert.equal(listener.socket.isReady, false)
    node.blackHole(false)
    await ready(listener, HEALED_MS)
    await hearsOfBlocks(listener)
  })

  it('stays on a quiet connection as long as it answers pings, or calls where there is no ping', {
    timeout: 60_000,
  }, async () => {
    const withPing = listen()
    const withoutPing = withPlainWebSocket(() => listen())
    await Promise.all([ready(withPing), ready(withoutPing)])
    const callCount = () => node.calls()[pingCall.method] ?? 0
    const before = callCount()
    await until(() => callCount() - before >= 2, { what: 'two pings by call', timeoutMs: 15_000 })
    assert.equal(withPing.opened(), 1)
    assert.equal(withoutPing.opened(), 1)
  })

  it('distrusts a connection on which heads no longer come, less often the longer the chain is silent', {
    timeout: 30_000,
  }, async () => {
    const listener = listen({ silenceMs: 500 })
    await ready(listener)
    node.lie({ droppedNotifications: true })
    await until(() => listener.opened() === 3, {
      what: 'it connected again twice',
      timeoutMs: 9_000,
    })
    const startedAt = performance.now()
    await until(() => listener.opened() === 4, { what: 'a third time', timeoutMs: 9_000 })
    assert.ok(performance.now() - startedAt > 1_000, 'the patience doubles')
    node.lie()
    await ready(listener)
    await hearsOfBlocks(listener)
  })

  it('goes to the next URL when one refuses or does not subscribe', async () => {
    const deaf = await startLyingRpc(chain)
    deaf.lie({ missingMethods: ['eth_subscribe'] })
    const listener = listen({ urls: ['ws://127.0.0.1:1', deaf.wsUrl, node.wsUrl] })
    try {
      await ready(listener)
      await hearsOfBlocks(listener)
    } finally {
      await deaf.stop()
    }
  })

  it('does without a subscription that is not required', async () => {
    const listener = listen()
    const refused = { method: 'eth_subscribe', params: ['nothingOfTheKind'] }
    listener.socket.subscribe({ ...newHeads(() => {}), subscribe: refused, isRequired: false })
    await ready(listener)
    await hearsOfBlocks(listener)
  })

  it('ends a subscription when told, and keeps the others', async () => {
    const listener = listen()
    const others: unknown[] = []
    const end = listener.socket.subscribe(newHeads((head) => others.push(head)))
    await ready(listener)
    await chain.mine()
    await until(() => others.length === 1, { what: 'the second subscription is told' })
    end()
    await hearsOfBlocks(listener)
    await hearsOfBlocks(listener)
    assert.equal(others.length, 1)
  })

  it('answers calls in order, one message for all', async () => {
    const { socket } = listen()
    await until(() => socket.isReady, { what: 'the socket is ready' })
    const call = (method: string) => ({ method, params: [] })
    const answers = await socket.send([call('eth_chainId'), call('nothingOfTheKind')], 1_000)
    assert.deepEqual(answers[0], { result: '0x7a69' })
    assert.equal(answers[1] && 'error' in answers[1], true)
  })

  it('rejects calls under way when the connection breaks, is stopped, or gives no answer in time', async () => {
    const listener = listen()
    await ready(listener)
    const fails = async (kind: string, act: () => void, timeoutMs: number) => {
      const call = listener.socket.send([pingCall], timeoutMs)
      act()
      await assert.rejects(call, (error) => error instanceof RpcError && error.kind === kind)
    }
    node.lie({ requests: 'hang' })
    await fails('timeout', () => {}, 300)
    await fails('network', () => node.cut('reset'), 10_000)
    await ready(listener)
    await fails('stopped', () => listener.socket.stop(), 10_000)
    await fails('network', () => {}, 10_000)
  })

  it('leaves no connection behind when it is stopped', async () => {
    const listener = listen()
    await ready(listener)
    listener.socket.stop()
    await until(() => node.socketCount() === 0, { what: 'the node sees the connection end' })
    assert.equal(listener.socket.isReady, false)
  })

  it('never tells more of a URL than its host', async () => {
    const lines: string[] = []
    const write = (message: string, fields?: unknown) =>
      lines.push(message + JSON.stringify(fields))
    const log = { ...silentLog, debug: write, info: write, warn: write, error: write }
    const socket = new RpcSocket({ urls: ['ws://127.0.0.1:1/v2/SECRETKEY'], pingCall, log })
    open.push(socket)
    await until(() => lines.length > 0, { what: 'the failure is logged' })
    await assert.rejects(socket.send([pingCall], 100), /127\.0\.0\.1:1/)
    assert.doesNotMatch(lines.join(), /SECRETKEY/)
  })
})

/** As on a runtime whose WebSocket has neither `ping` nor `terminate`. */
function withPlainWebSocket<T>(make: () => T): T {
  const original = globalThis.WebSocket
  globalThis.WebSocket = class extends original {
    ping = undefined as never
    terminate = undefined as never
  }
  try {
    return make()
  } finally {
    // The socket under test connects again later; only its first connection is plain.
    globalThis.WebSocket = original
  }
}
