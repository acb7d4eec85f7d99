import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { RATE_WINDOW_KEPT_HOURS, REQUEST_KEPT_DAYS, trimRequests } from '../../dispatcher/trim.ts'
import { createTestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { dispatch } from './support.ts'

test('requests finished more than their time ago are removed; younger and unfinished ones stay', {
  timeout: 60_000,
}, async () => {
  const database = await createTestDatabase()
  const { db } = database
  const ask = (subject: string, kind: string, doneDaysAgo: number | null) => db`
    insert into requests (request_id, kind, subject, created_at, done_at, result)
    values (${newId('req')}, ${kind}, ${subject}, service_now() - interval '5 years',
      service_now() - make_interval(days => ${doneDaysAgo}::integer), '{}')`
  await ask('old mail', 'mail', REQUEST_KEPT_DAYS + 1)
  await ask('old rescan', 'rescan', REQUEST_KEPT_DAYS + 1)
  await ask('young mail', 'mail', REQUEST_KEPT_DAYS - 1)
  await ask('waiting mail', 'mail', null)
  const subjects = async () => {
    const rows = await db<{ subject: string }[]>`select subject from requests order by subject`
    return rows.map((row) => row.subject)
  }
  const dispatcher = dispatch(database)
  await dispatcher.ready
  await until(async () => (await subjects()).length === 2, { what: 'old requests to go' })
  await dispatcher.stop()
  assert.deepEqual(await subjects(), ['waiting mail', 'young mail'])
  assert.equal(await trimRequests(db), 0)
  await database.drop()
})

test('counts of callers who have not come for two days are removed, those of today stay', {
  timeout: 60_000,
}, async () => {
  const database = await createTestDatabase()
  const { db } = database
  await db`
    insert into rate_windows (rate_key, started_at, request_count)
    values ('long ago', service_now() - make_interval(hours => ${RATE_WINDOW_KEPT_HOURS}::integer, mins => 1), 7),
      ('today', service_now() - interval '1 hour', 7)`
  const keys = async () => {
    const rows = await db<{ rateKey: string }[]>`select rate_key from rate_windows`
    return rows.map((row) => row.rateKey)
  }
  const dispatcher = dispatch(database)
  await dispatcher.ready
  await until(async () => (await keys()).length === 1, { what: 'the old count to go' })
  await dispatcher.stop()
  assert.deepEqual(await keys(), ['today'])
  await database.drop()
})
