import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Answer, AnswerError, type AnswerReader, createAnswerReader } from './answer.ts'
import { type ForwardProxy, openTunnel } from './tunnel.ts'

/** How long one address may take to accept a connection, TLS included, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 5_000
/** Idle connections kept in all, a count: each is a file descriptor. */
export const IDLE_COUNT_MAX = 2_048
/** Idle connections are closed after one to two of these, in milliseconds: well before a server closes
 * them (Node's after 5 s), since a request that meets the closing is lost. */
const IDLE_SWEEP_MS = 1_000

/** One end of a TCP connection that was vetted before it is named here. */
export type Target = {
  /** The IP address to connect to: already resolved and checked. */
  readonly address: string
  readonly port: number
  /** Host of the URL: what the certificate must be for. */
  readonly name: string
  readonly isTls: boolean
}

/** Why no answer came. `connect` and `tls`: nothing was sent. */
export type ConnectionFault = 'connect' | 'tls' | 'proxy' | 'reset' | 'bad_answer' | 'timeout'

/** An exchange that ended without an answer; `cause` is for the log. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly fault: ConnectionFault
  constructor(fault: ConnectionFault, cause?: unknown) {
    super(`webhook connection: ${fault}`, { cause })
    this.fault = fault
  }
}

/**
 * Keep-alive connections, keyed by vetted address, port, name and scheme: a name that starts to
 * resolve elsewhere gets a connection of its own, and two names on one address never share one.
 */
export type Connections = {
  /** Sends one request and reads its answer. The signal ends it at any point, as a `timeout`.
   * @throws ConnectionError */
  exchange(target: Target, request: Uint8Array, signal: AbortSignal): Promise<Answer>
  /** Closes every connection; running exchanges fail with `reset`. */
  close(): void
}

type Wire = {
  readonly socket: Socket
  readonly key: string
  exchange: Exchange | null
  /** Sweeps survived while idle. */
  sweepCount: number
}

type Exchange = {
  readonly reader: AnswerReader
  readonly settle: (result: Answer | ConnectionError) => void
}

type Pool = {
  readonly open: Set<Wire>
  readonly idle: Map<string, Wire[]>
  idleCount: number
  sweep: ReturnType<typeof setTimeout> | null
}

/**
 * Makes an empty pool.
 *
 * @param deps.trustedCa certificates in PEM to trust instead of the system's; for tests
 * @param deps.proxy forward proxy that every connection is tunnelled through
 */
export function createConnections(deps: {
  readonly trustedCa?: string
  readonly proxy?: ForwardProxy
}): Connections {
  const pool: Pool = { open: new Set(), idle: new Map(), idleCount: 0, sweep: null }
  return {
    async exchange(target, request, signal) {
      const key = `${target.isTls ? 'tls' : 'tcp'} ${target.address} ${target.port} ${target.name}`
      const wire = takeIdle(pool, key) ?? adopt(pool, await openSocket(target, deps, signal), key)
      // Not repeated when a kept connection turns out dead: one attempt is one POST, and is recorded.
      const result = await send(pool, wire, createAnswerReader(), request, signal)
      if (result instanceof Error) throw result
      return result
    },
    close() {
      if (pool.sweep !== null) clearTimeout(pool.sweep)
      for (const wire of pool.open) wire.socket.destroy()
    },
  }
}

function send(
  pool: Pool,
  wire: Wire,
  reader: AnswerReader,
  request: Uint8Array,
  signal: AbortSignal,
): Promise<Answer | ConnectionError> {
  return new Promise((resolve) => {
    const onAbort = () => settle(new ConnectionError('timeout'))
    const settle = (result: Answer | ConnectionError) => {
      if (wire.exchange === null) return
      wire.exchange = null
      signal.removeEventListener('abort', onAbort)
      if (!(result instanceof Error) && result.isReusable) park(pool, wire)
      else wire.socket.destroy()
      resolve(result)
    }
    wire.exchange = { reader, settle }
    if (signal.aborted) onAbort()
    else if (!pool.open.has(wire)) settle(new ConnectionError('reset'))
    else {
      signal.addEventListener('abort', onAbort)
      wire.socket.write(request)
    }
  })
}

/** Connects to exactly the address given, inside its own time limit. */
async function openSocket(
  target: Target,
  deps: { readonly trustedCa?: string; readonly proxy?: ForwardProxy },
  signal: AbortSignal,
): Promise<Socket> {
  const limit = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
  const ended = AbortSignal.any([signal, limit])
  const tunnel =
    deps.proxy === undefined ? undefined : await viaProxy(deps.proxy, target, ended, signal)
  const to = { host: target.address, port: target.port }
  if (!target.isTls) return tunnel ?? established(connectTcp(to), 'connect', ended, signal)
  const socket = connectTls({
    ...(tunnel === undefined ? to : { socket: tunnel }),
    // An address is no server name (RFC 6066); it is then checked as the host connected to.
    ...(isIP(target.name) === 0 ? { servername: target.name } : { host: target.name }),
    ...(deps.trustedCa === undefined ? {} : { ca: deps.trustedCa }),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
  })
  return established(socket, 'secureConnect', ended, signal)
}

async function viaProxy(
  proxy: ForwardProxy,
  target: Target,
  ended: AbortSignal,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connectTcp({ host: proxy.host, port: proxy.port })
  try {
    await established(socket, 'connect', ended, signal)
    await openTunnel(socket, proxy, target, ended)
  } catch (cause) {
    socket.destroy()
    throw new ConnectionError(signal.aborted ? 'timeout' : 'proxy', cause)
  }
  return socket
}

function established(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  ended: AbortSignal,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const finish = (error: ConnectionError | null) => {
      socket.off(event, onReady).off('error', onError).off('close', onClose)
      ended.removeEventListener('abort', onClose)
      if (error === null) return resolve(socket)
      // Whatever a socket says after it was given up is no news; without a listener it is fatal.
      socket.on('error', () => undefined)
      socket.destroy()
      reject(error)
    }
    const onReady = () => finish(null)
    const onError = (cause: Error) => finish(new ConnectionError(faultOf(cause), cause))
    const onClose = () => finish(new ConnectionError(signal.aborted ? 'timeout' : 'connect'))
    socket.on(event, onReady).on('error', onError).on('close', onClose)
    if (ended.aborted) onClose()
    else ended.addEventListener('abort', onClose)
  })
}

const CONNECT_CODES = /^(ECONN|EHOST|ENET|ETIMEDOUT|EADDR|EACCES|EINVAL|EPIPE)/

function faultOf(cause: Error): ConnectionFault {
  const code = 'code' in cause ? String(cause.code) : ''
  return CONNECT_CODES.test(code) ? 'connect' : 'tls'
}

/** Puts a connected socket under the pool's one set of listeners, for the rest of its life. */
function adopt(pool: Pool, socket: Socket, key: string): Wire {
  const wire: Wire = { socket, key, exchange: null, sweepCount: 0 }
  pool.open.add(wire)
  socket.setNoDelay(true)
  socket.on('data', (bytes: Buffer) => {
    // Bytes that answer no request leave no way to tell what the next answer belongs to.
    if (wire.exchange === null) socket.destroy()
    else readInto(wire.exchange, () => wire.exchange?.reader.push(bytes) ?? null)
  })
  socket.on('end', () => {
    if (wire.exchange !== null) readInto(wire.exchange, () => endOf(wire))
    socket.destroy()
  })
  socket.on('error', (cause) => wire.exchange?.settle(new ConnectionError('reset', cause)))
  socket.on('close', () => {
    pool.open.delete(wire)
    unpark(pool, wire)
    wire.exchange?.settle(new ConnectionError('reset'))
  })
  return wire
}

function endOf(wire: Wire): Answer | null {
  if (wire.exchange?.reader.hasBegun()) return wire.exchange.reader.end()
  wire.exchange?.settle(new ConnectionError('reset'))
  return null
}

function readInto(exchange: Exchange, read: () => Answer | null): void {
  try {
    const answer = read()
    if (answer !== null) exchange.settle(answer)
  } catch (cause) {
    if (!(cause instanceof AnswerError)) throw cause
    exchange.settle(new ConnectionError('bad_answer', cause))
  }
}

function park(pool: Pool, wire: Wire): void {
  if (pool.idleCount >= IDLE_COUNT_MAX || !pool.open.has(wire)) {
    wire.socket.destroy()
    return
  }
  wire.sweepCount = 0
  const wires = pool.idle.get(wire.key)
  if (wires === undefined) pool.idle.set(wire.key, [wire])
  else wires.push(wire)
  pool.idleCount += 1
  pool.sweep ??= setTimeout(() => sweep(pool), IDLE_SWEEP_MS)
}

function takeIdle(pool: Pool, key: string): Wire | null {
  const wires = pool.idle.get(key)
  const wire = wires?.pop()
  if (wires === undefined || wire === undefined) return null
  if (wires.length === 0) pool.idle.delete(key)
  pool.idleCount -= 1
  return wire
}

function unpark(pool: Pool, wire: Wire): void {
  const wires = pool.idle.get(wire.key)
  const index = wires?.indexOf(wire) ?? -1
  if (wires === undefined || index < 0) return
  wires.splice(index, 1)
  if (wires.length === 0) pool.idle.delete(wire.key)
  pool.idleCount -= 1
}

function sweep(pool: Pool): void {
  pool.sweep = null
  for (const wires of [...pool.idle.values()]) {
    for (const wire of [...wires]) {
      wire.sweepCount += 1
      if (wire.sweepCount < 2) continue
      unpark(pool, wire)
      wire.socket.destroy()
    }
  }
  if (pool.idleCount > 0) pool.sweep = setTimeout(() => sweep(pool), IDLE_SWEEP_MS)
}
