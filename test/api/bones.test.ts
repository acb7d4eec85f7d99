import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { assertError, startTestApi, type TestApi } from '../support/api.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'

let api: TestApi
let seller: SeededStore

before(async () => {
  api = await startTestApi()
  seller = await seedStore(api.database.db)
})
after(() => api.close())

const JSON_TYPE = { 'Content-Type': 'application/json' }

function post(body: string, headers: Record<string, string> = {}) {
  return api.call('POST', '/v1/checkout/info', { body, headers })
}

/** Sends raw bytes and reads the raw answer until the server closes or is silent. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(text))
    socket.setTimeout(1_000, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += String(chunk)
      if (answer.includes('"requestId"')) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

test('404 not_found on an unknown path, whatever the method', async () => {
  for (const path of ['/v1', '/v2/checkout', '/v1/checkout/x/y', '/v1/payments', '/%zz']) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      assertError(await api.call(method, path), 404, 'not_found')
    }
  }
  assertError(await api.call('GET', '/v1/payments/%zz'), 404, 'not_found')
})

test('405 method_not_allowed says in Allow what the path takes', async () => {
  const answer = await api.call('GET', '/v1/checkout')
  assertError(answer, 405, 'method_not_allowed')
  assert.equal(answer.headers.get('allow'), 'POST, OPTIONS')
  const other = await api.call('DELETE', '/v1/networks')
  assertError(other, 405, 'method_not_allowed')
  assert.equal(other.headers.get('allow'), 'GET, HEAD')
})

test('HEAD answers as GET does, without the body', async () => {
  const answer = await api.call('HEAD', '/v1/networks')
  assert.deepEqual([answer.status, answer.text], [200, ''])
})

test('415 unsupported_media_type for a body that is not application/json', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', '']) {
    assertError(await post('{}', { 'Content-Type': type }), 415, 'unsupported_media_type')
  }
  const form = { 'Content-Type': 'multipart/form-data; boundary=x' }
  assertError(await post('--x--', form), 415, 'unsupported_media_type')
  const json = { 'Content-Type': 'Application/JSON; charset=utf-8' }
  assertError(await post('{}', json), 400, 'invalid_request', 'publishableKey')
})

test('413 payload_too_large for a body over 64 KiB, announced', async () => {
  const fits = JSON.stringify({ x: 'a'.repeat(65_536 - 8) })
  assert.equal(fits.length, 65_536)
  assert.equal((await post(fits)).status, 400)
  assertError(await post(`${fits} `), 413, 'payload_too_large')
  assertError(await post(`${fits}${' '.repeat(5_000_000)}`), 413, 'payload_too_large')
})

test('413 payload_too_large for a body over 64 KiB in chunks of unknown number', async () => {
  const chunk = new TextEncoder().encode(' '.repeat(8_192))
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(chunk) })
  const response = await fetch(`${api.url}/v1/checkout`, {
    method: 'POST',
    headers: JSON_TYPE,
    body,
    duplex: 'half',
  } as RequestInit)
  assert.equal(response.status, 413)
  assert.match(await response.text(), /"code":"payload_too_large"/)
})

test('413 in our own shape for a length no server would take', async () => {
  const answer = await raw(
    'POST /v1/checkout HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{',
  )
  assert.match(answer, /^HTTP\/1.1 413 /)
  assert.match(answer, /"code":"payload_too_large"/)
})

test('a chunked body within the bound is read whole', async () => {
  const text = JSON.stringify({ publishableKey: 'x', priceId: 'y' })
  const chunks = [...text].map((one) => `1\r\n${one}\r\n`).join('')
  const answer = await raw(
    `POST /v1/checkout/info HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  )
  assert.match(answer, /^HTTP\/1.1 401 /)
})

test('400 invalid_request for malformed JSON, no body, and what is no object', async () => {
  for (const body of ['{', '{"a":1,}', 'nope', '{"a":1}{"b":2}', '[', '"x']) {
    assertError(await post(body), 400, 'invalid_request')
  }
  for (const body of ['[]', '"x"', '5', 'null', 'true', '[{}]']) {
    assertError(await post(body), 400, 'invalid_request')
  }
  const empty = await api.call('POST', '/v1/checkout/info', { headers: JSON_TYPE })
  assertError(empty, 400, 'invalid_request')
})

test('400 invalid_request for bytes that are not UTF-8', async () => {
  const response = await fetch(`${api.url}/v1/checkout/info`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  })
  assert.equal(response.status, 400)
})

test('400 invalid_request names the field: twice, unknown, NUL, half a surrogate, beyond 2^53', async () => {
  const cases: [string, string][] = [
    ['{"publishableKey":"a","publishableKey":"b"}', 'publishableKey'],
    ['{"publishableKey":"a","priceId":"b","nope":1}', 'nope'],
    ['{"publishableKey":"a\\u0000","priceId":"b"}', 'publishableKey'],
    ['{"publishableKey":"a","priceId":"\\ud800"}', 'priceId'],
    ['{"publishableKey":"a","amount":9007199254740993}', 'amount'],
    ['{"publishableKey":"a","amount":"5"}', 'amount'],
    ['{"publishableKey":"a","amount":[5]}', 'amount'],
    ['{"publishableKey":"a","amount":1.5}', 'amount'],
    ['{"publishableKey":5,"priceId":"b"}', 'publishableKey'],
    ['{"__proto__":{"a":1}}', '__proto__'],
    ['{"publishableKey":"a","priceId":"b","constructor":1}', 'constructor'],
  ]
  for (const [body, param] of cases) assertError(await post(body), 400, 'invalid_request', param)
})

test('every answer carries a request id of its own', async () => {
  const answers = await Promise.all([
    api.call('GET', '/healthz'),
    api.call('GET', '/nowhere'),
    api.call('OPTIONS', '/v1/checkout'),
    api.call('GET', '/v1/networks'),
  ])
  const ids = answers.map(({ headers }) => headers.get('x-request-id'))
  for (const id of ids) assert.match(id ?? '', /^req_[0-9a-z]+$/)
  assert.equal(new Set(ids).size, ids.length)
})

test('CORS: publishable-key and capability endpoints answer any origin, without credentials', async () => {
  for (const path of [
    '/v1/checkout',
    '/v1/checkout/info',
    '/v1/payments/pay_1',
    '/v1/payments/pay_1/cancel',
    '/v1/payments/pay_1/stream',
    '/v1/test/payments/pay_1/simulate',
  ]) {
    const preflight = await api.call('OPTIONS', path, {
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'POST' },
    })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /content-type/i)
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null)
  }
  const refused = await api.call('POST', '/v1/checkout', { body: {} })
  assert.equal(refused.headers.get('access-control-allow-origin'), '*')
  const missing = await api.call('GET', '/v1/payments/pay_1')
  assert.equal(missing.headers.get('access-control-allow-origin'), '*')
})

test('CORS: nothing that takes a secret key, and no page of ours, answers a foreign origin', async () => {
  for (const { auth, method, path } of api.app.endpoints) {
    if (auth === 'publishable' || auth === 'capability') continue
    const url = path.replaceAll(/:[A-Za-z]+/g, 'x')
    for (const answer of [await api.call('OPTIONS', url), await api.call(method, url)]) {
      assert.equal(answer.headers.get('access-control-allow-origin'), null, `${method} ${path}`)
    }
  }
})

test('a host name of one letter reaches the same route', async () => {
  assert.match(await raw('GET /v1/nowhere HTTP/1.1\r\nHost: x\r\n\r\n'), /"code":"not_found"/)
  const text = '{"publishableKey":"x","priceId":"y"}'
  const answer = await raw(
    `POST /v1/checkout/info HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  )
  assert.match(answer, /"code":"invalid_api_key"/)
})

test('healthz answers, readyz names the networks that are on and see nothing', async () => {
  assert.deepEqual((await api.call('GET', '/healthz')).body, { status: 'OK' })
  const answer = await api.call('GET', '/readyz')
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.body.status, 'DEGRADED')
  assert.deepEqual(
    answer.body.networks.map((one: { deployment: string }) => one.deployment).sort(),
    ['base:live', 'base:test'],
  )
  assert.equal(answer.body.networks[0].state, 'NOT_RUNNING')
})

test('metrics count requests by endpoint and are for private addresses only', async () => {
  await api.call('GET', '/v1/networks')
  const answer = await api.call('GET', '/metrics')
  assert.equal(answer.status, 200)
  assert.match(
    answer.text,
    /api_requests_total\{method="GET",path="\/v1\/networks",status="200"\} \d+/,
  )
  const stranger = await api.app.fetch(new Request('http://localhost/metrics'), '8.8.8.8')
  assert.equal(stranger.status, 404)
})

test('an error nobody foresaw is internal_error and tells nothing of itself', async () => {
  const { db } = api.database
  await db`alter table payments rename column address to address_gone`
  try {
    const answer = await api.call('GET', `/v1/payments/pay_${'0'.repeat(38)}`)
    assertError(answer, 500, 'internal_error')
    assert.doesNotMatch(answer.text, /address|column|select|127\.0/)
  } finally {
    await db`alter table payments rename column address_gone to address`
  }
})

test('a seller’s keys are no part of any answer here', async () => {
  const answer = await post(
    JSON.stringify({ publishableKey: seller.keys.test.secret, priceId: 'x' }),
  )
  assertError(answer, 401, 'invalid_api_key')
  assert.ok(!answer.text.includes(seller.keys.test.secret))
})
