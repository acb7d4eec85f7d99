import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ConfigError, exitOnConfigError, loadConfig, VARIABLES } from '#shared/config.ts'
import { readServers } from '#shared/db/servers.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')

/** Reads from a table instead of a disk. */
function fileReader(files: Record<string, string>) {
  return (path: string): string => {
    const text = files[path]
    if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`)
    return text
  }
}

const readFile = fileReader({})

function faultsOf(env: Record<string, string>, files: Record<string, string> = {}): string[] {
  try {
    loadConfig(env, { readFile: fileReader(files) })
  } catch (error) {
    if (error instanceof ConfigError) return [...error.faults]
    throw error
  }
  return []
}

test('an empty environment gives the documented defaults', () => {
  const { deployments, trustedProxies, ...config } = loadConfig({}, { readFile })
  assert.deepEqual(config, {
    databaseUrl: undefined,
    databaseListenUrl: undefined,
    databasePrepare: true,
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://127.0.0.1:3000',
    smtpUrl: undefined,
    mailFrom: 'payments@localhost',
    isSignupOpen: true,
    planCapsUsd: { FREE: 2_000, STARTER: 20_000, GROWTH: 200_000, SCALE: null },
    webhookAllowPrivate: false,
    logLevel: 'info',
    logFormat: 'json',
    metricsPort: undefined,
    encryptionKey: undefined,
    egressProxy: undefined,
    slotQuarantineHours: 24,
    rateLimitCheckout: 120,
    openPaymentsPerIp: 100,
  })
  assert.equal(deployments.size, 16)
  assert.ok([...deployments.values()].every(({ isOn }) => !isOn))
  assert.equal(trustedProxies.check('127.0.0.1'), false)
})

test('an empty or blank variable counts as unset', () => {
  const blank = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, ' ']))
  assert.deepEqual(loadConfig(blank, { readFile }), loadConfig({}, { readFile }))
})

test('.env.example names every variable, and its values are the defaults', () => {
  const example = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  const lines = [...example.matchAll(/^# ([A-Z_]+)=(.*)$/gm)]
  const env = Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))

  assert.equal(lines.length, Object.keys(env).length, 'no variable stands there twice')
  assert.deepEqual(Object.keys(env).sort(), Object.keys(VARIABLES).sort())
  assert.deepEqual(loadConfig(env, { readFile }), loadConfig({}, { readFile }))
  for (const [name, value] of Object.entries(VARIABLES)) {
    if (value !== '') assert.equal(env[name], value)
  }
})

test('every variable reaches its field', () => {
  const files = {
    'networks.json': '{"base": {"live": {"rpc": ["https://rpc.example"]}}}',
    'plans.json': '{"FREE": 5000, "GROWTH": null}',
  }
  const env = {
    DATABASE_URL: 'postgres://u:p@one:5432,two:5432/payments',
    DATABASE_LISTEN_URL: 'postgresql://direct/payments',
    DATABASE_PREPARE: '0',
    HOST: '::1',
    PORT: '8080',
    NETWORKS_FILE: 'networks.json',
    SMTP_URL: 'smtps://u:p@mail.example:465',
    MAIL_FROM: 'Pay@Shop.example',
    TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,fd00::/8',
    SIGNUP: 'closed',
    PLANS_FILE: 'plans.json',
    WEBHOOK_ALLOW_PRIVATE: '1',
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'pretty',
    METRICS_PORT: '9100',
    ENCRYPTION_KEY: KEY,
    EGRESS_PROXY: 'http://u:p@proxy.internal:3128',
    SLOT_QUARANTINE_HOURS: '48',
    RATE_LIMIT_CHECKOUT: '10',
    OPEN_PAYMENTS_PER_IP: '5',
  }
  const config = loadConfig(env, { readFile: fileReader(files) })
  const { deployments, trustedProxies, ...rest } = config
  assert.deepEqual(rest, {
    databaseUrl: env.DATABASE_URL,
    databaseListenUrl: env.DATABASE_LISTEN_URL,
    databasePrepare: false,
    host: '::1',
    port: 8080,
    publicUrl: 'http://[::1]:8080',
    smtpUrl: env.SMTP_URL,
    mailFrom: 'pay@shop.example',
    isSignupOpen: false,
    planCapsUsd: { FREE: 5_000, STARTER: 20_000, GROWTH: null, SCALE: null },
    webhookAllowPrivate: true,
    logLevel: 'warn',
    logFormat: 'pretty',
    metricsPort: 9100,
    encryptionKey: new Uint8Array(32).fill(7),
    egressProxy: env.EGRESS_PROXY,
    slotQuarantineHours: 48,
    rateLimitCheckout: 10,
    openPaymentsPerIp: 5,
  })
  assert.equal(deployments.get('base:live')?.isOn, true)
  const isTrusted = (address: string, family: 'ipv4' | 'ipv6') =>
    trustedProxies.check(address, family)
  assert.equal(isTrusted('10.1.2.3', 'ipv4'), true)
  assert.equal(isTrusted('192.0.2.7', 'ipv4'), true)
  assert.equal(isTrusted('192.0.2.8', 'ipv4'), false)
  assert.equal(isTrusted('fd12::1', 'ipv6'), true)
  assert.equal(isTrusted('fe80::1', 'ipv6'), false)
})

test('the listening connection is the ordinary one unless another is named', () => {
  const config = loadConfig({ DATABASE_URL: 'postgres://h/d' }, { readFile })
  assert.equal(config.databaseListenUrl, 'postgres://h/d')
})

test('a wrong DATABASE_URL is told once, not as a missing DATABASE_LISTEN_URL too', () => {
  assert.deepEqual(
    faultsOf({ DATABASE_URL: 'nonsense' }).map((fault) => fault.split(' ')[0]),
    ['DATABASE_URL'],
  )
})

test('the servers of a Postgres URL are told apart, addresses of IPv6 too', () => {
  const url = 'postgresql://u:p@ss@a,[::1]:5433,10.0.0.1:6432/pay?sslmode=verify-full'
  const one = (host: string) => `postgresql://u:p@ss@${host}/pay?sslmode=verify-full`
  assert.deepEqual(readServers(url), [
    { host: 'a', port: 5432, url: one('a') },
    { host: '::1', port: 5433, url: one('[::1]:5433') },
    { host: '10.0.0.1', port: 6432, url: one('10.0.0.1:6432') },
  ])
  assert.deepEqual(readServers('postgres:///pay'), [
    { host: 'localhost', port: 5432, url: 'postgres:///pay' },
  ])
})

test('a terminal gets readable log lines unless a format is named', () => {
  assert.equal(loadConfig({}, { readFile, isTerminal: true }).logFormat, 'pretty')
  assert.equal(loadConfig({ LOG_FORMAT: 'json' }, { readFile, isTerminal: true }).logFormat, 'json')
})

const WRONG: readonly [variable: string, ...values: string[]][] = [
  [
    'DATABASE_URL',
    'mysql://h/d',
    'host/db',
    'postgres://h/d b',
    'postgres://h:99999/d',
    'postgres://u:p%@h/d',
    'postgres://u:p@/d',
    'postgres://a,b:x/d',
    'postgres://a,,b/d',
    'postgres://',
    'postgres://h/d?sslmode=prefer',
  ],
  ['DATABASE_LISTEN_URL', 'http://h', 'postgres://h:0x/d'],
  ['DATABASE_PREPARE', 'true', '2'],
  ['HOST', 'http://h', '[::1]', 'a b', '-'],
  ['PORT', 'x', '-1', '65536', '3000.5', '1e3', '0x10'],
  [
    'PUBLIC_URL',
    'https://x/',
    'ftp://x',
    'x',
    'https://x?a',
    'https://x#a',
    'https://u:p@x',
    'https://',
  ],
  ['SMTP_URL', 'mail.example', 'https://mail.example', 'smtp://', 'smtp://u:p%@mail.example'],
  ['MAIL_FROM', 'Shop <a@b.example>', 'a@b.example,c@d.example'],
  ['TRUSTED_PROXIES', '10.0.0.0/33', '::/129', 'localhost', '10.0.0.0/8,', '1.2.3.4/x', '1.2.3'],
  ['SIGNUP', 'yes', 'OPEN'],
  ['WEBHOOK_ALLOW_PRIVATE', 'yes'],
  ['LOG_LEVEL', 'trace'],
  ['LOG_FORMAT', 'text'],
  ['METRICS_PORT', '70000'],
  [
    'ENCRYPTION_KEY',
    'short',
    `${KEY}=`,
    KEY.slice(0, 43),
    Buffer.alloc(31).toString('base64'),
    '*'.repeat(44),
  ],
  ['EGRESS_PROXY', 'socks5://p:1080', 'https://p', 'p:3128', 'http://u:p%@p:3128'],
  ['SLOT_QUARANTINE_HOURS', '0', '721', '1.5'],
  ['RATE_LIMIT_CHECKOUT', '0', 'none'],
  ['OPEN_PAYMENTS_PER_IP', '0', '9999999'],
  ['NETWORKS_FILE', 'absent.json'],
  ['PLANS_FILE', 'absent.json'],
]

for (const [variable, ...values] of WRONG) {
  test(`a wrong ${variable} is one line that names it and what it should be`, () => {
    for (const value of values) {
      const faults = faultsOf({ MAIL_FROM: 'a@b.example', [variable]: value })
      assert.equal(faults.length, 1, `${variable}=${value}: ${faults.join(' | ')}`)
      assert.match(faults[0] ?? '', new RegExp(`^${variable} should be \\S[^\n]+$`))
    }
  })
}

test('every variable has a test of a wrong value', () => {
  assert.deepEqual(WRONG.map(([name]) => name).sort(), Object.keys(VARIABLES).sort())
})

test('all faults are told at once', () => {
  const env = Object.fromEntries(WRONG.map(([variable, value = '']) => [variable, value]))
  assert.equal(faultsOf(env).length, WRONG.length)
})

test('no fault repeats a secret', () => {
  const secret = 'hunter2hunter2'
  const faults = faultsOf(
    {
      DATABASE_URL: `mysql://u:${secret}@h/d`,
      SMTP_URL: `smpt://u:${secret}@h`,
      ENCRYPTION_KEY: secret,
      EGRESS_PROXY: `ftp://u:${secret}@h`,
      NETWORKS_FILE: 'networks.json',
      PLANS_FILE: 'plans.json',
    },
    {
      'networks.json': `{"base": {"live": {"rpc": ["htps://rpc.example/${secret}"]}}}`,
      'plans.json': `{"FREE": ${secret}`,
    },
  )
  assert.equal(faults.length, 6)
  assert.ok(!faults.join('\n').includes(secret))
})

test('faults of the files are told with the path of the field', () => {
  const faults = faultsOf(
    { NETWORKS_FILE: 'n', PLANS_FILE: 'p' },
    {
      n: '{"base": {"live": {"chainId": "1", "rpcs": []}}}',
      p: '{"FREE": -1, "GOLD": 1, "GROWTH": 1.5}',
    },
  )
  assert.deepEqual(
    faults.map((fault) => fault.split(' should be ')[0]),
    [
      'NETWORKS_FILE base.live.chainId',
      'NETWORKS_FILE base.live.rpcs',
      'PLANS_FILE FREE',
      'PLANS_FILE GOLD',
      'PLANS_FILE GROWTH',
    ],
  )
  assert.equal(faultsOf({ PLANS_FILE: 'p' }, { p: '[]' }).length, 1)
  assert.equal(faultsOf({ NETWORKS_FILE: 'n' }, { n: 'null' }).length, 1)
})

test('SMTP_URL without MAIL_FROM is refused, since mail from localhost arrives nowhere', () => {
  const [fault = ''] = faultsOf({ SMTP_URL: 'smtp://mail.example' })
  assert.match(fault, /^MAIL_FROM should be set/)
})

test('what an entrance requires is a fault when it is unset', () => {
  assert.throws(
    () => loadConfig({}, { readFile, requires: ['databaseUrl', 'encryptionKey'] }),
    (error: ConfigError) =>
      error.faults.length === 2 &&
      error.faults.every((fault) => /^(DATABASE_URL|ENCRYPTION_KEY) should be set: /.test(fault)),
  )
  const env = { DATABASE_URL: 'postgres://h/d' }
  const url: string = loadConfig(env, { readFile, requires: ['databaseUrl'] }).databaseUrl
  assert.equal(url, 'postgres://h/d')
})

test('a ConfigError ends the process with code 78 and a line per fault; others are thrown on', () => {
  const written: string[] = []
  class Exited extends Error {}
  const process = {
    stderr: { write: (text: string) => written.push(text) },
    exit: (code: number): never => {
      throw new Exited(String(code))
    },
  }
  assert.throws(
    () => exitOnConfigError(new ConfigError(['A should be a', 'B should be b']), process),
    (error: Error) => error instanceof Exited && error.message === '78',
  )
  assert.deepEqual(written, ['A should be a\nB should be b\n'])
  const other = new Error('other')
  assert.throws(() => exitOnConfigError(other, process), other)
})
