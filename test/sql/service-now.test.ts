import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeDb, openDb } from '#shared/db.ts'
import { createTestDatabase, travel } from '../support/database.ts'
import { until } from '../support/until.ts'

test('service_now() is the time of the transaction, moved for every connection, old and new', {
  timeout: 20_000,
}, async () => {
  const database = await createTestDatabase({ poolSizeMax: 3 })
  const other = openDb({ url: database.url, applicationName: 'other', poolSizeMax: 1 })
  try {
    const read = (db: typeof other) =>
      db<[{ hours: number }]>`
        select extract(epoch from service_now() - current_timestamp)::int / 3600 as hours`
    assert.equal((await read(database.db))[0].hours, 0)
    await travel(database, '25 hours')
    const all = await Promise.all(Array.from({ length: 6 }, () => read(database.db)))
    assert.deepEqual(
      all.map(([row]) => row.hours),
      [25, 25, 25, 25, 25, 25],
    )
    // Another pool, as of another process, notices by itself that its connection was cut.
    await until(async () => (await read(other))[0].hours === 25, { what: 'the other to follow' })
    await travel(database, '0')
    assert.equal((await read(database.db))[0].hours, 0)
  } finally {
    await closeDb(other, 1_000)
    await database.drop()
  }
})
