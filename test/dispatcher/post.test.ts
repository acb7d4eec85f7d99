import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { createPoster, type PostRequest, type PostResult } from '../../dispatcher/post.ts'
import { startReceiver } from '../support/receiver.ts'
import { TEST_CA, TEST_TLS } from '../support/receiver-tls.ts'
import { until } from '../support/until.ts'

const BODY = Buffer.from('{"id":"pay_1:payment.confirmed","note":"ü\\u0000🚀"}')
const TIMEOUT_MS = 400

const requestTo = (url: string): PostRequest => ({
  url,
  eventType: 'payment.confirmed',
  eventId: 'pay_1:payment.confirmed',
  signature: 't=1,v1=00',
  body: BODY,
})

const faultOf = (result: PostResult) => (result.kind === 'failed' ? result.fault : result.status)

describe('posting a webhook', () => {
  const closers: (() => unknown)[] = []
  after(async () => {
    for (const close of closers) await close()
  })
  const poster = (options: Partial<Parameters<typeof createPoster>[0]> = {}) => {
    const made = createPoster({ allowPrivate: true, attemptTimeoutMs: TIMEOUT_MS, ...options })
    closers.push(() => made.close())
    return made
  }
  const receiver = async (options: Parameters<typeof startReceiver>[0] = {}) => {
    const made = await startReceiver(options)
    closers.push(() => made.close())
    return made
  }

  test('sends the exact bytes with the headers of the specification', async () => {
    const seller = await receiver()
    const result = await poster().post(requestTo(`${seller.url}?shop=1#part`))
    assert.equal(faultOf(result), 200)
    const [got] = seller.received
    assert.ok(got)
    assert.deepEqual(got.rawBody, BODY)
    assert.equal(got.path, '/hook?shop=1')
    assert.equal(got.headers['content-type'], 'application/json')
    assert.equal(got.headers['x-service-event'], 'payment.confirmed')
    assert.equal(got.headers['x-service-delivery'], 'pay_1:payment.confirmed')
    assert.equal(got.headers['x-service-signature'], 't=1,v1=00')
    assert.equal(got.headers.host, `127.0.0.1:${seller.port}`)
    assert.match(got.headers['user-agent'] ?? '', /^stablecoin-payments/)
  })

  test('hands on status, Retry-After and the first KiB of the answer', async () => {
    const seller = await receiver()
    seller.answer({ status: 503, headers: { 'retry-after': '7' }, body: 'x'.repeat(3000) })
    const result = await poster().post(requestTo(seller.url))
    assert.ok(result.kind === 'answered')
    assert.equal(result.status, 503)
    assert.equal(result.retryAfter, '7')
    assert.equal(Buffer.from(result.body).toString(), 'x'.repeat(1024))
  })

  test('reuses a connection, and copes with one the seller closed meanwhile', async () => {
    const seller = await receiver()
    const one = poster()
    await one.post(requestTo(seller.url))
    await one.post(requestTo(seller.url))
    assert.equal(seller.received[0]?.clientPort, seller.received[1]?.clientPort)
    await seller.close()
    const again = await receiver({ port: seller.port })
    await until(async () => faultOf(await one.post(requestTo(again.url))) === 200, {
      what: 'a post over a new connection',
    })
    assert.equal(again.received.length, 1)
  })

  test('never follows a redirect', async () => {
    const seller = await receiver()
    const elsewhere = await receiver()
    seller.answer({ status: 307, headers: { location: elsewhere.url } })
    assert.equal(faultOf(await poster().post(requestTo(seller.url))), 307)
    assert.equal(elsewhere.received.length, 0)
  })

  for (const reply of ['never', 'drip'] as const) {
    test(`gives up an endpoint that ${reply === 'never' ? 'never answers' : 'answers byte by byte'} after the time limit`, async () => {
      const seller = await receiver()
      seller.answer(reply)
      const startedAt = performance.now()
      assert.equal(faultOf(await poster().post(requestTo(seller.url))), 'timeout')
      assert.ok(performance.now() - startedAt < TIMEOUT_MS * 3)
    })
  }

  test('reads no more of a huge body than it must, and the status stands', async () => {
    const seller = await receiver()
    seller.answer('huge')
    const result = await poster().post(requestTo(seller.url))
    assert.ok(result.kind === 'answered')
    assert.equal(result.status, 200)
    assert.equal(result.body.length, 1024)
  })

  test('never inflates a compressed body', async () => {
    const seller = await receiver()
    seller.answer('gzip-bomb')
    const result = await poster().post(requestTo(seller.url))
    assert.ok(result.kind === 'answered')
    assert.deepEqual([...result.body.subarray(0, 2)], [0x1f, 0x8b])
  })

  test('tells reset, garbage and a closed port apart', async () => {
    const seller = await receiver()
    seller.answer('reset')
    assert.equal(faultOf(await poster().post(requestTo(seller.url))), 'reset')
    seller.answer('garbage')
    assert.equal(faultOf(await poster().post(requestTo(seller.url))), 'bad_answer')
    await seller.close()
    assert.equal(faultOf(await poster().post(requestTo(seller.url))), 'connect')
  })

  test('connects to the address that was vetted, with the name for Host and TLS', async () => {
    const seller = await receiver({ tls: TEST_TLS })
    const asked: string[] = []
    const lookup = async (name: string) => {
      asked.push(name)
      return ['127.0.0.1']
    }
    const result = await poster({ trustedCa: TEST_CA, lookup }).post(
      requestTo(`https://${TEST_TLS.name}:${seller.port}/hook`),
    )
    assert.equal(faultOf(result), 200)
    assert.equal(seller.received[0]?.headers.host, `${TEST_TLS.name}:${seller.port}`)
    assert.deepEqual(asked, [TEST_TLS.name])
  })

  test('refuses a certificate of another name or of nobody trusted', async () => {
    const seller = await receiver({ tls: TEST_TLS })
    const lookup = async () => ['127.0.0.1']
    const other = requestTo(`https://other.example.test:${seller.port}/hook`)
    assert.equal(faultOf(await poster({ trustedCa: TEST_CA, lookup }).post(other)), 'tls')
    const byAddress = requestTo(`https://127.0.0.1:${seller.port}/hook`)
    assert.equal(faultOf(await poster({ trustedCa: TEST_CA }).post(byAddress)), 'tls')
    const named = requestTo(`https://${TEST_TLS.name}:${seller.port}/hook`)
    assert.equal(faultOf(await poster({ lookup }).post(named)), 'tls')
    assert.equal(seller.received.length, 0)
  })

  test('two names on one address never share a connection', async () => {
    const seller = await receiver()
    const one = poster({ lookup: async () => ['127.0.0.1'] })
    await one.post(requestTo(`http://a.example.test:${seller.port}/hook`))
    await one.post(requestTo(`http://b.example.test:${seller.port}/hook`))
    await one.post(requestTo(`http://a.example.test:${seller.port}/hook`))
    const [first, second, third] = seller.received.map((got) => got.clientPort)
    assert.notEqual(first, second)
    assert.equal(first, third)
  })

  test('a name that leads elsewhere by now is asked there, not over the connection to where it led', async () => {
    const seller = await receiver()
    let addresses = ['127.0.0.1']
    const one = poster({ lookup: async () => addresses })
    const request = requestTo(`http://a.example.test:${seller.port}/hook`)
    assert.equal(faultOf(await one.post(request)), 200)
    addresses = ['127.0.0.2']
    assert.equal(faultOf(await one.post(request)), 'connect', 'nobody listens there')
    assert.equal(seller.received.length, 1)
  })

  test('a name with one private address, or none at all, is refused at each attempt', async () => {
    const seller = await receiver({ tls: TEST_TLS })
    let addresses = ['8.8.8.8', '127.0.0.1']
    const strict = poster({
      allowPrivate: false,
      trustedCa: TEST_CA,
      lookup: async () => addresses,
    })
    const request = requestTo(`https://${TEST_TLS.name}:${seller.port}/hook`)
    assert.equal(faultOf(await strict.post(request)), 'blocked_address')
    addresses = []
    assert.equal(faultOf(await strict.post(request)), 'unresolvable')
    assert.equal(seller.received.length, 0)
  })

  test('checks scheme, user info and written address again at each attempt', async () => {
    const seller = await receiver()
    const strict = poster({ allowPrivate: false })
    for (const url of [
      seller.url,
      `https://127.0.0.1:${seller.port}/`,
      `https://2130706433:${seller.port}/`,
      'file:///etc/passwd',
      'https://user@example.com/',
      'no url',
    ]) {
      assert.equal(faultOf(await strict.post(requestTo(url))), 'bad_url')
    }
    assert.equal(seller.received.length, 0)
  })

  test('tries the next address when one does not accept connections', async () => {
    const seller = await receiver()
    const lookup = async () => ['127.0.0.2', '::1', '127.0.0.1']
    const result = await poster({ lookup }).post(requestTo(`http://a.test:${seller.port}/hook`))
    assert.equal(faultOf(result), 200)
  })

  test('lets no event type or id smuggle a header in', async () => {
    const seller = await receiver()
    const request = { ...requestTo(seller.url), eventType: 'x\r\nX-Evil: 1' }
    await assert.rejects(poster().post(request), RangeError)
    assert.equal(seller.received.length, 0)
  })

  test('closing the poster ends what is on its way', async () => {
    const seller = await receiver()
    seller.answer('never')
    const one = poster({ attemptTimeoutMs: 60_000 })
    const pending = one.post(requestTo(seller.url))
    while (seller.received.length === 0) await new Promise((next) => setImmediate(next))
    one.close()
    assert.equal(faultOf(await pending), 'reset')
  })

  describe('through a proxy', () => {
    const startProxy = async (answer: string | null) => {
      const asked: { authority: string; authorization: string | undefined }[] = []
      const sockets = new Set<Socket>()
      const server: Server = createServer((near) => {
        sockets.add(near)
        near.once('data', (head) => {
          const text = head.toString('latin1')
          const [, authority = ''] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(text) ?? []
          asked.push({
            authority,
            authorization: /Proxy-Authorization: (.*)\r\n/.exec(text)?.[1],
          })
          if (answer !== null) {
            near.end(answer)
            return
          }
          const far = connect(Number(authority.split(':').at(-1)), '127.0.0.1', () => {
            near.write('HTTP/1.1 200 Connection established\r\n\r\n')
            near.pipe(far).pipe(near)
          })
          sockets.add(far)
          far.on('error', () => near.destroy())
          near.on('error', () => far.destroy())
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      closers.push(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise((resolve) => server.close(resolve))
      })
      return { port: (server.address() as AddressInfo).port, asked }
    }

    test('https goes end to end, to the vetted address', async () => {
      const seller = await receiver({ tls: TEST_TLS })
      const proxy = await startProxy(null)
      const one = poster({
        egressProxy: `http://egress:s%40cret@127.0.0.1:${proxy.port}`,
        trustedCa: TEST_CA,
        lookup: async () => ['127.0.0.1'],
      })
      const request = requestTo(`https://${TEST_TLS.name}:${seller.port}/hook`)
      assert.equal(faultOf(await one.post(request)), 200)
      assert.equal(faultOf(await one.post(request)), 200)
      assert.deepEqual(proxy.asked, [
        {
          authority: `127.0.0.1:${seller.port}`,
          authorization: `Basic ${Buffer.from('egress:s@cret').toString('base64')}`,
        },
      ])
    })

    test('plain http does too', async () => {
      const seller = await receiver()
      const proxy = await startProxy(null)
      const one = poster({ egressProxy: `http://127.0.0.1:${proxy.port}` })
      assert.equal(faultOf(await one.post(requestTo(seller.url))), 200)
      assert.equal(proxy.asked[0]?.authority, `127.0.0.1:${seller.port}`)
    })

    test('a private address is refused before the proxy is asked', async () => {
      const proxy = await startProxy(null)
      const one = poster({
        allowPrivate: false,
        egressProxy: `http://127.0.0.1:${proxy.port}`,
        lookup: async () => ['10.0.0.1'],
      })
      assert.equal(
        faultOf(await one.post(requestTo('https://hooks.example.test/'))),
        'blocked_address',
      )
      assert.equal(proxy.asked.length, 0)
    })

    test('a proxy that refuses or is gone is a proxy fault, not the endpoint’s', async () => {
      const refusing = await startProxy('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      const seller = await receiver()
      const one = poster({ egressProxy: `http://127.0.0.1:${refusing.port}` })
      assert.equal(faultOf(await one.post(requestTo(seller.url))), 'proxy')
      const gone = createHttpServer()
      await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve))
      const { port } = gone.address() as AddressInfo
      await new Promise((resolve) => gone.close(resolve))
      const two = poster({ egressProxy: `http://127.0.0.1:${port}` })
      assert.equal(faultOf(await two.post(requestTo(seller.url))), 'proxy')
      assert.equal(seller.received.length, 0)
    })
  })
})
