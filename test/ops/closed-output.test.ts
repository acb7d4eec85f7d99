import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { findFreePort } from '../support/free-port.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Replaces the shell by the wing, with a pipe for its log whose other end goes away after a line. */
const UNTIL_THE_FIRST_LINE = 'exec "$0" "$1" > >(exec head -n 1 > /dev/null)'
const TIMEOUT_MS = 20_000
/** Connections refused, most of which are worth a warning: the log is gone by the second line. */
const HANG_UP_COUNT = 6

describe('a process whose log nobody takes any more', () => {
  let database: TestDatabase
  before(async () => {
    database = await createTestDatabase()
  })
  after(() => database.drop())

  for (const wing of ['api', 'indexer', 'dispatcher']) {
    test(`${wing}: what it would have warned of does not end it`, { timeout: 60_000 }, async () => {
      const proxy = await startTcpProxy(database.url)
      proxy.behave('hangUp')
      const port = await findFreePort()
      const env = {
        DATABASE_URL: proxy.url,
        ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
        [wing === 'api' ? 'PORT' : 'METRICS_PORT']: `${port}`,
      }
      const words = ['-c', UNTIL_THE_FIRST_LINE, process.execPath, `${wing}/main.ts`]
      const child = spawn('bash', words, { cwd: ROOT, env, stdio: 'ignore' })
      const ended = once(child, 'exit')
      const get = async (path: string) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
        return answer?.status
      }
      const waiting = { what: `${wing} to be ready`, timeoutMs: TIMEOUT_MS }
      await until(() => proxy.hangUpCount() >= HANG_UP_COUNT, waiting)
      assert.equal(await get('/readyz'), 503)
      proxy.behave('forward')
      await until(async () => (await get('/readyz')) === 200, waiting)
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
      await proxy.close()
    })
  }
})
