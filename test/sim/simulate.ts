import assert from 'node:assert/strict'
import type { Log } from '#shared/log.ts'
import { createChance } from '../support/chance.ts'
import { assertOneStory } from '../support/oracle.ts'
import { until } from '../support/until.ts'
import { createStory, type Story, takeStep } from './steps.ts'
import { createWorld, PART_NAMES, type World } from './world.ts'

/** What happened in a simulation that ended well. */
export type Report = {
  steps: Record<string, number>
  /** Payments by their status at the end. */
  payments: Record<string, number>
  transferCount: number
  eventCount: number
  attemptCount: number
}

/** Milliseconds until everything that began has ended, once nothing is wrong any more. */
const SETTLE_TIMEOUT_MS = 60_000
/** Windows of payments are at most so long, in minutes. */
const WINDOW_MINUTES = 24 * 60

/**
 * Takes so many steps that a seed decides, each against the service's own parts: buyers check out, pay anyhow and cancel, the
 * chain is reorganised, nodes and endpoints fail and lie, clocks go on, connections are cut, parts are stopped and started.
 * Then nothing is wrong any more, all windows close, and everything must have ended as the chain says, and have been told.
 * The same seed takes the same steps; how they interleave with the parts' own work is the machine's.
 *
 * @throws an error that lists what does not fit
 */
export async function simulate(options: {
  seed: number
  stepCount: number
  log?: Log
}): Promise<Report> {
  const world = await createWorld(options.seed, options.log)
  try {
    const chance = createChance(options.seed)
    const story = createStory()
    for (let count = 0; count < options.stepCount; count += 1) {
      await takeStep(world, story, chance)
    }
    await settle(world, story)
    await judge(world, story)
    return await report(world, story)
  } finally {
    await world.close()
  }
}

/** Nothing is wrong any more, and everything ends: whatever was begun. */
async function settle(world: World, story: Story): Promise<void> {
  const { chain, moods, database, deployment, nowMs } = world
  Object.assign(moods, { nodes: ['well', 'well'], endpoint: 'well' })
  while (story.pending.length > 0) chain.mine(story.pending.splice(0), nowMs())
  await world.travel(WINDOW_MINUTES)
  for (const name of PART_NAMES) await world.restart(name)
  for (let depth = 0; depth <= deployment.confirmations; depth += 1) chain.mine([], nowMs())
  const { db } = database
  const left = () => db<Record<string, number>[]>`
    select
      (select count(*)::integer from payments where status in ('PENDING', 'DETECTED')) as open,
      (select count(*)::integer from transfers where is_held) as held,
      (select count(*)::integer from waiting_events) as unnumbered,
      (select count(*)::integer from deliveries where status = 'PENDING') as undelivered`
  const isOver = async () => {
    const [row] = await left()
    chain.mine([], nowMs())
    const isDone = row !== undefined && Object.values(row).every((count) => count === 0)
    if (!isDone) throw new Error(JSON.stringify(row))
    return true
  }
  const what = 'every payment has ended, and every event is delivered'
  await until(isOver, { what, timeoutMs: SETTLE_TIMEOUT_MS, everyMs: 200 })
}

async function judge({ database, chain, receiver, nowMs }: World, story: Story): Promise<void> {
  const { db } = database
  assert.deepEqual(story.faults, [])
  chain.mine([], nowMs())
  const head = chain.head().number
  await until(
    async () => {
      const [row] = await db<{ blockNumber: number }[]>`select block_number from deployments`
      return (row?.blockNumber ?? 0) >= head
    },
    { what: 'the chain is read up to its head', timeoutMs: SETTLE_TIMEOUT_MS },
  )
  const receivedEventIds = receiver.received.map(({ rawBody }) => JSON.parse(`${rawBody}`).id)
  await assertOneStory({ db, chains: { 'base:test': chain }, receivedEventIds })
  await assertCredited({ database, chain }, story)
}

/**
 * Whoever paid exactly, in time by the chain's clock, has paid: of each payment the first such transfer counts, whatever
 * node, connection or process failed meanwhile. Others at the same payment may have settled it before.
 */
async function assertCredited(
  { database, chain }: Pick<World, 'database' | 'chain'>,
  { exact, touched }: Story,
): Promise<void> {
  const rows = await database.db<{ paymentId: string; status: string; txHashes: string[] }[]>`
    select p.payment_id, p.status,
      coalesce(array_agg(t.tx_hash) filter (where t.tx_hash is not null), '{}') as tx_hashes
    from payments p
    left join transfers t on t.payment_id = p.payment_id and t.state = 'MATCHED'
    group by p.payment_id`
  const byPayment = new Map(rows.map((row) => [row.paymentId, row]))
  const lost = [...exact].flatMap(([txHash, { paymentId, expiresAt }]) => {
    const minedAtMs = chain.minedAtMs(txHash)
    if (minedAtMs === undefined || minedAtMs > Date.parse(expiresAt)) return []
    const row = byPayment.get(paymentId)
    if (touched.has(paymentId) || (row?.txHashes.length ?? 0) > 0) return []
    return [`${paymentId} is ${row?.status}, though ${txHash} paid it in time`]
  })
  assert.deepEqual(lost, [])
}

async function report({ database }: World, { counts }: Story): Promise<Report> {
  const { db } = database
  const statuses = await db<{ status: string; count: number }[]>`
    select status, count(*)::integer as count from payments group by status order by status`
  const [row] = await db<Omit<Report, 'steps' | 'payments'>[]>`
    select (select count(*)::integer from transfers) as transfer_count,
      (select count(*)::integer from events) as event_count,
      (select coalesce(sum(attempt_count), 0)::integer from deliveries) as attempt_count`
  assert.ok(row)
  const payments = Object.fromEntries(statuses.map(({ status, count }) => [status, count]))
  return { steps: counts, payments, ...row }
}
