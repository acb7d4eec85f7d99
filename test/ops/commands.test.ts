import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { startTestApi, type TestApi } from '../support/api.ts'
import { type CliOptions, runOpsCli } from '../support/cli.ts'
import { seedStore } from '../support/seed.ts'
import { allowSlowHooks } from '../support/timeouts.ts'

allowSlowHooks()
/** Milliseconds: some commands in turn, each a process. */
const timeout = 60_000
const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64')
let api: TestApi

before(async () => {
  api = await startTestApi()
})
after(() => api.close())

const ops = (words: string[], { env, ...rest }: CliOptions = {}) =>
  runOpsCli(words, { env: { DATABASE_URL: api.database.url, ...env }, ...rest })
/** The answer of a command that should do what it says. */
const done = async (words: string[], options?: CliOptions) => {
  const { code, out, err } = await ops([...words, '--json'], options)
  assert.equal(code, 0, err)
  return JSON.parse(out)
}
const refused = async (words: string[], code: number, message: RegExp, options?: CliOptions) => {
  const answer = await ops(words, options)
  assert.equal(answer.code, code, answer.out + answer.err)
  assert.match(answer.err, message)
  assert.equal(answer.out, '')
}

test('account create signs a seller up whose keys work, and who can log in', {
  timeout,
}, async () => {
  const password = 'correct horse battery staple'
  const words = ['account', 'create', '--email', 'Ann@Shop.example', '--name', 'Ann', '--verified']
  const made = await done([...words, '--password-stdin'], { input: `${password}\n` })
  assert.equal(made.account.email, 'ann@shop.example')
  assert.equal(made.account.emailVerified, true)
  assert.equal(made.keys.length, 4)
  assert.ok(!('password' in made))
  const secret = made.keys.find((one: { kind: string }) => one.kind === 'SECRET').key
  const stores = await api.call('GET', '/v1/stores', { key: secret })
  assert.equal(stores.body.data[0].storeId, made.store.storeId)
  const body = { email: 'ann@shop.example', password }
  assert.equal((await api.call('POST', '/v1/accounts/login', { body })).status, 200)
  await refused(words, 1, /email_taken/)
})

test('account create makes a password up and asks for the mail that verifies the address', {
  timeout,
}, async () => {
  const words = ['account', 'create', '--email', 'bob@shop.example']
  await refused(words, 2, /ENCRYPTION_KEY.*--verified/)
  const made = await done(words, { env: { ENCRYPTION_KEY } })
  assert.equal(made.account.emailVerified, false)
  const body = { email: 'bob@shop.example', password: made.password }
  assert.equal((await api.call('POST', '/v1/accounts/login', { body })).status, 200)
  const requests = await api.database.db`
    select 1 from requests where kind = 'mail' and body ->> 'to' = 'bob@shop.example'`
  assert.equal(requests.length, 1)
  const listed = await ops(['request', 'list'])
  assert.match(listed.out, /mail +verify-email/)
  assert.ok(!listed.out.includes('bob@shop.example'))
})

test('account create refuses a weak password, a malformed address and none', {
  timeout,
}, async () => {
  const words = ['account', 'create', '--verified', '--email']
  await refused([...words, 'c@shop.example', '--password-stdin'], 1, /12 characters/, {
    input: 'x',
  })
  await refused([...words, 'c@shop.example\nBcc: d@shop.example'], 1, /one mail address/)
  await refused(['account', 'create'], 2, /--email is missing/)
})

test('an account is suspended, banned and restored by id or mail address, and its live key obeys', {
  timeout,
}, async () => {
  const { account, keys } = await seedStore(api.database.db)
  const open = async () => {
    const body = {
      publishableKey: keys.live.publishable,
      amount: 500,
      network: 'base',
      token: 'usdc',
    }
    const headers = { Origin: 'https://shop.example' }
    const answer = await api.call('POST', '/v1/checkout', { body, headers })
    return answer.body.error?.code ?? answer.status
  }
  for (const [verb, name, status, answered] of [
    ['suspend', account.email, 'SUSPENDED', 'account_disabled'],
    ['restore', account.accountId, 'ACTIVE', 201],
    ['ban', account.email.toUpperCase(), 'BANNED', 'account_disabled'],
    ['restore', account.email, 'ACTIVE', 201],
  ] as const) {
    const changed = await done(['account', verb, name])
    assert.equal(changed.account.status, status)
    assert.equal(await open(), answered, verb)
  }
})

test('account verify and account plan show in what the seller reads', { timeout }, async () => {
  const seller = await seedStore(api.database.db, { emailVerified: false })
  const { accountId } = seller.account
  assert.equal((await done(['account', 'verify', accountId])).account.emailVerified, true)
  assert.equal((await done(['account', 'plan', accountId, 'scale'])).account.plan, 'SCALE')
  const { body } = await api.call('GET', '/v1/account', { key: seller.keys.live.secret })
  assert.deepEqual([body.emailVerified, body.plan, body.volume.capUsd], [true, 'SCALE', null])
  await refused(['account', 'plan', accountId, 'GOLD'], 2, /FREE, STARTER, GROWTH, SCALE/)
  const shown = await done(['account', 'show', seller.account.email])
  assert.equal(shown.stores[0].storeId, seller.store.storeId)
})

test('stores and keys are listed without secrets, and a leaked key is revoked by itself or its id', {
  timeout,
}, async () => {
  const { account, store, keys } = await seedStore(api.database.db)
  const { stores } = await done(['store', 'list', '--account', account.email])
  assert.deepEqual(
    stores.map((one: { storeId: string }) => one.storeId),
    [store.storeId],
  )
  const shown = await ops(['store', 'show', store.storeId])
  assert.equal(shown.code, 0, shown.err)
  assert.ok(shown.out.includes(keys.live.publishable))
  for (const { secret } of [keys.live, keys.test]) assert.ok(!shown.out.includes(secret))
  assert.match(shown.out, /wallets:\n +walletId/)

  await done(['key', 'revoke', keys.live.secret])
  assert.equal((await api.call('GET', '/v1/stores', { key: keys.live.secret })).status, 401)
  await refused(['key', 'revoke', keys.live.secret], 1, /no such key that works/)
  const listed = await done(['key', 'list', store.storeId])
  const test = listed.keys.find(
    (one: { kind: string; mode: string }) => one.kind === 'SECRET' && one.mode === 'test',
  )
  await done(['key', 'revoke', test.keyId])
  assert.equal((await api.call('GET', '/v1/stores', { key: keys.test.secret })).status, 401)
})

test('payment show tells everything and why', { timeout }, async () => {
  const { account, keys } = await seedStore(api.database.db)
  const body = {
    publishableKey: keys.test.publishable,
    amount: 700,
    network: 'base',
    token: 'usdc',
  }
  const { paymentId } = (await api.call('POST', '/v1/checkout', { body })).body
  await api.call('POST', `/v1/test/payments/${paymentId}/simulate`)
  const { payment, trace } = await done(['payment', 'show', paymentId])
  assert.equal(payment.status, 'CONFIRMED')
  assert.equal(payment.accountId, account.accountId)
  assert.match(trace.moves.at(-1).explanation, /simulated/)
  const shown = await ops(['payment', 'show', paymentId])
  assert.match(shown.out, /trace\.moves:\n[\s\S]*simulatedConfirmed/)
  await refused(['payment', 'show', newId('pay')], 1, /no payment pay_/)
})

test('delivery redrive makes dead deliveries due for another 72 hours, and leaves the delivered alone', {
  timeout,
}, async () => {
  const { db } = api.database
  const seller = await seedStore(db, { webhookUrl: 'https://shop.example/hook' })
  const { storeId } = seller.store
  const insert = async (status: string) => {
    const eventId = `${newId('evt')}:webhook.test`
    const deliveryId = newId('dlv')
    await db`
      insert into events (event_id, order_key, store_id, account_id, mode, type, body)
      values (${eventId}, ${eventId}, ${storeId}, ${seller.account.accountId}, 'test', 'webhook.test', '{}')`
    await db`
      insert into deliveries (delivery_id, event_id, store_id, mode, event_type, url, status, next_attempt_at, deadline_at,
        dead_at)
      values (${deliveryId}, ${eventId}, ${storeId}, 'test', 'webhook.test', 'https://shop.example/hook', ${status},
        ${status === 'PENDING' ? new Date(Date.now() + 3_600_000) : null}, service_now() - interval '1 hour',
        ${status === 'DEAD' ? new Date() : null})`
    return deliveryId
  }
  const [dead, waiting, delivered] = [
    await insert('DEAD'),
    await insert('PENDING'),
    await insert('DELIVERED'),
  ]
  const read = async () => {
    const rows = await db<{ deliveryId: string; isDue: boolean; leftH: number }[]>`
      select delivery_id, coalesce(next_attempt_at <= service_now(), false) as is_due,
        round(extract(epoch from deadline_at - service_now()) / 3600)::integer as left_h
      from deliveries where store_id = ${storeId}`
    return new Map(rows.map((row) => [row.deliveryId, [row.isDue, row.leftH]]))
  }
  assert.equal(
    (await done(['delivery', 'redrive', '--store', storeId, '--status', 'dead'])).redrivenCount,
    1,
  )
  assert.deepEqual((await read()).get(dead), [true, 72])
  assert.deepEqual((await read()).get(waiting), [false, -1])
  assert.equal((await done(['delivery', 'redrive', '--store', storeId])).redrivenCount, 2)
  assert.deepEqual((await read()).get(waiting), [true, 72])
  assert.deepEqual((await read()).get(delivered), [false, -1])
  assert.equal((await done(['delivery', 'redrive', delivered])).redrivenCount, 1)
  assert.deepEqual((await read()).get(delivered), [true, 72])
  const listed = await done(['delivery', 'list', storeId, '--status', 'PENDING'])
  assert.equal(listed.deliveries.length, 3)
  await refused(['delivery', 'redrive'], 2, /one delivery or --store/)
  await refused(['delivery', 'redrive', newId('dlv')], 1, /no delivery/)
})

test('network status says what each deployment is doing', { timeout }, async () => {
  await api.database.db`
    insert into deployments (deployment, confirmations, leader, lease_until, block_number, head_number, head_seen_at)
    values ('base:live', 12, 'me', service_now() + interval '1 hour', 90, 100, service_now()),
      ('bnb:live', 12, 'me', service_now() + interval '1 hour', 90, 90, service_now() - interval '30 seconds'),
      ('polygon:live', 12, null, null, 90, 90, service_now())`
  const told = async (options?: CliOptions) => {
    const { networks } = await done(['network', 'status'], options)
    return networks.map((one: { deployment: string; state: string; blocksBehind: number }) => [
      ...[one.deployment, one.state, one.blocksBehind],
    ])
  }
  assert.deepEqual(await told(), [
    ['base:live', 'RUNNING', 10],
    ['bnb:live', 'STALLED', 0],
    ['polygon:live', 'NOT_RUNNING', 0],
  ])
  const directory = await mkdtemp(join(tmpdir(), 'ops-'))
  try {
    const NETWORKS_FILE = join(directory, 'networks.json')
    await writeFile(NETWORKS_FILE, '{"base": {"live": {"rpc": ["http://127.0.0.1:9"]}}}')
    const states = await told({ env: { NETWORKS_FILE } })
    assert.deepEqual(states.at(-1), ['polygon:live', 'OFF', 0], 'as GET /networks says')
    assert.deepEqual(states[1], ['bnb:live', 'STALLED', 0], 'somebody follows it all the same')
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})

test('a rescan is asked for once at a time, of a deployment that is known, over a sound range', {
  timeout,
}, async () => {
  const words = ['network', 'rescan', 'base:live', '--from', '10', '--to', '20']
  const { request } = await done(words)
  assert.deepEqual([request.kind, request.subject, request.doneAt], ['rescan', 'base:live', null])
  assert.equal((await done(['request', 'show', request.requestId])).request.kind, 'rescan')
  await refused(words, 1, /under way/)
  await refused(['network', 'rescan', 'doge:live', '--from', '1', '--to', '2'], 1, /base:live/)
  await refused(
    ['network', 'rescan', 'base:live', '--from', '2', '--to', '1'],
    2,
    /--to lies before/,
  )
  await refused(
    ['network', 'rescan', 'base:live', '--from', 'x', '--to', '1'],
    2,
    /--from is a whole/,
  )
  await refused(['network', 'rescan', 'base:live', '--from', '0', '--to', '9999999'], 2, /at most/)
})

test('exit code 2 and the usage for what is no command; 0 for help that was asked for', {
  timeout,
}, async () => {
  await refused([], 2, /account create/)
  await refused(['account', 'destroy', 'x'], 2, /no command account destroy[\s\S]*account suspend/)
  await refused(['account', 'show'], 2, /<account> is missing/)
  await refused(['account', 'show', 'a', 'b'], 2, /b is one word too many/)
  await refused(['account', 'show', 'a', '--nonsense'], 2, /nonsense/)
  const help = await ops(['--help'])
  assert.deepEqual([help.code, help.err], [0, ''])
  assert.match(help.out, /delivery redrive/)
  const one = await ops(['network', 'rescan', '--help'])
  assert.equal(one.code, 0)
  assert.match(one.out, /--from <block>/)
})

test('exit code 1 for what is not there or cannot be reached, 78 for wrong configuration', {
  timeout,
}, async () => {
  await refused(['account', 'show', 'nobody@shop.example'], 1, /no account nobody@shop\.example/)
  await refused(['store', 'show', 'store_1'], 1, /no store store_1/)
  const env = { DATABASE_URL: 'postgres://ops:secret-word@127.0.0.1:1/x' }
  const unreachable = await ops(['account', 'list'], { env })
  assert.equal(unreachable.code, 1)
  assert.match(unreachable.err, /database cannot be reached/)
  assert.ok(!unreachable.err.includes('secret-word'))
  await refused(['account', 'list'], 78, /DATABASE_URL should be/, {
    env: { DATABASE_URL: 'mysql://x' },
  })
})

test('with --json an error is one line of JSON on stderr, under the same exit code', {
  timeout,
}, async () => {
  const told = async (words: string[], options?: CliOptions) => {
    const { code, out, err } = await ops([...words, '--json'], options)
    assert.equal(out, '')
    const { error } = JSON.parse(err)
    return [code, error.code, error.message]
  }
  const { account } = await seedStore(api.database.db)
  const create = ['account', 'create', '--verified', '--email', account.email]
  const message = 'An account with this e-mail address exists. Log in instead.'
  assert.deepEqual(await told(create), [1, 'email_taken', message])
  assert.deepEqual(await told(['store', 'show', 'store_1']), [
    ...[1, 'not_possible', 'there is no store store_1'],
  ])
  assert.deepEqual(await told(['account', 'show']), [
    ...[2, 'invalid_request', '<account> is missing'],
  ])
  assert.deepEqual(await told([]), [2, 'invalid_request', 'a command is missing'])
  const gone = { env: { DATABASE_URL: 'postgres://127.0.0.1:1/x' } }
  assert.deepEqual((await told(['account', 'list'], gone)).slice(0, 2), [1, 'unavailable'])
  const wrong = await told(['account', 'list'], { env: { DATABASE_URL: 'x', HOST: '/' } })
  assert.deepEqual(wrong.slice(0, 2), [78, 'configuration'])
  assert.match(wrong[2], /^HOST should be .*\nDATABASE_URL should be /)
})

test('without DATABASE_URL it is the database of a bun start in this directory, or a clear line', {
  timeout,
}, async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'ops-'))
  try {
    await refused(['account', 'list'], 78, /DATABASE_URL should be set.*bun start/, {
      ...{ cwd, env: { DATABASE_URL: '' } },
    })
    await mkdir(join(cwd, '.data'))
    await writeFile(join(cwd, '.data/database-url'), `${api.database.url}\n`)
    await writeFile(join(cwd, '.data/encryption-key'), `${ENCRYPTION_KEY}\n`)
    const words = ['account', 'create', '--email', 'eve@shop.example']
    const made = await done(words, { cwd, env: { DATABASE_URL: '' } })
    assert.equal(made.account.email, 'eve@shop.example')
  } finally {
    await rm(cwd, { recursive: true, force: true })
  }
})

test('what sellers wrote does not steer the operator’s terminal', { timeout }, async () => {
  const { account } = await seedStore(api.database.db, { sellerName: 'A\u001b[2J\u0007B' })
  const shown = await ops(['account', 'show', account.accountId])
  assert.equal(shown.code, 0, shown.err)
  assert.match(shown.out, /sellerName +A�\[2J�B/)
})
