import { connect, type Socket } from 'node:net'
import { percentile } from './bench.ts'

export type LoadOptions = {
  /** `http://127.0.0.1:3000`. */
  url: string
  /** Requests sent, all connections together. */
  count: number
  /** Keep-alive connections, each with one request under way. */
  connections: number
  /** The whole request as it goes over the wire. */
  request(index: number): string
  /** The status every answer must have. */
  status: number
}

export type Load = { perSecond: number; p50Ms: number; p99Ms: number }

/** Milliseconds until a load that does not end is given up. */
const TIMEOUT_MS = 120_000

/**
 * Sends requests over sockets of its own and counts the answers: cheaper than any HTTP client, so that what is measured
 * is the server beside it on the same cores. Answers must have a Content-Length.
 */
export async function measureLoad(options: LoadOptions): Promise<Load> {
  const { url, count, connections } = options
  const latenciesMs: number[] = []
  const state = { next: 0, latenciesMs }
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = await open(new URL(url))
      await drive(socket, options, state)
      socket.destroy()
    }),
  )
  return {
    perSecond: (count / (performance.now() - startedAt)) * 1000,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
  }
}

function open({ hostname, port }: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => resolve(socket))
    socket.setEncoding('latin1')
  })
}

/** One request after the other on one connection, until all are sent. */
function drive(
  socket: Socket,
  { count, request, status }: LoadOptions,
  state: { next: number; latenciesMs: number[] },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, TIMEOUT_MS, new Error('a load did not end'))
    let received = ''
    let sentAt = 0
    const send = () => {
      if (state.next >= count) {
        clearTimeout(timer)
        resolve()
        return
      }
      const index = state.next
      state.next += 1
      sentAt = performance.now()
      socket.write(request(index))
    }
    socket.on('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (piece: string) => {
      received += piece
      if (!isWhole(received)) return
      if (!received.startsWith(`HTTP/1.1 ${status} `)) {
        reject(new Error(`not ${status}: ${received}`))
        return
      }
      state.latenciesMs.push(performance.now() - sentAt)
      received = ''
      send()
    })
    send()
  })
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1]
  if (length === undefined) throw new Error(`an answer has no length: ${text}`)
  return text.length >= headEnd + 4 + Number(length)
}
