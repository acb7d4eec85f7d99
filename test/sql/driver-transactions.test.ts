import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { closeDb, errorCode, isUnavailable, openDb, type Tx, withTransaction } from '#shared/db.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

let database: TestDatabase

before(async () => {
  database = await createEmptyDatabase()
  await database.db`create table notes (note text not null)`
})
after(() => database.drop())

test('a transaction that throws leaves nothing', async () => {
  const thrown = new Error('no')
  const failed = withTransaction(database.db, async (tx) => {
    await tx`insert into notes values ('rolled back')`
    throw thrown
  })
  await assert.rejects(failed, thrown)
  assert.equal(await countNotes('rolled back'), 0)
})

test('a serialization failure is tried again, and its first try leaves nothing', async () => {
  let attempts = 0
  await withTransaction(database.db, async (tx) => {
    attempts += 1
    await tx`insert into notes values ('tried again')`
    if (attempts < 3) await tx`do $$ begin raise exception using errcode = '40001'; end $$`
  })
  assert.deepEqual([attempts, await countNotes('tried again')], [3, 1])
})

test('a transaction that fails for ever is given up after five attempts', async () => {
  let attempts = 0
  const failed = withTransaction(database.db, async (tx) => {
    attempts += 1
    await tx`do $$ begin raise exception using errcode = '40P01'; end $$`
  })
  await assert.rejects(failed, (error) => errorCode(error) === '40P01')
  assert.equal(attempts, 5)
})

// Guards against statements that run outside their transaction, or inside somebody else's, once the pool has given
// the lost connection's place to another one.
test('a statement of a transaction that lost its connection runs nowhere', async () => {
  const db = openDb({ url: database.url, applicationName: 'test', poolSizeMax: 1 })
  try {
    const lost = Promise.withResolvers<void>()
    const zombie = Promise.withResolvers<unknown>()
    const transaction = withTransaction(db, async (tx) => {
      const [backend] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`
      await database.db`select pg_terminate_backend(${backend.pid}, 5000)`
      await lost.promise
      zombie.resolve(await tx`insert into notes values ('zombie')`.catch((error) => error))
    })
    await assert.rejects(transaction, isUnavailable)
    assert.equal((await db`select 1 as one`)[0]?.['one'], 1)
    lost.resolve()
    assert.ok(isUnavailable(await zombie.promise))
    assert.equal(await countNotes('zombie'), 0)
  } finally {
    await closeDb(db, 1_000)
  }
})

test('a statement sent through a transaction that has ended runs nowhere', async () => {
  let leaked: Tx | undefined
  await withTransaction(database.db, async (tx) => {
    leaked = tx
  })
  assert.ok(leaked)
  await assert.rejects(leaked`insert into notes values ('leaked')`, /TRANSACTION_ENDED/)
  assert.equal(await countNotes('leaked'), 0)
})

test('statements of a transaction that could not begin run nowhere', async () => {
  const db = openDb({ url: database.url, applicationName: 'test', poolSizeMax: 1 })
  try {
    await db`insert into notes values (${'known'})`
    const statements: ((tx: Tx) => Promise<unknown>)[] = [
      // Prepared before, prepared now, and as plain text.
      (tx) => tx`insert into notes values (${'known'})`,
      (tx) => tx`insert into notes (note) values (${'unbegun'})`,
      (tx) => tx.unsafe(`insert into notes values ('unbegun'); select 1`),
      (tx) => Promise.all([tx`select 1`, tx`insert into notes values ('unbegun')`]),
    ]
    for (const statement of statements) {
      const transaction = db.begin('with no such mode', statement)
      await assert.rejects(transaction, (error) => errorCode(error) === '42601')
    }
    assert.deepEqual([await countNotes('known'), await countNotes('unbegun')], [1, 0])
    assert.equal((await db`select 1 as one`)[0]?.['one'], 1)
  } finally {
    await closeDb(db, 1_000)
  }
})

test('a transaction begins with its first statement, and sends together what is not waited for', async () => {
  const proxy = await startTcpProxy(database.url)
  const db = openDb({ url: proxy.url, applicationName: 'test', poolSizeMax: 1 })
  const turns = async (work: (tx: Tx) => Promise<unknown>) => {
    // The first time each statement is described by itself.
    await withTransaction(db, work)
    const before = proxy.turnCount()
    await withTransaction(db, work)
    return proxy.turnCount() - before
  }
  const select = (tx: Tx, n: number) => tx`select ${n}::int as n`
  try {
    assert.equal(await turns((tx) => select(tx, 1)), 2)
    assert.equal(await turns((tx) => Promise.all([1, 2, 3, 4].map((n) => select(tx, n)))), 3)
    assert.equal(await turns(async (tx) => [await select(tx, 1), await select(tx, 2)]), 3)
    assert.equal(await turns(async (tx) => tx.unsafe('select 1; select 2')), 2)
  } finally {
    await closeDb(db, 1_000)
    await proxy.close()
  }
})

// One after the other would leave all of them half warm: plans and caches of the server are a connection's own.
test('statements that come one by one use one connection of the pool', async () => {
  const db = openDb({ url: database.url, applicationName: 'test', poolSizeMax: 3 })
  try {
    await Promise.all([1, 2, 3].map((n) => db`select ${n}::int, pg_sleep(0.1)`))
    const pids = new Set<number>()
    for (let index = 0; index < 6; index += 1) {
      const [backend] = await db<[{ pid: number }]>`select pg_backend_pid() as pid`
      pids.add(backend.pid)
      await withTransaction(db, (tx) => tx`select ${index}::int`)
    }
    assert.equal(pids.size, 1)
  } finally {
    await closeDb(db, 1_000)
  }
})

test('statements waiting inside a transaction are rejected when its connection dies', async () => {
  const settled = Promise.withResolvers<PromiseSettledResult<unknown>[]>()
  const transaction = withTransaction(database.db, async (tx) => {
    const [backend] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`
    const waiting = [tx`select pg_sleep(3)`, tx`select 2`, tx`select 3`, tx`select 4`]
    await database.db`select pg_terminate_backend(${backend.pid}, 5000)`
    settled.resolve(await Promise.allSettled(waiting))
  })
  await assert.rejects(transaction, isUnavailable)
  for (const result of await settled.promise) {
    assert.ok(result.status === 'rejected' && isUnavailable(result.reason))
  }
})

// Guards against UNSAFE_TRANSACTION, which one `begin` in 400 met when it was queued behind another statement.
test('a thousand transactions share two connections with single statements', {
  timeout: 30_000,
}, async () => {
  const db = openDb({ url: database.url, applicationName: 'test', poolSizeMax: 2 })
  try {
    const exchange = async (index: number) => {
      const single = db`select ${index}::int as n`.execute()
      const sum = await withTransaction(db, async (tx) => {
        const rows = await Promise.all([tx`select ${index}::int as n`, tx`select 1 as n`])
        return rows.map(([row]) => row?.['n'] as number)
      })
      assert.deepEqual(sum, [index, 1])
      assert.equal((await single)[0]?.['n'], index)
    }
    // In waves: a thousand at once may wait longer for a connection than the pool lets them on a busy machine.
    for (let first = 0; first < 1_000; first += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => exchange(first + index)))
    }
  } finally {
    await closeDb(db, 1_000)
  }
})

async function countNotes(note: string): Promise<number> {
  const [row] = await database.db<[{ count: number }]>`
    select count(*) as count from notes where note = ${note}`
  return row.count
}
