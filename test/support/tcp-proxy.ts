import { connect as connectTo, createServer, type Socket } from 'node:net'

/** A TCP proxy in front of a database that can behave as broken networks do. */
export type TcpProxy = {
  /** The database's URL, by way of the proxy. */
  url: string
  /**
   * `forward` passes everything on; `silent` passes nothing on, old connections and new, and closes none, as a host does
   * that was unplugged; `hangUp` closes what there is and what comes.
   */
  behave(mode: 'forward' | 'silent' | 'hangUp'): void
  /** How many times clients began to speak, on new connections or after an answer: round trips. */
  turnCount(): number
  /** How many new connections were hung up on. */
  hangUpCount(): number
  close(): Promise<void>
}

/** Starts a proxy on a free port in front of the server that a database URL names. */
export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let mode: 'forward' | 'silent' | 'hangUp' = 'forward'
  let turnCount = 0
  let hangUpCount = 0
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
  }
  const server = createServer((client) => {
    keep(client)
    if (mode === 'hangUp') {
      hangUpCount += 1
      client.destroy()
      return
    }
    const upstream = connectTo(Number(target.port || 5432), target.hostname)
    keep(upstream)
    let isClientsTurn = true
    client.on('data', (chunk) => {
      if (isClientsTurn) turnCount += 1
      isClientsTurn = false
      if (mode === 'forward') upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      isClientsTurn = true
      if (mode === 'forward') client.write(chunk)
    })
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => mode === 'forward' && client.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${address.port}`
  const hangUp = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    behave(next) {
      mode = next
      if (mode === 'hangUp') hangUp()
    },
    turnCount: () => turnCount,
    hangUpCount: () => hangUpCount,
    async close() {
      const closed = new Promise((done) => server.close(done))
      hangUp()
      await closed
    },
  }
}
