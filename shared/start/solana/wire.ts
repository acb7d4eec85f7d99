import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'

/** One websocket connection, as its server sees it. */
export type Peer = { send(text: string): void; close(): void; reset(): void }
export type WireHandlers = {
  /** Answers an HTTP POST; undefined leaves it unanswered. */
  onPost(body: string): Promise<{ status: number; body: string; headers?: string[] } | undefined>
  onOpen(peer: Peer): void
  onMessage(peer: Peer, text: string): void | Promise<void>
  onClose(peer: Peer): void
  /** While true, everything that arrives is read and nothing is answered, not even a ping. */
  isBlackHole?(): boolean
}
export type WireServer = {
  port: number
  /** Cuts every connection, websockets alone when asked. */
  cut(which: 'all' | 'websockets'): void
  stop(): Promise<void>
}

/** Bytes of one request or message. */
const INPUT_BYTES_MAX = 16 * 1024 * 1024
/** RFC 6455, section 1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const OPCODE = { text: 1, close: 8, ping: 9, pong: 10 } as const

/** HTTP/1.1 and RFC 6455 on one port: as much of both as JSON-RPC needs, down to where a connection can be hurt. */
export async function listenWire(handlers: WireHandlers, port = 0): Promise<WireServer> {
  const sockets = new Set<Socket>()
  const websockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    let input: Buffer = Buffer.alloc(0)
    let peer: Peer | undefined
    let busy = Promise.resolve()
    const upgrade = (key: string) => {
      websockets.add(socket)
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`,
      )
      peer = {
        send: (text) => void socket.write(frame(OPCODE.text, Buffer.from(text))),
        close: () => void socket.end(frame(OPCODE.close, Buffer.alloc(0))),
        reset: () => void socket.resetAndDestroy(),
      }
      handlers.onOpen(peer)
    }
    const drain = () => {
      for (;;) {
        if (!peer) {
          const request = takeRequest(input)
          if (!request) return
          input = request.rest
          if (request.websocketKey !== undefined) upgrade(request.websocketKey)
          else busy = busy.then(() => answer(handlers, socket, request.body))
          continue
        }
        const message = takeFrame(input)
        if (!message) return
        input = message.rest
        if (handlers.isBlackHole?.()) continue
        if (message.opcode === OPCODE.ping) socket.write(frame(OPCODE.pong, message.payload))
        else if (message.opcode === OPCODE.close) socket.end(frame(OPCODE.close, Buffer.alloc(0)))
        else if (message.opcode === OPCODE.text)
          void handlers.onMessage(peer, message.payload.toString())
      }
    }
    socket.on('data', (piece: Buffer) => {
      input = input.length === 0 ? Buffer.from(piece) : Buffer.concat([input, piece])
      if (input.length > INPUT_BYTES_MAX) socket.destroy()
      else drain()
    })
    socket.on('error', () => {
      // The other end went away: `close` follows.
    })
    socket.on('close', () => {
      sockets.delete(socket)
      websockets.delete(socket)
      if (peer) handlers.onClose(peer)
    })
  })
  await new Promise<void>((done, fail) => {
    server.once('error', fail)
    server.listen(port, '127.0.0.1', done)
  })
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound ? bound.port : port,
    cut(which) {
      for (const socket of which === 'all' ? sockets : websockets) socket.destroy()
    },
    async stop() {
      const closed = new Promise((done) => server.close(done))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function answer(handlers: WireHandlers, socket: Socket, text: string): Promise<void> {
  const response = handlers.isBlackHole?.() ? undefined : await handlers.onPost(text)
  if (!response || socket.destroyed) return
  const body = Buffer.from(response.body)
  const lines = [
    `HTTP/1.1 ${response.status} ${response.status === 200 ? 'OK' : 'Error'}`,
    'Content-Type: application/json',
    'Access-Control-Allow-Origin: *',
    `Content-Length: ${body.length}`,
    ...(response.headers ?? []),
  ]
  socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]))
}

function takeRequest(input: Buffer) {
  const end = input.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = input.subarray(0, end).toString('latin1')
  const websocketKey = /^sec-websocket-key: *(.+)$/im.exec(head)?.[1]?.trim()
  const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0)
  const from = end + 4
  if (input.length < from + length) return undefined
  const body = input.subarray(from, from + length).toString()
  return { websocketKey, body, rest: input.subarray(from + length) }
}

function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + ACCEPT_SUFFIX)
    .digest('base64')
}

/** RFC 6455, section 5.2: a server's frames are not masked, a client's are. */
function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const head = [0x80 | opcode]
  if (length < 126) head.push(length)
  else if (length < 65_536) head.push(126, length >> 8, length & 0xff)
  else
    head.push(
      127,
      0,
      0,
      0,
      0,
      length >>> 24,
      (length >> 16) & 255,
      (length >> 8) & 255,
      length & 255,
    )
  return Buffer.concat([Buffer.from(head), payload])
}

function takeFrame(input: Buffer) {
  if (input.length < 2) return undefined
  const opcode = (input[0] ?? 0) & 0x0f
  const isMasked = ((input[1] ?? 0) & 0x80) !== 0
  let length = (input[1] ?? 0) & 0x7f
  let at = 2
  if (length === 126) {
    if (input.length < 4) return undefined
    length = input.readUInt16BE(2)
    at = 4
  } else if (length === 127) {
    if (input.length < 10) return undefined
    length = Number(input.readBigUInt64BE(2))
    at = 10
  }
  const from = at + (isMasked ? 4 : 0)
  if (input.length < from + length) return undefined
  const payload = Buffer.from(input.subarray(from, from + length))
  if (isMasked) {
    for (let index = 0; index < length; index += 1) {
      payload[index] = (payload[index] ?? 0) ^ (input[at + (index & 3)] ?? 0)
    }
  }
  return { opcode, payload, rest: input.subarray(from + length) }
}
