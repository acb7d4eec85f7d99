/** How much of an answer's body is kept for the seller to look at, in bytes. Contract section 2. */
export const BODY_KEPT_BYTES_MAX = 1_024
/** How much of a body is read before the connection is given up, in bytes. The status stands. */
export const BODY_READ_BYTES_MAX = 65_536
/** Status line and headers together, interim answers included, in bytes: what Node allows too. */
export const HEAD_BYTES_MAX = 16_384
/** A chunk's size line with its extensions, or one trailer line, in bytes. */
const LINE_BYTES_MAX = 1_024

/** What an endpoint answered, as far as it was read. */
export type Answer = {
  readonly status: number
  /** Value of `Retry-After`, untouched; null when there was none. */
  readonly retryAfter: string | null
  /** First bytes of the body as they came over the wire: never decompressed. */
  readonly body: Uint8Array
  /** Whether the whole answer was read and the connection may serve another request. */
  readonly isReusable: boolean
}

/** Reads one HTTP/1.1 answer (RFC 9112) piece by piece; knows nothing of sockets or time. */
export type AnswerReader = {
  /** Takes the next bytes; the answer once it is complete or long enough, else null.
   * @throws AnswerError when the bytes are no HTTP answer */
  push(bytes: Uint8Array): Answer | null
  /** The connection ended: the answer when its body may end so.
   * @throws AnswerError when it ended too early */
  end(): Answer
  /** Whether any byte has come. */
  hasBegun(): boolean
}

/** The peer sent something that is not an HTTP/1.1 answer. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

type Step = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk-data' | 'trailers' | 'done'

type State = {
  step: Step
  pending: Buffer
  hasBegun: boolean
  headBytes: number
  status: number
  retryAfter: string | null
  keepsAlive: boolean
  /** Bytes still to come of the body or of the current chunk (with its line end). */
  left: number
  readBytes: number
  kept: Buffer[]
  keptBytes: number
}

/** Makes a reader for the answer to one request that has a body and is not HEAD or CONNECT. */
export function createAnswerReader(): AnswerReader {
  const state: State = {
    step: 'head',
    pending: Buffer.alloc(0),
    hasBegun: false,
    headBytes: 0,
    status: 0,
    retryAfter: null,
    keepsAlive: false,
    left: 0,
    readBytes: 0,
    kept: [],
    keptBytes: 0,
  }
  return {
    push(bytes) {
      state.hasBegun = true
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      state.pending = state.pending.length === 0 ? piece : Buffer.concat([state.pending, piece])
      while (advance(state)) {
        if (isDone(state)) return answerOf(state, state.keepsAlive && state.pending.length === 0)
        if (state.readBytes >= BODY_READ_BYTES_MAX) return answerOf(state, false)
      }
      return null
    },
    end() {
      if (state.step === 'until-close') return answerOf(state, false)
      throw new AnswerError('connection ended before the answer did')
    },
    hasBegun: () => state.hasBegun,
  }
}

function isDone(state: State): boolean {
  return state.step === 'done'
}

/** Does one step; false when it needs more bytes. */
function advance(state: State): boolean {
  switch (state.step) {
    case 'head':
      return readHead(state)
    case 'length':
      return readBody(state, 'done', 0)
    case 'until-close':
      state.left = state.pending.length
      return readBody(state, 'until-close', 0)
    case 'chunk-size':
      return readChunkSize(state)
    case 'chunk-data':
      return readBody(state, 'chunk-size', 2)
    case 'trailers':
      return readTrailer(state)
    case 'done':
      return false
  }
}

function readHead(state: State): boolean {
  const end = state.pending.indexOf('\r\n\r\n')
  const size = end < 0 ? state.pending.length : end + 4
  if (state.headBytes + size > HEAD_BYTES_MAX) throw new AnswerError('headers are too long')
  if (end < 0) return false
  state.headBytes += size
  const lines = state.pending.toString('latin1', 0, end).split('\r\n')
  state.pending = state.pending.subarray(size)
  const match = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(lines[0] ?? '')
  if (match === null) throw new AnswerError('not an HTTP/1.1 answer')
  const status = Number(match[2])
  if (status < 100) throw new AnswerError('not an HTTP status')
  // 1xx is followed by the real answer, except 101: nobody asked to switch protocols.
  if (status < 200 && status !== 101) return true
  state.status = status
  frame(state, headersOf(lines), match[1] === '1')
  return true
}

/** Decides how long the body is, by the rules of RFC 9112 section 6.3 in their order. */
function frame(state: State, headers: ReadonlyMap<string, string>, isVersion11: boolean): void {
  const connection = headers.get('connection')?.toLowerCase() ?? ''
  state.retryAfter = headers.get('retry-after') ?? null
  state.keepsAlive = isVersion11 && !/\bclose\b/.test(connection)
  const coding = headers.get('transfer-encoding')?.toLowerCase()
  const length = headers.get('content-length')
  if (state.status === 204 || state.status === 304 || state.status === 101) {
    state.step = 'done'
    if (state.status === 101) state.keepsAlive = false
  } else if (coding !== undefined) {
    // Both framings at once is how requests are smuggled: read it, but never reuse the connection.
    if (length !== undefined) state.keepsAlive = false
    state.step = coding === 'chunked' ? 'chunk-size' : 'until-close'
  } else if (length !== undefined) {
    if (!/^\d{1,15}$/.test(length)) throw new AnswerError('Content-Length is not a number')
    state.left = Number(length)
    state.step = state.left === 0 ? 'done' : 'length'
  } else {
    state.step = 'until-close'
  }
}

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines.slice(1)) {
    const colon = line.indexOf(':')
    if (colon <= 0) throw new AnswerError('a header line without a name')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    if (name === 'content-length' && before !== undefined && before !== value) {
      throw new AnswerError('two different Content-Length headers')
    }
    const isList = name === 'connection' || name === 'transfer-encoding'
    headers.set(name, isList && before !== undefined ? `${before}, ${value}` : value)
  }
  return headers
}

/** Takes body bytes; `lineEndBytes` are the CR LF that follow a chunk and are no content. */
function readBody(state: State, next: Step, lineEndBytes: number): boolean {
  if (state.pending.length === 0) return false
  const taken = state.pending.subarray(0, state.left)
  const contentBytes = Math.min(taken.length, Math.max(0, state.left - lineEndBytes))
  const room = BODY_KEPT_BYTES_MAX - state.keptBytes
  if (room > 0 && contentBytes > 0) {
    const kept = Buffer.from(taken.subarray(0, Math.min(room, contentBytes)))
    state.kept.push(kept)
    state.keptBytes += kept.length
  }
  state.readBytes += taken.length
  state.left -= taken.length
  state.pending = state.pending.subarray(taken.length)
  if (state.left === 0) state.step = next
  return true
}

function readChunkSize(state: State): boolean {
  const line = takeLine(state)
  if (line === null) return false
  const match = /^([0-9a-f]{1,8})[ \t]*(?:;|$)/i.exec(line)
  if (match === null) throw new AnswerError('a chunk without a size')
  const size = Number.parseInt(match[1] ?? '', 16)
  state.left = size + 2
  state.step = size === 0 ? 'trailers' : 'chunk-data'
  return true
}

function readTrailer(state: State): boolean {
  const line = takeLine(state)
  if (line === null) return false
  if (line === '') state.step = 'done'
  return true
}

function takeLine(state: State): string | null {
  const end = state.pending.indexOf('\r\n')
  if ((end < 0 ? state.pending.length : end) > LINE_BYTES_MAX) {
    throw new AnswerError('a chunk line is too long')
  }
  if (end < 0) return null
  const line = state.pending.toString('latin1', 0, end)
  // Framing counts as read too, so that endless chunk lines and trailers meet the same bound.
  state.readBytes += end + 2
  state.pending = state.pending.subarray(end + 2)
  return line
}

function answerOf(state: State, isReusable: boolean): Answer {
  return {
    status: state.status,
    retryAfter: state.retryAfter,
    body: Buffer.concat(state.kept),
    isReusable,
  }
}
