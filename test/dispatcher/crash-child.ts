import process from 'node:process'
import { closeDb, openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { startDispatcher } from '../../dispatcher/dispatcher.ts'
import { TEST_DOOR, TEST_KEYRING } from '../support/door.ts'

/** A dispatcher in a process of its own with a short clockwork, to be killed. Argument: database URL. */
const databaseUrl = process.argv[2] ?? ''
const db = openDb({ url: databaseUrl, applicationName: 'dispatcher' })
const dispatcher = startDispatcher({
  db,
  databaseUrl,
  listenUrl: databaseUrl,
  prepare: true,
  keyring: TEST_KEYRING,
  door: TEST_DOOR,
  outbound: { allowPrivate: true },
  log: silentLog,
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  timing: { attemptTimeoutMs: 1_000, jobExpireS: 3, queuedForMs: 6_000 },
})
await dispatcher.ready
process.stdout.write('ready\n')
process.once('SIGTERM', async () => {
  await dispatcher.stop()
  await closeDb(db, 500)
  process.exit(0)
})
