import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/** One POST as it arrived: what a seller's server would have in its hands. */
export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The bytes before anything parsed them. */
  readonly rawBody: Buffer
  /** Milliseconds since 1970 at which the whole request was there. */
  readonly atMs: number
  /** Ports of the connection: equal ones came over the same one. */
  readonly clientPort: number
}

/** How a receiver answers one request. */
export type Reply =
  | number
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly delayMs: number; readonly status: number }
  | 'never'
  /** Headers and 10 bytes at once, then a byte every 50 ms without end. */
  | 'drip'
  /** 200 and 8 MiB. */
  | 'huge'
  /** 200 and 50 KiB of gzip that would become 50 MiB. */
  | 'gzip-bomb'
  /** The connection is cut instead of an answer. */
  | 'reset'
  /** Bytes that are no HTTP. */
  | 'garbage'

export type Receiver = {
  readonly port: number
  /** `http(s)://127.0.0.1:<port>/hook`. */
  readonly url: string
  /** Everything received, oldest first. */
  readonly received: Received[]
  /** The next requests are answered with these, one each; then the last one is repeated. */
  answer(...replies: [Reply, ...Reply[]]): void
  /** Decides per request; wins over `answer`. */
  answerBy(decide: (request: Received) => Reply): void
  close(): Promise<void>
}

/** Starts a real HTTP server on a free loopback port. It answers 200 until told otherwise. */
export async function startReceiver(
  options: { tls?: { key: string; cert: string }; port?: number } = {},
): Promise<Receiver> {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const timers = new Set<ReturnType<typeof setInterval>>()
  let replies: Reply[] = [200]
  let decide: (request: Received) => Reply = () =>
    (replies.length > 1 ? replies.shift() : replies[0]) ?? 200

  const listener: Parameters<typeof createServer>[1] = (request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const one: Received = {
        path: request.url ?? '',
        headers: request.headers,
        rawBody: Buffer.concat(pieces),
        atMs: Date.now(),
        clientPort: request.socket.remotePort ?? 0,
      }
      received.push(one)
      reply(response, decide(one), timers)
    })
  }
  const server = options.tls ? createTlsServer(options.tls, listener) : createServer(listener)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    port,
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    received,
    answer(...next) {
      if (next.includes('gzip-bomb')) gzipBomb()
      replies = [...next]
    },
    answerBy(next) {
      decide = next
    },
    async close() {
      for (const timer of timers) clearInterval(timer)
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

const HUGE_BYTES = 8 * 1024 * 1024
const BOMB_BYTES = 50 * 1024 * 1024
const DRIP_MS = 50

let bomb: Buffer | null = null

/** Made when the answer is chosen and not while a post waits for it: on a busy machine that takes longer than it waits. */
function gzipBomb(): Buffer {
  bomb ??= gzipSync(Buffer.alloc(BOMB_BYTES, 'x'))
  return bomb
}

function reply(
  response: ServerResponse,
  what: Reply,
  timers: Set<ReturnType<typeof setInterval>>,
): void {
  if (typeof what === 'number') {
    response.writeHead(what).end('thanks')
  } else if (typeof what === 'object') {
    const send = () => {
      const headers = 'headers' in what ? what.headers : {}
      response.writeHead(what.status, headers).end('body' in what ? what.body : 'thanks')
    }
    if (!('delayMs' in what)) {
      send()
      return
    }
    const timer = setTimeout(() => {
      timers.delete(timer)
      send()
    }, what.delayMs)
    timers.add(timer)
  } else {
    replyBadly(response, what, timers)
  }
}

function replyBadly(
  response: ServerResponse,
  what: Extract<Reply, string>,
  timers: Set<ReturnType<typeof setInterval>>,
): void {
  switch (what) {
    case 'never':
      return
    case 'drip': {
      response.writeHead(200, { 'content-length': '1000000' }).write('0123456789')
      const timer = setInterval(() => response.write('.'), DRIP_MS)
      timers.add(timer)
      return
    }
    case 'huge':
      response.writeHead(200).end(Buffer.alloc(HUGE_BYTES, 'x'))
      return
    case 'gzip-bomb':
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipBomb())
      return
    case 'reset':
      response.socket?.destroy()
      return
    case 'garbage':
      response.socket?.end('SSH-2.0-OpenSSH_9.2\r\n\r\n')
      return
  }
}
