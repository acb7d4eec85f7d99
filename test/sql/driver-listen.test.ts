import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Listener, listen } from '#shared/db/listen.ts'
import { createLog, silentLog } from '#shared/log.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

let database: TestDatabase

before(async () => {
  database = await createEmptyDatabase()
})
after(() => database.drop())

test('a notification reaches the handler of its channel, with its payload', async () => {
  const heard: string[] = []
  let isListening = false
  await withListener(
    {
      first: (payload) => heard.push(`first ${payload}`),
      'second channel': (payload) => heard.push(`second ${payload}`),
    },
    () => {
      isListening = true
    },
    async () => {
      await until(() => isListening, { what: 'the channels to be open' })
      await database.db`select pg_notify('first', 'a'), pg_notify('second channel', 'b'), pg_notify('third', 'c')`
      await until(() => heard.length >= 2, { what: 'both notifications' })
      assert.deepEqual(heard, ['first a', 'second b'])
    },
  )
})

test('after its backend was killed it listens again and says so', async () => {
  let listeningCount = 0
  let heardCount = 0
  await withListener(
    { again: () => (heardCount += 1) },
    () => (listeningCount += 1),
    async () => {
      for (const turn of [1, 2, 3]) {
        await until(() => listeningCount === turn, { what: `the channel to be open, time ${turn}` })
        await database.db`select pg_notify('again', '')`
        await until(() => heardCount === turn, { what: `notification ${turn}` })
        await database.db`
          select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listener'`
      }
    },
  )
})

test('a handler that throws is logged, and the next notification arrives', async () => {
  const lines: string[] = []
  const log = createLog({
    name: 'test',
    level: 'error',
    format: 'json',
    write: (line) => lines.push(line),
  })
  let heardCount = 0
  let isListening = false
  const listener = listen({
    url: database.url,
    applicationName: 'listener',
    handlers: {
      faulty() {
        heardCount += 1
        throw new Error('on purpose')
      },
    },
    onListening: () => {
      isListening = true
    },
    log,
  })
  try {
    await until(() => isListening, { what: 'the channel to be open' })
    await database.db`select pg_notify('faulty', '1'), pg_notify('faulty', '2')`
    await until(() => heardCount === 2, { what: 'both notifications' })
    assert.match(lines[0] ?? '', /on purpose/)
  } finally {
    await listener.stop()
  }
})

test('it waits for a server that is away, and stops at once when told to', async () => {
  const proxy = await startTcpProxy(database.url)
  proxy.behave('hangUp')
  let isListening = false
  const listener = listen({
    url: proxy.url,
    applicationName: 'listener',
    handlers: { channel() {} },
    onListening: () => {
      isListening = true
    },
    log: silentLog,
  })
  try {
    proxy.behave('forward')
    await until(() => isListening, { what: 'the channel to be open' })
    proxy.behave('hangUp')
  } finally {
    const startedAt = performance.now()
    await listener.stop()
    assert.ok(performance.now() - startedAt < 2_000)
    await proxy.close()
  }
})

async function withListener(
  handlers: Record<string, (payload: string) => void>,
  onListening: () => void,
  work: () => Promise<void>,
): Promise<void> {
  const listener: Listener = listen({
    url: database.url,
    applicationName: 'listener',
    handlers,
    onListening,
    log: silentLog,
  })
  try {
    await work()
  } finally {
    await listener.stop()
  }
}
