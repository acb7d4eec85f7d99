import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, test } from 'node:test'
import { listen } from '#shared/db/listen.ts'
import { closeDb, type Db, isUnavailable, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const KILLING_MS = 4_000
const KILL_EVERY_MS = 100
const APPLICATION = 'victim'
/** Milliseconds for every loop to succeed again; a connection killed while it was opened may cost connect_timeout. */
const RECOVERY_MS = 10_000

let database: TestDatabase
let victim: Db

before(async () => {
  database = await createEmptyDatabase()
  await database.db`create table pairs (pair text not null, half integer not null)`
  victim = openDb({ url: database.url, applicationName: APPLICATION, poolSizeMax: 8 })
})
after(async () => {
  await closeDb(victim, 1_000)
  await database.drop()
})

// Guards against the driver's ways to end or hang a process (porsager/postgres #1066, #1154, #1208), mended by our patch.
test('killed backends crash nothing, hang nothing and halve no transaction', {
  timeout: 60_000,
}, async () => {
  const uncaught: unknown[] = []
  const keep = (error: unknown) => uncaught.push(error)
  process.on('uncaughtException', keep)
  process.on('unhandledRejection', keep)
  let notifiedCount = 0
  const listener = listen({
    url: database.url,
    applicationName: APPLICATION,
    handlers: { driver_check: () => (notifiedCount += 1) },
    log: silentLog,
  })
  const loops = startLoops()
  try {
    const killedCount = await killBackends()
    const killedUntil = performance.now()
    assert.ok(killedCount > 50, `only ${killedCount} were killed`)
    await until(() => loops.every(({ succeededAt }) => succeededAt > killedUntil), {
      what: 'every loop to succeed again',
      timeoutMs: RECOVERY_MS,
    })
    await until(
      async () => {
        await database.db`select pg_notify('driver_check', '')`
        return notifiedCount > 0
      },
      { what: 'a notification to arrive again', timeoutMs: RECOVERY_MS },
    )
  } finally {
    for (const loop of loops) loop.isStopped = true
    await Promise.all(loops.map(({ ended }) => ended))
    await listener.stop()
    process.off('uncaughtException', keep)
    process.off('unhandledRejection', keep)
  }
  assert.deepEqual(uncaught, [])
  const errors = loops.flatMap((loop) => loop.errors)
  assert.ok(errors.length > 50, `only ${errors.length} statements met a killed backend`)
  assert.deepEqual(
    errors.filter((error) => !isUnavailable(error)),
    [],
  )
  await checkPairs(loops.flatMap((loop) => loop.committed))
})

type Loop = {
  isStopped: boolean
  succeededAt: number
  errors: unknown[]
  /** Pairs whose commit was confirmed. */
  committed: string[]
  ended: Promise<void>
}

/** Four loops of transactions, eight of single statements. */
function startLoops(): Loop[] {
  return Array.from({ length: 12 }, (_, index) => {
    const loop: Loop = {
      isStopped: false,
      succeededAt: 0,
      errors: [],
      committed: [],
      ended: Promise.resolve(),
    }
    loop.ended = runLoop(loop, index < 4 ? (turn) => writePair(`${index}/${turn}`) : readLong)
    return loop
  })
}

async function runLoop(
  loop: Loop,
  work: (turn: number) => Promise<string | undefined>,
): Promise<void> {
  for (let turn = 0; !loop.isStopped; turn += 1) {
    try {
      const pair = await work(turn)
      if (pair !== undefined) loop.committed.push(pair)
      loop.succeededAt = performance.now()
    } catch (error) {
      loop.errors.push(error)
      await new Promise((done) => setTimeout(done, 5))
    }
  }
}

async function writePair(pair: string): Promise<string> {
  await victim.begin(async (tx) => {
    await tx`insert into pairs values (${pair}, 1)`
    await Promise.all([tx`select 2`, tx`select ${pair}::text`])
    await tx`select pg_sleep(0.002)`
    await tx`insert into pairs values (${pair}, 2)`
  })
  return pair
}

async function readLong(turn: number): Promise<undefined> {
  const text = 'x'.repeat(3_000)
  const [row] = await victim`select ${turn}::int as turn, ${text}::text as text`
  assert.deepEqual([row?.['turn'], row?.['text']], [turn, text])
}

async function killBackends(): Promise<number> {
  const startedAt = performance.now()
  let killedCount = 0
  while (performance.now() - startedAt < KILLING_MS) {
    await new Promise((done) => setTimeout(done, KILL_EVERY_MS))
    const killed = await database.db`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = ${APPLICATION}`
    killedCount += killed.length
  }
  return killedCount
}

async function checkPairs(committed: string[]): Promise<void> {
  const halves = await database.db<{ pair: string }[]>`
    select pair from pairs group by pair having count(*) <> 2`
  assert.deepEqual([...halves], [])
  const rows = await database.db<{ pair: string }[]>`select distinct pair from pairs`
  const written = new Set(rows.map(({ pair }) => pair))
  assert.deepEqual(
    committed.filter((pair) => !written.has(pair)),
    [],
  )
}
