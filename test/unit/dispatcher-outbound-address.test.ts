import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkWebhookUrl, isBlockedAddress } from '#shared/outbound-address.ts'
import { resolveOutbound } from '#shared/outbound-resolve.ts'

const BLOCKED = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.255',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:10::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
]
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.255.255',
  '172.32.0.1',
  '192.0.1.1',
  '198.17.255.255',
  '223.255.255.255',
  '2001:200::1',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
]
const NOT_PLAIN = [
  '',
  'localhost',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '[::1]',
  '1.2.3',
]

describe('addresses webhooks may not reach', () => {
  for (const ip of BLOCKED) test(`${ip} is blocked`, () => assert.ok(isBlockedAddress(ip)))
  for (const ip of PUBLIC) test(`${ip} is not blocked`, () => assert.ok(!isBlockedAddress(ip)))
  for (const text of NOT_PLAIN) {
    test(`${JSON.stringify(text)} is no plain address and so blocked`, () =>
      assert.ok(isBlockedAddress(text)))
  }
})

describe('a webhook URL', () => {
  const REFUSED = [
    'http://example.com/hook',
    'HTTP://example.com/hook',
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'blob:https://example.com/x',
    's3://bucket/key',
    'javascript:alert(1)',
    '/hook',
    'example.com/hook',
    '',
    'https://',
    'https://user@example.com/',
    'https://user:secret@example.com/',
    'https://example.com:0/',
    'https://example.com:22/',
    'https://example.com:25/',
    'https://example.com:5432/',
    'https://example.com:6379/',
    'https://example.com:99999/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://api.localhost/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://１２７.0.0.1/',
    'https://127.0.0.1./',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[64:ff9b::10.0.0.1]/',
    'https://[2002:a00:1::]/',
    'https://[fd00:ec2::254]/',
    `https://example.com/${'x'.repeat(2048)}`,
  ]
  for (const url of REFUSED) {
    test(`is refused: ${url.slice(0, 60)}`, () => {
      const checked = checkWebhookUrl(url, { allowPrivate: false })
      assert.ok(!checked.ok && checked.reason !== '')
    })
  }

  const TAKEN: [given: string, normal: string][] = [
    ['https://example.com', 'https://example.com/'],
    ['https://Example.COM:443/Hook?a=1#part', 'https://example.com/Hook?a=1'],
    ['https://example.com:8443/hook', 'https://example.com:8443/hook'],
    ['https://bücher.example/hook', 'https://xn--bcher-kva.example/hook'],
    ['https://8.8.8.8/hook', 'https://8.8.8.8/hook'],
    ['https://[2606:4700::1]/hook', 'https://[2606:4700::1]/hook'],
  ]
  for (const [given, normal] of TAKEN) {
    test(`is taken: ${given}`, () => {
      assert.deepEqual(checkWebhookUrl(given, { allowPrivate: false }), { ok: true, url: normal })
    })
  }

  test('may be http and private only where the operator allows it', () => {
    const options = { allowPrivate: true }
    assert.ok(checkWebhookUrl('http://127.0.0.1:6379/hook', options).ok)
    assert.ok(checkWebhookUrl('http://localhost:22/hook', options).ok)
    assert.ok(!checkWebhookUrl('file:///etc/passwd', options).ok)
    assert.ok(!checkWebhookUrl('http://user@localhost/', options).ok)
  })
})

describe('resolving a webhook’s host', () => {
  const resolve = (addresses: readonly string[], allowPrivate = false) =>
    resolveOutbound('hooks.example.test', { allowPrivate, lookup: async () => addresses })

  test('gives every address when all are public', async () => {
    assert.deepEqual(await resolve(['8.8.8.8', '2606:4700::1']), {
      ok: true,
      addresses: ['8.8.8.8', '2606:4700::1'],
    })
  })

  test('refuses a name of which one address is private, wherever it stands', async () => {
    const refused = { ok: false, error: 'blocked_address' } as const
    assert.deepEqual(await resolve(['8.8.8.8', '10.0.0.1']), refused)
    assert.deepEqual(await resolve(['10.0.0.1', '8.8.8.8']), refused)
    assert.deepEqual(await resolve([...Array(40).fill('8.8.8.8'), '10.0.0.1']), refused)
    assert.ok((await resolve(['8.8.8.8', '10.0.0.1'], true)).ok)
  })

  test('fails closed on an empty answer, an error and an answer that is no address', async () => {
    assert.deepEqual(await resolve([]), { ok: false, error: 'unresolvable' })
    assert.deepEqual(await resolve(['hooks.internal']), { ok: false, error: 'blocked_address' })
    const failing = async () => {
      throw new Error('SERVFAIL')
    }
    assert.deepEqual(
      await resolveOutbound('hooks.example.test', { allowPrivate: false, lookup: failing }),
      { ok: false, error: 'unresolvable' },
    )
  })

  test('asks nobody about an address', async () => {
    const lookup = () => {
      throw new Error('must not be called')
    }
    assert.ok((await resolveOutbound('8.8.8.8', { allowPrivate: false, lookup })).ok)
    assert.ok(!(await resolveOutbound('::1', { allowPrivate: false, lookup })).ok)
  })
})
