import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { silentLog } from '#shared/log.ts'
import { assertSchemaCurrent, migrate, SchemaError } from '#shared/migrate.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'

const FIRST = 'create table first_one (id integer primary key);'
const SECOND = 'create table second_one (id integer primary key);\nselect pg_sleep(0.2);'

let base: string

before(async () => {
  base = await mkdtemp(join(tmpdir(), 'migrations-'))
})
after(() => rm(base, { recursive: true }))

test('the migrations of the service make a schema that every process accepts', async () => {
  await withDatabase(createTestDatabase(), async ({ db, url }) => {
    await assertSchemaCurrent(db)
    assert.deepEqual(await migrate(url, { log: silentLog }), [])
    const [row] = await db`select service_now() = current_timestamp as ok`
    assert.equal(row?.['ok'], true)
  })
})

test('twenty migrators at once apply each migration once', { timeout: 30_000 }, async () => {
  const directory = await write({ '0001_first.sql': FIRST, '0002_second.sql': SECOND })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    const runs = Array.from({ length: 20 }, () => migrate(url, { log: silentLog, directory }))
    const applied = (await Promise.all(runs)).flat().sort()
    assert.deepEqual(applied, ['0001_first.sql', '0002_second.sql'])
    await assertSchemaCurrent(db, directory)
  })
})

test('a database without a schema is refused', async () => {
  const directory = await write({ '0001_first.sql': FIRST })
  await withDatabase(createEmptyDatabase(), async ({ db }) => {
    await refuses(assertSchemaCurrent(db, directory), /bun run migrate/)
  })
})

test('a database that lacks a migration is refused until it is applied', async () => {
  const older = await write({ '0001_first.sql': FIRST })
  const newer = await write({ '0001_first.sql': FIRST, '0002_second.sql': SECOND })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    await migrate(url, { log: silentLog, directory: older })
    await refuses(assertSchemaCurrent(db, newer), /lacks 0002_second\.sql.*bun run migrate/)
    assert.deepEqual(await migrate(url, { log: silentLog, directory: newer }), ['0002_second.sql'])
    await assertSchemaCurrent(db, newer)
  })
})

test('a database newer than the code is refused and left alone', async () => {
  const older = await write({ '0001_first.sql': FIRST })
  const newer = await write({ '0001_first.sql': FIRST, '0002_second.sql': SECOND })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    await migrate(url, { log: silentLog, directory: newer })
    await refuses(migrate(url, { log: silentLog, directory: older }), /0002_second\.sql.*newer/)
    await refuses(assertSchemaCurrent(db, older), /0002_second\.sql.*newer/)
  })
})

test('a migration that was changed after it was applied is refused', async () => {
  const before = await write({ '0001_first.sql': FIRST })
  const changed = await write({ '0001_first.sql': `${FIRST}\n` })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    await migrate(url, { log: silentLog, directory: before })
    await refuses(
      migrate(url, { log: silentLog, directory: changed }),
      /0001_first\.sql was changed/,
    )
    await refuses(assertSchemaCurrent(db, changed), /0001_first\.sql was changed/)
  })
})

test('a migration checked out with Windows line endings is the same migration', async () => {
  const unix = await write({ '0002_second.sql': SECOND })
  const windows = await write({ '0002_second.sql': SECOND.replaceAll('\n', '\r\n') })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    await migrate(url, { log: silentLog, directory: unix })
    await assertSchemaCurrent(db, windows)
  })
})

test('a migration numbered before one that is applied is refused', async () => {
  const first = await write({ '0002_second.sql': SECOND })
  const inserted = await write({ '0001_first.sql': FIRST, '0002_second.sql': SECOND })
  await withDatabase(createEmptyDatabase(), async ({ url }) => {
    await migrate(url, { log: silentLog, directory: first })
    await refuses(
      migrate(url, { log: silentLog, directory: inserted }),
      /0001_first\.sql comes before 0002_second\.sql/,
    )
  })
})

test('a migration that fails leaves nothing of itself, and what came before it stays', async () => {
  const faulty = await write({
    '0001_first.sql': FIRST,
    '0002_faulty.sql': 'create table half_done (id integer); select 1 / 0;',
  })
  const mended = await write({ '0001_first.sql': FIRST, '0002_faulty.sql': SECOND })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    await assert.rejects(migrate(url, { log: silentLog, directory: faulty }), (error: Error) => {
      assert.match(error.message, /0002_faulty\.sql/)
      assert.match(String(error.cause), /division by zero/)
      return true
    })
    const [row] = await db`
      select to_regclass('first_one') is not null as first, to_regclass('half_done') as half,
        (select count(*) from migrations) as count`
    assert.deepEqual({ ...row }, { first: true, half: null, count: 1 })
    assert.deepEqual(await migrate(url, { log: silentLog, directory: mended }), ['0002_faulty.sql'])
  })
})

test('a migration may take longer than the 5 s that other statements have', {
  timeout: 20_000,
}, async () => {
  const directory = await write({ '0001_slow.sql': 'select pg_sleep(5.5);' })
  await withDatabase(createEmptyDatabase(), async ({ db, url }) => {
    await migrate(url, { log: silentLog, directory })
    await assertSchemaCurrent(db, directory)
  })
})

test('file names are NNNN_name.sql with a number of their own', async () => {
  const url = 'postgres://postgres@127.0.0.1:1/never_asked'
  const badName = await write({ '1_first.sql': FIRST })
  await refuses(migrate(url, { log: silentLog, directory: badName }), /NNNN_name\.sql/)
  const twice = await write({ '0001_first.sql': FIRST, '0001_second.sql': SECOND })
  await refuses(migrate(url, { log: silentLog, directory: twice }), /number 0001/)
})

async function write(files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(base, 'set-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  return directory
}

async function withDatabase(
  made: Promise<TestDatabase>,
  work: (database: TestDatabase) => Promise<void>,
): Promise<void> {
  const database = await made
  try {
    await work(database)
  } finally {
    await database.drop()
  }
}

async function refuses(promise: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof SchemaError, String(error))
    assert.match(error.message, message)
    return true
  })
}
