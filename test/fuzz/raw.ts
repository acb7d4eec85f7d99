import { connect } from 'node:net'

export type RawAnswer = {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  body: any
  text: string
}

/** Milliseconds until a request that gets no answer counts as one: over the API's own deadline. */
const TIMEOUT_MS = 12_000

/** Sends a request byte for byte as given: no client tidies its path or refuses its headers. */
export async function rawRequest(
  url: string,
  request: {
    method: string
    path: string
    headers: Record<string, string>
    body: string | undefined
  },
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const body = Buffer.from(request.body ?? '')
  const headers = {
    Host: hostname,
    Connection: 'close',
    ...(request.body === undefined ? {} : { 'Content-Length': String(body.length) }),
    ...request.headers,
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const text = `${request.method} ${request.path} HTTP/1.1\r\n${head.join('')}\r\n`
  return parse(await exchange(hostname, Number(port), Buffer.concat([Buffer.from(text), body])))
}

function exchange(host: string, port: number, bytes: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host, port })
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error('no answer in time'))
    }, TIMEOUT_MS)
    socket.on('error', (error) => (chunks.length > 0 ? end() : reject(error)))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      // A stream of events has no end: its beginning is its answer.
      if (/\r\ncontent-type: text\/event-stream/i.test(String(chunks[0]))) end()
    })
    socket.on('end', end)
    // Not ended: a client that has hung up gets no answer.
    socket.write(bytes)
  })
}

function parse(bytes: Buffer): RawAnswer {
  const headEnd = bytes.indexOf('\r\n\r\n')
  const head = bytes.subarray(0, Math.max(0, headEnd)).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head[0] ?? '')?.[1] ?? 599)
  const headers = new Headers()
  for (const line of head.slice(1)) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const raw = bytes.subarray(headEnd + 4)
  const isChunked = headers.get('transfer-encoding') === 'chunked'
  const text = (isChunked ? joinChunks(raw) : raw).toString('utf8')
  const isJson = headers.get('content-type')?.startsWith('application/json') === true
  return { status, headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined }
}

function joinChunks(raw: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < raw.length; ) {
    const lineEnd = raw.indexOf('\r\n', at)
    const length = Number.parseInt(raw.subarray(at, lineEnd).toString('latin1'), 16)
    if (!(length > 0)) break
    parts.push(raw.subarray(lineEnd + 2, lineEnd + 2 + length))
    at = lineEnd + 2 + length + 2
  }
  return Buffer.concat(parts)
}
