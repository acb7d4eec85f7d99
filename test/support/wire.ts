import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'

/** An answer over HTTP; a `reset` cuts the connection, a `hang` leaves the caller waiting. */
export type WireAnswer =
  | { status: number; body: string; headers?: Record<string, string> }
  | 'reset'
  | 'hang'

/** The server's end of one websocket. */
export type WireSocket = {
  send(text: string): void
  /** Called for each text message; set by the application. */
  onText: (text: string) => void
  onClose: () => void
  close(): void
  reset(): void
}

export type Wire = {
  port: number
  /** Connections open now. */
  connectionCount(): number
  /** From now on nothing is read from or written to any connection, old or new; they stay open. */
  blackHole(isOn: boolean): void
  /** Cuts every connection: politely, or with a TCP reset. */
  cutAll(how: 'close' | 'reset'): void
  stop(): Promise<void>
}

export type WireApplication = {
  onRequest(body: string): Promise<WireAnswer>
  onSocket(socket: WireSocket): void
}

/** RFC 6455, 1.3: appended to the client's key in the handshake. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const HEAD_END = '\r\n\r\n'
/** Bytes of one request or message: more means that a test went wrong. */
const BYTES_MAX = 16 * 1024 * 1024
const OPCODES = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 }

type Connection = { socket: Socket; bytes: Buffer; isBusy: boolean; web: WireSocket | undefined }

/** HTTP and websockets on one port of 127.0.0.1, by hand on plain TCP, so that every misbehaviour is possible. */
export async function startWire(application: WireApplication): Promise<Wire> {
  const connections = new Set<Connection>()
  let isBlackHole = false
  const server = createServer((socket) => {
    const connection: Connection = {
      socket,
      bytes: Buffer.alloc(0),
      isBusy: false,
      web: undefined,
    }
    connections.add(connection)
    socket.on('data', (chunk: Uint8Array) => {
      if (isBlackHole) return
      connection.bytes = Buffer.concat([connection.bytes, chunk])
      if (connection.bytes.length > BYTES_MAX) socket.destroy()
      else digest(connection, application, () => isBlackHole)
    })
    socket.on('error', () => {
      // A reset by the other end; `close` follows.
    })
    socket.on('close', () => {
      connections.delete(connection)
      connection.web?.onClose()
    })
  })
  await listen(server)
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const cutAll = (how: 'close' | 'reset') => {
    for (const { socket } of connections) cut(socket, how)
  }
  return {
    port: address.port,
    connectionCount: () => connections.size,
    blackHole(isOn) {
      isBlackHole = isOn
    },
    cutAll,
    async stop() {
      const closed = new Promise((done) => server.close(done))
      cutAll('close')
      await closed
    },
  }
}

function listen(server: Server): Promise<void> {
  return new Promise((done, failed) => {
    server.once('error', failed)
    server.listen(0, '127.0.0.1', done)
  })
}

function cut(socket: Socket, how: 'close' | 'reset'): void {
  if (how === 'reset') socket.resetAndDestroy()
  else socket.destroy()
}

/** Takes whole requests or frames out of what has arrived. */
function digest(
  connection: Connection,
  application: WireApplication,
  isBlackHole: () => boolean,
): void {
  if (connection.web) {
    readFrames(connection, connection.web, isBlackHole)
    return
  }
  if (connection.isBusy) return
  const end = connection.bytes.indexOf(HEAD_END)
  if (end < 0) return
  const head = connection.bytes.subarray(0, end).toString('latin1')
  const key = headerOf(head, 'sec-websocket-key')
  if (key !== undefined) {
    connection.bytes = connection.bytes.subarray(end + HEAD_END.length)
    upgrade(connection, key, application, isBlackHole)
    return
  }
  const bodyStart = end + HEAD_END.length
  const bodyEnd = bodyStart + Number(headerOf(head, 'content-length') ?? 0)
  if (connection.bytes.length < bodyEnd) return
  const body = connection.bytes.subarray(bodyStart, bodyEnd).toString('utf8')
  connection.bytes = connection.bytes.subarray(bodyEnd)
  connection.isBusy = true
  application.onRequest(body).then(
    (answer) => {
      connection.isBusy = false
      if (isBlackHole() || answer === 'hang') return
      if (answer === 'reset') cut(connection.socket, 'reset')
      else writeAnswer(connection.socket, answer)
      digest(connection, application, isBlackHole)
    },
    // The node behind is gone: so is the one in front.
    () => cut(connection.socket, 'reset'),
  )
}

function writeAnswer(socket: Socket, answer: Exclude<WireAnswer, string>): void {
  const headers = {
    'content-type': 'application/json',
    ...answer.headers,
    'content-length': String(Buffer.byteLength(answer.body)),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${answer.status} Answer`, ...lines].join('\r\n') + HEAD_END + answer.body)
}

function headerOf(head: string, name: string): string | undefined {
  const line = head.split('\r\n').find((one) => one.toLowerCase().startsWith(`${name}:`))
  return line?.slice(name.length + 1).trim()
}

function upgrade(
  connection: Connection,
  key: string,
  application: WireApplication,
  isBlackHole: () => boolean,
): void {
  const { socket } = connection
  const accept = createHash('sha1')
    .update(key + HANDSHAKE_GUID)
    .digest('base64')
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'upgrade: websocket',
    'connection: Upgrade',
    `sec-websocket-accept: ${accept}`,
  ]
  socket.write(lines.join('\r\n') + HEAD_END)
  connection.web = {
    send(text) {
      if (!isBlackHole() && !socket.destroyed) socket.write(frame(OPCODES.text, Buffer.from(text)))
    },
    onText() {},
    onClose() {},
    close() {
      socket.write(frame(OPCODES.close, Buffer.alloc(0)))
      socket.end()
    },
    reset: () => cut(socket, 'reset'),
  }
  application.onSocket(connection.web)
  readFrames(connection, connection.web, isBlackHole)
}

/** RFC 6455, 5.2. A client's frames are masked; fragments are not used by the clients here. */
function readFrames(connection: Connection, web: WireSocket, isBlackHole: () => boolean): void {
  for (;;) {
    const { bytes, socket } = connection
    const [first = 0, second = 0] = bytes
    const short = second & 0x7f
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    const maskStart = 2 + lengthBytes
    if (bytes.length < maskStart + 4) return
    const length =
      lengthBytes === 0 ? short : Number(BigInt(`0x${bytes.toString('hex', 2, maskStart)}`))
    const start = maskStart + 4
    if (bytes.length < start + length) return
    const payload = Buffer.from(bytes.subarray(start, start + length))
    for (let index = 0; index < payload.length; index += 1) {
      payload[index] = (payload[index] ?? 0) ^ (bytes[maskStart + (index % 4)] ?? 0)
    }
    connection.bytes = bytes.subarray(start + length)
    const opcode = first & 0x0f
    if (opcode === OPCODES.text) web.onText(payload.toString('utf8'))
    else if (opcode === OPCODES.ping && !isBlackHole()) socket.write(frame(OPCODES.pong, payload))
    else if (opcode === OPCODES.close) socket.end(frame(OPCODES.close, payload))
  }
}

function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload
  const size =
    length < 126
      ? Buffer.from([length])
      : length < 65_536
        ? Buffer.from([126, length >> 8, length & 0xff])
        : Buffer.from(`7f${length.toString(16).padStart(16, '0')}`, 'hex')
  return Buffer.concat([Buffer.from([0x80 | opcode]), size, payload])
}
