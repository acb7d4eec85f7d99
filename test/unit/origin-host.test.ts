import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRejectedBy, parseHost, parseOriginHost, rejectingHosts } from '#shared/origin-host.ts'

const HOSTS: readonly [header: string, host: string][] = [
  ['https://shop.example', 'shop.example'],
  ['http://shop.example', 'shop.example'],
  ['https://SHOP.Example', 'shop.example'],
  ['HTTPS://shop.example', 'shop.example'],
  ['https://shop.example:8443', 'shop.example'],
  ['https://shop.example:443', 'shop.example'],
  ['https://shop.example.', 'shop.example'],
  ['https://a.b.shop.example', 'a.b.shop.example'],
  ['https://my_shop.example', 'my_shop.example'],
  ['http://localhost:5173', 'localhost'],
  ['http://127.0.0.1:3000', '127.0.0.1'],
  ['http://[::1]:3000', '[::1]'],
  ['http://[::FFFF:7f00:1]', '[::ffff:7f00:1]'],
  ['https://xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['https://bücher.example', 'xn--bcher-kva.example'],
  ['https://BÜCHER.example', 'xn--bcher-kva.example'],
]
for (const [header, host] of HOSTS) {
  test(`an Origin of ${header} is the host ${host}`, () => {
    assert.deepEqual(parseOriginHost(header), { host })
  })
}

test('a missing Origin is told from an opaque one', () => {
  assert.deepEqual(parseOriginHost(undefined), { refusal: 'missing' })
  assert.deepEqual(parseOriginHost(null), { refusal: 'missing' })
  assert.deepEqual(parseOriginHost(''), { refusal: 'missing' })
  assert.deepEqual(parseOriginHost('null'), { refusal: 'opaque' })
})

const MALFORMED = [
  'shop.example',
  'https://',
  'https:shop.example',
  'https:///shop.example',
  '//shop.example',
  'https://shop.example/',
  'https://shop.example/path',
  'https://shop.example?q',
  'https://shop.example#f',
  'https://user@shop.example',
  'https://user:password@shop.example',
  'https://good.example@evil.example',
  'https://good.example\\@evil.example',
  'https://shop.example, https://evil.example',
  'https://shop.example https://evil.example',
  ' https://shop.example',
  'https://shop.example\n',
  'https://sh%6fp.example',
  'https://shop..example',
  'https://.shop.example',
  'https://shop.example:port',
  'https://shop.example:70000',
  'https://[::1',
  'https://*.example',
  'https://shop.example;x',
  'file://shop.example',
  'chrome-extension://abcdefgh',
  'javascript:alert(1)',
  'NULL',
  'undefined',
  `https://${'a'.repeat(64)}.${'b'.repeat(250)}.example`,
]
for (const header of MALFORMED) {
  test(`an Origin of ${JSON.stringify(header.slice(0, 48))} is malformed`, () => {
    assert.deepEqual(parseOriginHost(header), { refusal: 'malformed' })
  })
}

const NAMED: readonly [text: string, host: string | undefined][] = [
  ['shop.example', 'shop.example'],
  ['Shop.Example', 'shop.example'],
  ['shop.example.', 'shop.example'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['127.0.0.1', '127.0.0.1'],
  ['[::1]', '[::1]'],
  ['', undefined],
  ['.', undefined],
  ['https://shop.example', undefined],
  ['shop.example:443', undefined],
  ['shop.example:', undefined],
  ['shop.example/path', undefined],
  ['user@shop.example', undefined],
  ['*.shop.example', undefined],
  ['shop example', undefined],
  ['::1', undefined],
  ['a'.repeat(255), undefined],
]
for (const [text, host] of NAMED) {
  test(`a seller’s ${JSON.stringify(text.slice(0, 32))} is ${host ?? 'no host'}`, () => {
    assert.equal(parseHost(text), host)
  })
}

const REJECTIONS: readonly [host: string, rejected: string, isRejected: boolean][] = [
  ['evil.example', 'evil.example', true],
  ['www.evil.example', 'evil.example', true],
  ['a.b.evil.example', 'evil.example', true],
  ['evil.example', 'www.evil.example', false],
  ['notevil.example', 'evil.example', false],
  ['evil.example.org', 'evil.example', false],
  ['evil-example', 'example', false],
  ['1.2.3.4', '3.4', false],
  ['1.2.3.4', '1.2.3.4', true],
  ['[::1]', '[::1]', true],
]
for (const [host, rejected, isRejected] of REJECTIONS) {
  test(`${host} ${isRejected ? 'falls' : 'does not fall'} with ${rejected}`, () => {
    assert.equal(isRejectedBy(host, rejected), isRejected)
    assert.equal(rejectingHosts(host).includes(rejected), isRejected)
  })
}

test('every spelling of a rejected origin is rejected', () => {
  for (const header of [
    'https://EVIL.example',
    'https://evil.example.',
    'http://www.evil.example:81',
  ]) {
    const parsed = parseOriginHost(header)
    assert.ok('host' in parsed && isRejectedBy(parsed.host, 'evil.example'))
  }
})

test('the hosts that could reject one are looked up nearest first', () => {
  assert.deepEqual(rejectingHosts('a.b.example'), ['a.b.example', 'b.example', 'example'])
  assert.deepEqual(rejectingHosts('1.2.3.4'), ['1.2.3.4'])
  assert.deepEqual(rejectingHosts('[::ffff:1.2.3.4]'), ['[::ffff:1.2.3.4]'])
})
