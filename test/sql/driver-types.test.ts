import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { closeDb, type Db, openDb } from '#shared/db.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

before(async () => {
  database = await createEmptyDatabase({ poolSizeMax: 1 })
})
after(() => database.drop())

/** 100 million tokens of 18 decimals: far beyond int8, which ends at 9.22 of them. */
const HUGE = 100_000_000n * 10n ** 18n

test('numeric arrives as bigint, of any size', async () => {
  const [row] =
    await database.db`select ${HUGE.toString()}::numeric as huge, -1::numeric as negative`
  assert.deepEqual({ ...row }, { huge: HUGE, negative: -1n })
})

test('a bigint parameter goes out as numeric, so that 18 decimals do not overflow', async () => {
  const [row] =
    await database.db`select ${HUGE} as huge, pg_typeof(${1n}) = 'numeric'::regtype as ok`
  assert.deepEqual({ ...row }, { huge: HUGE, ok: true })
})

test('arrays of bigint, text and Date go out as what the statement says they are', async () => {
  const at = new Date('2026-01-31T00:00:00.123Z')
  const rows = await database.db`
    select * from unnest(${[HUGE, 2n]}::numeric[], ${['a', 'b,"c"']}::text[], ${[at, at]}::timestamptz[])
      as t (amount, name, seen_at)`
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [
      { amount: HUGE, name: 'a', seenAt: at },
      { amount: 2n, name: 'b,"c"', seenAt: at },
    ],
  )
  const [empty] = await database.db`select ${[]}::numeric[] as none`
  assert.deepEqual(empty?.['none'], [])
})

test('arrays arrive with their elements translated', async () => {
  const [row] = await database.db`select array[1, 2]::numeric[] as amounts, '{x}'::text[] as names`
  assert.deepEqual({ ...row }, { amounts: [1n, 2n], names: ['x'] })
})

test('a fraction in a numeric is refused, and the connection serves on', async () => {
  await assert.rejects(database.db`select 1.5::numeric as x from generate_series(1, 3)`, /1\.5/)
  await assert.rejects(database.db`select ${0.1}::numeric as x`, /lose digits/)
  const [row] = await database.db`select 1 as one`
  assert.equal(row?.['one'], 1)
})

test('int8 arrives as number, and beyond 2^53 it is refused', async () => {
  const [row] = await database.db`select 9007199254740991::int8 as largest`
  assert.equal(row?.['largest'], Number.MAX_SAFE_INTEGER)
  await assert.rejects(database.db`select 9007199254740993::int8 as x`, RangeError)
})

test('timestamptz is a Date both ways, whatever the session zone', async () => {
  const at = new Date('2026-10-25T00:30:00.250Z')
  const [row] =
    await database.db`select ${at} as at, ${at}::timestamptz = '2026-10-25T02:30:00.25+02' as ok`
  assert.deepEqual({ ...row }, { at, ok: true })
})

test('jsonb is an object both ways, its keys untouched', async () => {
  const value = { some_key: { otherKey: [1, 'ü', null] }, __proto_: true }
  const [row] = await database.db`select ${database.db.json(value)} as some_value`
  assert.deepEqual(row?.['someValue'], value)
})

test('columns are camelCase in TypeScript and snake_case in SQL', async () => {
  await database.db`create table spelled (amount_base_units numeric, seen_at timestamptz)`
  const row = { amountBaseUnits: 5n, seenAt: new Date(0) }
  await database.db`insert into spelled ${database.db(row)}`
  await database.db`update spelled set ${database.db({ amountBaseUnits: 6n })}`
  assert.deepEqual(
    { ...(await database.db`select * from spelled`)[0] },
    { ...row, amountBaseUnits: 6n },
  )
})

test('a parameter that cannot be written fails its own query, not its neighbours', async () => {
  const { db } = database
  await db`select 'a connection is open'`
  const slow = db`select pg_sleep(0.05), 1 as one`.execute()
  const faulty = db`select ${undefined as unknown as string}`.execute()
  const behind = db`select 2 as two`.execute()
  await assert.rejects(faulty, /UNDEFINED_VALUE/)
  assert.equal((await slow)[0]?.['one'], 1)
  assert.equal((await behind)[0]?.['two'], 2)
})

test('every session has the deadlines that end what a stopped process left', async () => {
  const [row] = await database.db`
    select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('lock_timeout') as lock`
  assert.deepEqual({ ...row }, { statement: '5s', idle: '5s', lock: '4500ms' })
})

test('for a transaction pooler nothing is prepared on the server, and no deadline is a start-up parameter', async () => {
  const { url } = database
  const pooled = openDb({ url, applicationName: 'pooled', poolSizeMax: 1, prepare: false })
  try {
    await pooled`select ${1}::integer as one`
    await pooled.begin(async (tx) => {
      await tx`select ${'a'}::text as text`
      // As the queue sends its statements.
      await tx.unsafe('select $1::integer as one', [1], { prepare: true })
    })
    const prepared = await pooled`select name from pg_prepared_statements`
    assert.deepEqual([...prepared], [])
    const given = await pooled<{ name: string }[]>`
      select name from pg_settings where source = 'client' and name <> 'client_encoding' order by name`
    assert.deepEqual(
      given.map(({ name }) => name),
      ['application_name'],
    )
  } finally {
    await closeDb(pooled, 1_000)
  }
})

test('no session compiles its plans, whatever the server says: before Postgres 18 each event would wait 40 ms for it', async () => {
  const { db, name, url } = database
  await db`alter database ${db(name)} set jit = on`
  const own = openDb({ url, applicationName: 'jit', poolSizeMax: 1 })
  const pooled = openDb({ url, applicationName: 'jit', poolSizeMax: 1, prepare: false })
  const jitOf = async (session: Db) =>
    (await session`select current_setting('jit') as jit`)[0]?.['jit']
  assert.equal(await jitOf(own), 'off')
  assert.equal(await jitOf(pooled), 'on', 'behind a pooler the role has to say so')
  await Promise.all([closeDb(own, 1_000), closeDb(pooled, 1_000)])
})
