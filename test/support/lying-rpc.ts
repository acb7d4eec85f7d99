import { startWire, type Wire, type WireAnswer, type WireSocket } from './wire.ts'

export type RpcLog = Record<string, unknown> & { blockHash: string; logIndex: string }

/** What the node in the middle does wrong; everything absent is passed on as it is. */
export type Lies = {
  /** Rewrites the logs that `eth_getLogs` answers; `eth_getBlockReceipts` stays true. See {@link LOG_LIES}. */
  logs?: (logs: RpcLog[]) => unknown
  /** Pretends that this block is the newest: later ones are unknown, ranges beyond it silently cut. */
  headMax?: number
  /** Answers this HTTP status, with `retry-after` seconds if given. */
  status?: { status: number; retryAfterSeconds?: number; body?: string }
  /** Refuses log ranges of more blocks, in the words given. */
  rangeBlocksMax?: { blocks: number; message?: string; code?: number }
  /** Milliseconds before each answer. */
  delayMs?: number
  /** Methods answered with -32601. */
  missingMethods?: readonly string[]
  /** Has forgotten logs and receipts of blocks below this one (EIP-4444), headers not. */
  historyFrom?: number
  /** Has forgotten the states of blocks below this one, as a node that is no archive. */
  statesFrom?: number
  /** Follows another branch from this block on: other hashes, and none of the transactions. */
  forkFrom?: number
  /** Results of methods, made of the true one. */
  results?: Record<string, (result: unknown, params: readonly unknown[]) => unknown>
  /** JSON-RPC errors instead of results. */
  errors?: Record<string, { code: number; message: string }>
  /** Requests are cut by a TCP reset, or never answered. */
  requests?: 'reset' | 'hang'
  /** Websocket: notifications that do not arrive, of these kinds. */
  droppedNotifications?: boolean
  /** The body is replaced by this text. */
  body?: string
  /** Batches are refused with one error. */
  noBatches?: boolean
  /** How many requests the lies last; then all is true again. Default: for good. */
  requestsLeft?: number
}

export type LyingRpc = {
  httpUrl: string
  wsUrl: string
  /** Replaces all lies by these; none: the truth. */
  lie(lies?: Lies): void
  /** Calls seen so far by method, batches opened. */
  calls(): Record<string, number>
  /** Bodies of HTTP requests seen so far. */
  requests(): readonly string[]
  socketCount(): number
  /** Subscriptions asked for so far. */
  subscriptionCount(): number
  /** TCP connections open now, websockets and half-open ones included. */
  connectionCount(): number
  /** Cuts every connection, old ones included. */
  cut(how: 'close' | 'reset'): void
  /** Old and new connections stay open and silent. */
  blackHole(isOn: boolean): void
  stop(): Promise<void>
}

type Message = { id?: unknown; method: string; params?: readonly unknown[] }
type Answer = { id?: unknown; result?: unknown; error?: unknown }

/** Ways to answer logs wrongly, as nodes were seen to. */
export const LOG_LIES = {
  /** A node that has the header but not its logs yet. */
  empty: () => [],
  /** Part of a block's logs under the right hash. */
  partial: (logs: RpcLog[]) => logs.slice(0, -1),
  duplicated: (logs: RpcLog[]) => [...logs, ...logs],
  reordered: (logs: RpcLog[]) => [...logs].reverse(),
  removed: (logs: RpcLog[]) => logs.map((log) => ({ ...log, removed: true })),
  wrongHash: (logs: RpcLog[]) => logs.map((log) => ({ ...log, blockHash: `0x${'ab'.repeat(32)}` })),
  /** Nodes before go-ethereum 1.16. */
  withoutTime: (logs: RpcLog[]) => logs.map(({ blockTimestamp, ...log }) => log),
  wrongTime: (logs: RpcLog[]) => logs.map((log) => ({ ...log, blockTimestamp: '0x1' })),
  /** A node that cuts long lists without a word. */
  truncated: (logs: RpcLog[]) => logs.slice(0, 1),
  /** Each log once more, in a place of its own. */
  invented: (logs: RpcLog[]) => logs.flatMap((log) => [log, invent(log)]),
  malformed: (logs: RpcLog[]) => logs.map((log) => ({ ...log, logIndex: 'seven' })),
  notAList: () => ({ logs: 'none' }),
} as const satisfies Record<string, (logs: RpcLog[]) => unknown>

/** A log like this one that is in no block. */
export function invent<T extends { logIndex: string }>(log: T): T {
  return { ...log, logIndex: toHex(Number(log.logIndex) + 4_096) }
}

/** A node in front of a true one, over HTTP and websocket, that lies as it is told. */
export async function startLyingRpc(truth: { httpUrl: string; wsUrl: string }): Promise<LyingRpc> {
  let lies: Lies = {}
  const calls: Record<string, number> = {}
  const requests: string[] = []
  const sockets = new Set<WireSocket>()

  /** What holds for the request at hand; counts it. */
  const take = (): Lies => {
    const now = lies
    if (now.requestsLeft !== undefined) {
      const left = now.requestsLeft - 1
      lies = left > 0 ? { ...now, requestsLeft: left } : {}
    }
    return now
  }
  const answerText = async (text: string): Promise<WireAnswer> => {
    const now = take()
    requests.push(text)
    if (now.requests) return now.requests
    if (now.delayMs) await new Promise((done) => setTimeout(done, now.delayMs))
    if (now.status) return toStatus(now.status)
    if (now.body !== undefined) return { status: 200, body: now.body }
    const json: unknown = JSON.parse(text)
    const messages = (Array.isArray(json) ? json : [json]) as Message[]
    for (const { method } of messages) calls[method] = (calls[method] ?? 0) + 1
    if (now.noBatches && Array.isArray(json)) {
      const error = { code: -32_600, message: 'batches are not supported' }
      return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: null, error }) }
    }
    const answers = await Promise.all(messages.map((one) => answer(truth.httpUrl, one, now)))
    const full = answers.map((one) => ({ jsonrpc: '2.0', ...one }))
    return { status: 200, body: JSON.stringify(Array.isArray(json) ? full : full[0]) }
  }
  const onSocket = (socket: WireSocket) => {
    sockets.add(socket)
    const onSubscribe = () => {
      calls['eth_subscribe'] = (calls['eth_subscribe'] ?? 0) + 1
    }
    const stop = relay(socket, truth.wsUrl, { liesNow: () => lies, answerText, onSubscribe })
    socket.onClose = () => {
      sockets.delete(socket)
      stop()
    }
  }
  const wire: Wire = await startWire({ onRequest: answerText, onSocket })
  return {
    httpUrl: `http://127.0.0.1:${wire.port}`,
    wsUrl: `ws://127.0.0.1:${wire.port}`,
    lie(next = {}) {
      lies = next
    },
    calls: () => ({ ...calls }),
    requests: () => requests,
    socketCount: () => sockets.size,
    subscriptionCount: () => calls['eth_subscribe'] ?? 0,
    connectionCount: wire.connectionCount,
    cut: wire.cutAll,
    blackHole: wire.blackHole,
    stop: wire.stop,
  }
}

/** Subscriptions go to the true node's websocket, all other calls the same way as over HTTP. */
function relay(
  socket: WireSocket,
  wsUrl: string,
  node: {
    liesNow(): Lies
    answerText(text: string): Promise<WireAnswer>
    onSubscribe(): void
  },
): () => void {
  const upstream = new WebSocket(wsUrl)
  const waiting: string[] = []
  upstream.addEventListener('open', () => {
    for (const text of waiting.splice(0)) upstream.send(text)
  })
  upstream.addEventListener('message', ({ data }) => {
    const isNotification = String(data).includes('eth_subscription')
    if (!isNotification || !node.liesNow().droppedNotifications) socket.send(String(data))
  })
  upstream.addEventListener('close', () => socket.close())
  socket.onText = (text) => {
    if (/"eth_(un)?subscribe"/.test(text) && !node.liesNow().missingMethods?.length) {
      if (text.includes('"eth_subscribe"')) node.onSubscribe()
      if (upstream.readyState === WebSocket.OPEN) upstream.send(text)
      else waiting.push(text)
      return
    }
    node.answerText(text).then(
      (answer) => {
        if (answer === 'reset') socket.reset()
        else if (answer !== 'hang') socket.send(answer.body)
      },
      // The node behind is gone: so is the one in front.
      () => socket.reset(),
    )
  }
  return () => upstream.close()
}

function toStatus({ status, retryAfterSeconds, body = '' }: NonNullable<Lies['status']>) {
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return { status, body, headers }
}

async function answer(httpUrl: string, message: Message, lies: Lies): Promise<Answer> {
  if (lies.forkFrom !== undefined) {
    const { forkFrom, ...others } = lies
    return onFork(forkFrom, message, (one) => answer(httpUrl, one, others))
  }
  const { id, method, params = [] } = message
  const error = refusal(method, params, lies)
  if (error) return { id, error }
  const hidden = lies.headMax === undefined ? params : behind(method, params, lies.headMax)
  if (hidden === undefined) return { id, result: null }
  const told = (await post(httpUrl, { ...message, params: hidden })) as Answer
  if (!('result' in told)) return told
  let { result } = told
  if (method === 'eth_getLogs' && lies.logs) result = lies.logs(result as RpcLog[])
  if (method === 'eth_getLogs' && lies.headMax !== undefined) {
    const { blockHash } = params[0] as { blockHash?: string }
    if (blockHash && !(await isSeen(httpUrl, blockHash, lies.headMax))) {
      return { id, error: { code: -32_000, message: 'unknown block' } }
    }
    const upTo = lies.headMax
    if (Array.isArray(result)) result = result.filter((log) => Number(log.blockNumber) <= upTo)
  }
  if (method === 'eth_blockNumber' && lies.headMax !== undefined) result = toHex(lies.headMax)
  const change = lies.results?.[method]
  return { ...told, result: change ? change(result, params) : result }
}

async function isSeen(httpUrl: string, blockHash: string, headMax: number): Promise<boolean> {
  const params = [blockHash, false]
  const { result } = (await post(httpUrl, { id: 1, method: 'eth_getBlockByHash', params })) as {
    result?: { number: string } | null
  }
  return Number(result?.number ?? headMax + 1) <= headMax
}

async function post(httpUrl: string, message: Message): Promise<unknown> {
  const response = await fetch(httpUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
  return response.json()
}

function toHex(value: number): string {
  return `0x${value.toString(16)}`
}

function refusal(method: string, params: readonly unknown[], lies: Lies) {
  if (lies.missingMethods?.includes(method)) {
    return { code: -32_601, message: `the method ${method} does not exist/is not available` }
  }
  const pruned = forgotten(method, params, lies)
  if (pruned) return pruned
  const limit = lies.rangeBlocksMax
  const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string }
  if (limit && method === 'eth_getLogs' && fromBlock && toBlock) {
    const { blocks, code = -32_005, message = `query exceeds max block range ${blocks}` } = limit
    if (Number(toBlock) - Number(fromBlock) + 1 > blocks) return { code, message }
  }
  return lies.errors?.[method]
}

/** The parameters as a node whose newest block is `headMax` would understand them; undefined: it answers null. */
function behind(
  method: string,
  params: readonly unknown[],
  headMax: number,
): readonly unknown[] | undefined {
  const head = toHex(headMax)
  const [first, ...others] = params
  if (method === 'eth_getBlockByNumber' || method === 'eth_getBlockReceipts') {
    if (first === 'latest') return [head, ...others]
    return Number(first) > headMax ? undefined : params
  }
  return params
}

/** How nodes refuse what they have pruned (go-ethereum's words). */
function forgotten(method: string, params: readonly unknown[], { historyFrom, statesFrom }: Lies) {
  const isBefore = (at: unknown, from: number | undefined) =>
    from !== undefined && typeof at === 'string' && /^0x/.test(at) && Number(at) < from
  const { fromBlock } = (params[0] ?? {}) as { fromBlock?: string }
  const asked = method === 'eth_getLogs' ? fromBlock : params[0]
  const isHistory = method === 'eth_getLogs' || method === 'eth_getBlockReceipts'
  if (isHistory && isBefore(asked, historyFrom)) {
    return { code: 4_444, message: 'pruned history unavailable' }
  }
  if (method === 'eth_call' && isBefore(params[1], statesFrom)) {
    return { code: -32_000, message: 'missing trie node: state is not available' }
  }
  return undefined
}

type Header = { number: string; hash: string; parentHash: string }

/** Answers as a node on a branch of its own would: the true blocks' numbers and times, other hashes, no transactions. */
async function onFork(
  from: number,
  message: Message,
  ask: (message: Message) => Promise<Answer>,
): Promise<Answer> {
  const { id, method, params = [] } = message
  const [first] = params as [{ blockHash?: string; toBlock?: string } | undefined]
  if (method === 'eth_getLogs' && first?.blockHash) {
    if (first.blockHash.startsWith(FORK_MARK)) return { id, result: [] }
    const header = await ask({ id, method: 'eth_getBlockByHash', params: [first.blockHash, false] })
    if (Number((header.result as Header | null)?.number) >= from) {
      return { id, error: { code: -32_000, message: 'unknown block' } }
    }
  }
  const told = await ask(message)
  const { result } = told
  if (method === 'eth_getLogs' && Array.isArray(result)) {
    return { ...told, result: result.filter((log) => Number(log.blockNumber) < from) }
  }
  if (method === 'eth_getBlockReceipts' && Number(first) >= from) return { ...told, result: [] }
  if (method !== 'eth_getBlockByNumber' || !result) return told
  const { hash, parentHash, ...header } = result as Header
  const number = Number(header.number)
  const forked = (value: string) => FORK_MARK + value.slice(FORK_MARK.length)
  return {
    ...told,
    result: {
      ...header,
      hash: number >= from ? forked(hash) : hash,
      parentHash: number > from ? forked(parentHash) : parentHash,
    },
  }
}

/** How the hashes of a branch of one's own begin. */
const FORK_MARK = '0xf0f0f0f0f0f0'
