import { fail } from '#shared/errors.ts'
import { type Json, JsonError, parseStrictJson } from './strict-json.ts'

/** Octets of a request body (contract section 1, `payload_too_large`). */
export const BODY_BYTES_MAX = 64 * 1024

/**
 * Reads a request's JSON, or undefined when the body is empty. Never holds more than {@link BODY_BYTES_MAX} octets,
 * whatever the request says of its length. Throws `payload_too_large`, `unsupported_media_type`, `invalid_request`.
 */
export async function readJson(request: Request): Promise<Json | undefined> {
  const bytes = await readBytes(request)
  if (bytes.length === 0) return undefined
  if (!isJson(request.headers.get('content-type'))) fail('unsupported_media_type')
  try {
    return parseStrictJson(decode(bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    const { message, param } = error
    return fail('invalid_request', param === '' ? { message } : { message, param })
  }
}

/** The body as it came, at most {@link BODY_BYTES_MAX} octets. Error: payload_too_large. */
export async function readBytes(request: Request): Promise<Uint8Array> {
  const announced = request.headers.get('content-length')
  if (announced !== null && Number(announced) > BODY_BYTES_MAX) fail('payload_too_large')
  if (request.body === null) return new Uint8Array()
  // The server holds a request to the length it announced; without one the body is counted as it comes.
  if (announced !== null) return readWhole(request)
  return readChunks(request.body)
}

async function readWhole(request: Request): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (bytes.length > BODY_BYTES_MAX) fail('payload_too_large')
  return bytes
}

async function readChunks(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > BODY_BYTES_MAX) {
      await reader.cancel()
      fail('payload_too_large')
    }
    chunks.push(value)
  }
  return join(chunks, length)
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

function decode(bytes: Uint8Array): string {
  try {
    // A byte order mark is kept, and then refused: JSON does not begin with one (RFC 8259 section 8.1).
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    return fail('invalid_request', { message: 'The body is not UTF-8.', cause: error })
  }
}

function isJson(contentType: string | null): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === 'application/json'
}
