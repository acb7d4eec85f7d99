import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Child, type Stack, startStack } from '../support/stack.ts'
import { allowSlowHooks } from '../support/timeouts.ts'
import { until } from '../support/until.ts'

allowSlowHooks()

const timeout = 90_000
/** Milliseconds within which a standby leads after kill -9 of the leader. */
const TAKEOVER_MS = 10_000
/** Milliseconds that are "at once" on a busy machine: far less than the lease. */
const AT_ONCE_MS = 3_000
const EX_CONFIG = 78
const DETECTED_AND_CONFIRMED = ['payment.detected', 'payment.confirmed']

let stack: Stack
const indexers: Child[] = []

const lease = async () => {
  const [row] = await stack.database.db<{ leader: string | null; epoch: number }[]>`
    select leader, epoch from deployments where deployment = 'base:test'`
  return row ?? { leader: null, epoch: 0 }
}

async function add(): Promise<Child> {
  const child = stack.spawn('indexer', ['--network', 'base', '--network', 'ethereum'])
  indexers.push(child)
  await until(() => /"message":"started"/.test(child.output()), {
    what: 'an indexer started',
    timeoutMs: 20_000,
  })
  return child
}

/** The process that leads, and milliseconds until another leader is there after what is done to it. */
async function takeOver(harm: () => Promise<unknown> | undefined): Promise<number> {
  const { leader } = await lease()
  const startedAt = performance.now()
  await harm()
  await until(
    async () => {
      const now = await lease()
      return now.leader !== null && now.leader !== leader
    },
    { what: 'another leads', timeoutMs: TAKEOVER_MS + AT_ONCE_MS },
  )
  return performance.now() - startedAt
}

before(
  async () => {
    stack = await startStack({ processes: ['api', 'dispatcher'] })
    await add()
    await until(async () => (await lease()).leader !== null, {
      what: 'the first leads',
      timeoutMs: 20_000,
    })
    await add()
  },
  { timeout },
)
after(
  async () => {
    await stack.judge()
    await stack.close()
  },
  { timeout },
)

test('an unknown --network ends the process with code 78 and the list', { timeout }, async () => {
  const child = stack.spawn('indexer', ['--network', 'base', '--network', 'bass'])
  await until(() => child.exitCode() !== null, { what: 'it ends', timeoutMs: 20_000 })
  assert.equal(child.exitCode(), EX_CONFIG)
  assert.match(child.output(), /--network.*ethereum, base, arbitrum.*solana.*bass/)
})

test('arguments that are not understood end the process with code 78, and nothing is followed', {
  timeout,
}, async () => {
  for (const args of [['--network=bass'], ['--networks', 'base'], ['base'], ['--network']]) {
    const child = stack.spawn('indexer', args)
    await until(() => child.exitCode() !== null, { what: `${args} ends it`, timeoutMs: 20_000 })
    assert.equal(child.exitCode(), EX_CONFIG, child.output())
    assert.match(child.output(), /--network/)
  }
})

test('--network picks deployments, and leaves the others alone', { timeout }, async () => {
  const rows = await stack.database.db<{ deployment: string }[]>`
    select deployment from deployments order by deployment`
  assert.deepEqual(
    rows.map(({ deployment }) => deployment),
    ['base:test', 'ethereum:test'],
  )
})

test('a leader stopped between two statements of its transaction neither blocks the standby nor writes when it wakes', {
  timeout,
}, async () => {
  const { db } = stack.database
  const [stopped] = indexers
  assert.ok(stopped)
  const payment = await stack.checkout({ amount: 1_234 })
  // The leader has to wait for this row in the middle of its transaction, is stopped there, and then given the lock.
  const { epoch } = await lease()
  await db.begin(async (tx) => {
    await tx`select 1 from payments where payment_id = ${payment.paymentId} for update`
    await stack.pay(payment)
    await until(
      async () => {
        const rows = await db`
          select 1 from pg_stat_activity
          where datname = current_database() and application_name = 'indexer'
            and wait_event_type = 'Lock' and query like '%for update of p%'`
        return rows.length > 0
      },
      { what: 'the leader waits within its transaction' },
    )
    stopped.signal('SIGSTOP')
  })
  const elapsedMs = await takeOver(() => undefined)
  assert.ok(elapsedMs < TAKEOVER_MS, `taken over in ${elapsedMs} ms`)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  const before = await lease()
  assert.ok(before.epoch > epoch)
  stopped.signal('SIGCONT')
  await until(() => /another process leads|trying again/.test(stopped.output()), {
    what: 'the old leader sees that it is none',
    timeoutMs: 15_000,
  })
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
  const { epoch: after } = await lease()
  assert.equal(after, before.epoch, 'the new leader goes on leading')
})

test('a standby takes over within 10 s of kill -9, and at once on a clean stop', {
  timeout,
}, async () => {
  const leading = () =>
    indexers.findLast((child) => child.exitCode() === null && /"leads"/.test(child.output()))
  const killedMs = await takeOver(() => leading()?.end('SIGKILL'))
  assert.ok(killedMs < TAKEOVER_MS, `taken over in ${killedMs} ms`)
  await add()
  const alive = indexers.filter((child) => child.exitCode() === null)
  const payment = await stack.checkout({ amount: 4_321 })
  const leader = alive[0]?.output().includes('"leads"') ? alive[0] : alive[1]
  const stoppedMs = await takeOver(() => leader?.end('SIGTERM'))
  assert.ok(stoppedMs < AT_ONCE_MS, `taken over in ${stoppedMs} ms`)
  await stack.pay(payment)
  await stack.untilStatus(payment.paymentId, 'CONFIRMED')
  await stack.untilReceived(payment.paymentId, DETECTED_AND_CONFIRMED)
})
