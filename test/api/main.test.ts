import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const MAIN = fileURLToPath(new URL('../../api/main.ts', import.meta.url))

let database: TestDatabase
let empty: TestDatabase

before(async () => {
  database = await createTestDatabase()
  empty = await createEmptyDatabase()
})
after(async () => {
  await database.drop()
  await empty.drop()
})

type Started = { child: ChildProcess; output: () => string; exit: Promise<number | null> }

const LISTENING = { what: 'the line that says where it listens', timeoutMs: 10_000 }
const listeningUrl = (output: string) => /"url":"(http:[^"]+)"/.exec(output)?.[1]

function start(env: Record<string, string>): Started {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PORT: '0',
      ENCRYPTION_KEY: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += String(chunk)
    })
  }
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { child, output: () => output, exit }
}

test('ends with exit code 78 and a line that names each faulty variable', async () => {
  const { output, exit } = start({ DATABASE_URL: 'mysql://x', ENCRYPTION_KEY: '', PORT: 'x' })
  assert.equal(await exit, 78)
  for (const variable of ['DATABASE_URL', 'ENCRYPTION_KEY', 'PORT']) {
    assert.match(output(), new RegExp(`^${variable} `, 'm'))
  }
})

test('refuses to run on a database without its schema', async () => {
  const { output, exit } = start({ DATABASE_URL: empty.url })
  assert.equal(await exit, 1)
  assert.match(output(), /bun run migrate/)
})

test('links carry the port that the system chose, when no PUBLIC_URL is set', {
  timeout: 30_000,
}, async () => {
  const { child, output, exit } = start({ DATABASE_URL: database.url })
  const url = await until(() => listeningUrl(output()), LISTENING)
  await until(async () => (await fetch(`${url}/readyz`)).status === 200, { what: 'readiness' })
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { servers: unknown }
  child.kill()
  await exit
  assert.deepEqual(document.servers, [{ url }])
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`serves, and ends within 5 s of ${signal} with code 0`, { timeout: 30_000 }, async () => {
    const { child, output, exit } = start({ DATABASE_URL: database.url })
    const url = await until(() => listeningUrl(output()), LISTENING)
    await until(async () => (await fetch(`${url}/readyz`)).status === 200, { what: 'readiness' })
    const startedMs = performance.now()
    child.kill(signal)
    assert.equal(await exit, 0)
    assert.ok(performance.now() - startedMs < 5_000)
  })
}
