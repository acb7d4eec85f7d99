import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import { clientIp, rateKeyOfIp } from '../../api/client-ip.ts'

const proxies = new BlockList()
proxies.addSubnet('10.0.0.0', 8, 'ipv4')
proxies.addSubnet('fd00::', 8, 'ipv6')

test('the client is the socket’s other end when no proxy is trusted', () => {
  assert.equal(clientIp('203.0.113.7', '198.51.100.1', new BlockList()), '203.0.113.7')
})

test('a stranger’s X-Forwarded-For is not believed', () => {
  assert.equal(clientIp('203.0.113.7', '198.51.100.1', proxies), '203.0.113.7')
})

test('behind trusted proxies the client is the right-most hop that is not one', () => {
  assert.equal(clientIp('10.0.0.1', '192.0.2.66, 198.51.100.1, 10.9.9.9', proxies), '198.51.100.1')
  assert.equal(clientIp('fd00::1', '192.0.2.66,198.51.100.1', proxies), '198.51.100.1')
  assert.equal(clientIp('::ffff:10.0.0.1', '198.51.100.1:4711', proxies), '198.51.100.1')
  assert.equal(clientIp('10.0.0.1', '[2001:DB8::5]:443', proxies), '2001:db8::5')
})

test('a hop that is no address ends the walk at the last known one', () => {
  assert.equal(clientIp('10.0.0.1', '198.51.100.1, unknown, 10.0.0.2', proxies), '10.0.0.2')
  assert.equal(clientIp('10.0.0.1', '', proxies), '10.0.0.1')
  assert.equal(clientIp('10.0.0.1', 'a'.repeat(5_000), proxies), '10.0.0.1')
})

test('a chain of trusted proxies alone leaves its first as the client', () => {
  assert.equal(clientIp('10.0.0.1', '10.0.0.3, 10.0.0.2', proxies), '10.0.0.3')
})

test('rates are counted by IPv4 address and by IPv6 /64, however it is written', () => {
  assert.equal(rateKeyOfIp('203.0.113.7'), '203.0.113.7')
  assert.equal(rateKeyOfIp('2001:db8:0:1::5'), '2001:db8:0:1::/64')
  assert.equal(rateKeyOfIp('2001:0DB8:0000:0001:ffff::'), '2001:db8:0:1::/64')
  assert.equal(rateKeyOfIp('::1'), '0:0:0:0::/64')
  assert.equal(rateKeyOfIp('2001:db8::'), '2001:db8:0:0::/64')
})
