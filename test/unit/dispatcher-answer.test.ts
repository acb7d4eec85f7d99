import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Answer,
  AnswerError,
  BODY_READ_BYTES_MAX,
  createAnswerReader,
} from '../../dispatcher/answer.ts'

/** Feeds the text in pieces of so many bytes and then ends the connection. */
function read(text: string, pieceBytes = text.length): Answer {
  const reader = createAnswerReader()
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const answer = reader.push(bytes.subarray(at, at + pieceBytes))
    if (answer !== null) return answer
  }
  return reader.end()
}

const text = (answer: Answer) => Buffer.from(answer.body).toString('latin1')

const SOUND: [name: string, bytes: string, status: number, body: string, isReusable: boolean][] = [
  ['a body with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok', true],
  ['no reason phrase', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', 200, '', true],
  ['204 without length', 'HTTP/1.1 204 No Content\r\n\r\n', 204, '', true],
  ['304 with a length', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n', 304, '', true],
  [
    'chunks with extension and trailer',
    'HTTP/1.1 500 No\r\ntransfer-encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n',
    500,
    'abc0123456789',
    true,
  ],
  ['a body until the end', 'HTTP/1.1 200 OK\r\n\r\nrest', 200, 'rest', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok', false],
  [
    'Connection: close',
    'HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok',
    200,
    'ok',
    false,
  ],
  [
    'interim answers before it',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 2\r\n\r\nok',
    201,
    'ok',
    true,
  ],
  [
    'both framings at once',
    'HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    200,
    'ok',
    false,
  ],
  ['a redirect', 'HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n', 302, '', true],
]

const BROKEN: [name: string, bytes: string][] = [
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['a header without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
  ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ['endless headers', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(20_000)}`],
  ['endless interim answers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000)],
  ['an early end in the headers', 'HTTP/1.1 200 OK\r\nContent-'],
  ['an early end in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok'],
  ['an early end in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok'],
]

describe('reading an endpoint’s answer', () => {
  for (const [name, bytes, status, body, isReusable] of SOUND) {
    test(`takes ${name}, in one piece or byte by byte`, () => {
      for (const pieceBytes of [bytes.length, 1, 3]) {
        const answer = read(bytes, pieceBytes)
        assert.equal(answer.status, status)
        assert.equal(text(answer), body)
        assert.equal(answer.isReusable, isReusable)
      }
    })
  }

  for (const [name, bytes] of BROKEN) {
    test(`refuses ${name}, in one piece or byte by byte`, () => {
      assert.throws(() => read(bytes), AnswerError)
      assert.throws(() => read(bytes, 1), AnswerError)
    })
  }

  test('keeps the first KiB and reads a body to its end when it is not long', () => {
    const answer = read(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'x'.repeat(5000)}`, 700)
    assert.equal(answer.body.length, 1024)
    assert.ok(answer.isReusable)
  })

  test('stops at 64 KiB of body, chunk or not, and gives the connection up', () => {
    const long = 'x'.repeat(BODY_READ_BYTES_MAX + 1)
    const endlessTrailer = `0\r\n${'X: y\r\n'.repeat(20_000)}`
    for (const bytes of [
      `HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n${long}`,
      `HTTP/1.1 200 OK\r\n\r\n${long}`,
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(30_000)}`,
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${endlessTrailer}`,
    ]) {
      const answer = read(bytes, 10_000)
      assert.equal(answer.status, 200)
      assert.ok(answer.body.length <= 1024)
      assert.ok(!answer.isReusable)
    }
  })

  test('bytes behind a whole answer end the connection', () => {
    const answer = read('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n')
    assert.equal(answer.status, 200)
    assert.ok(!answer.isReusable)
  })

  test('hands Retry-After on as it came', () => {
    const answer = read('HTTP/1.1 503 No\r\nRETRY-AFTER:  17 \r\nContent-Length: 0\r\n\r\n')
    assert.equal(answer.retryAfter, '17')
  })

  test('does not keep the caller’s buffer alive', () => {
    const bytes = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    const answer = createAnswerReader().push(bytes)
    bytes.fill(0)
    assert.equal(answer && text(answer), 'ok')
  })
})
