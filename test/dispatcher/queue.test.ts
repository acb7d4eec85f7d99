import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { openDb } from '#shared/db.ts'
import { silentLog } from '#shared/log.ts'
import { openQueue, QueueLostError } from '../../dispatcher/queue.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_TLS } from '../support/receiver-tls.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

describe('the queue’s own connections', () => {
  let database: TestDatabase
  before(async () => {
    database = await createTestDatabase()
  })
  after(() => database.drop())

  const open = (databaseUrl: string) =>
    openQueue({ databaseUrl, prepare: true, expireInSeconds: 30, log: silentLog })
  const job = { token: 'token', deliveryIds: ['dlv_a'] }

  test('lead to the first server of DATABASE_URL that is there, and elsewhere when it goes', async () => {
    const first = await startTcpProxy(database.url)
    const url = new URL(database.url)
    const among = database.url.replace(
      url.host,
      `127.0.0.1:1,${new URL(first.url).host},${url.host}`,
    )
    const queue = await open(among)
    await database.db.begin((tx) => queue.send(tx, [job]))
    assert.equal((await queue.fetch(1)).length, 1)
    assert.ok(first.turnCount() > 0, 'the first that answers is the one')

    await first.close()
    await assert.rejects(queue.fetch(1), QueueLostError)
    await queue.stop()
    const again = await open(among)
    await database.db.begin((tx) => again.send(tx, [job]))
    assert.equal((await again.fetch(1)).length, 1)
    await again.stop()
  })

  test('take sslmode as everybody else does: require asks for no known certificate', async () => {
    const server = await startTlsFront(database.url)
    const url = `${server.url}?sslmode=require`
    const db = openDb({ url, applicationName: 'test' })
    await db`select 1`
    await db.end()
    const queue = await open(url)
    assert.deepEqual(await queue.fetch(1), [])
    await queue.stop()
    await server.close()
    assert.ok(server.handshakeCount() >= 2)
  })
})

/** In front of a database that speaks no TLS: grants a client's wish for it and speaks it, with a certificate of ours. */
async function startTlsFront(databaseUrl: string) {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let handshakeCount = 0
  const join = (one: Socket, other: Socket) => {
    for (const socket of [one, other]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    one.pipe(other)
    other.pipe(one)
  }
  const inner = createTlsServer(TEST_TLS, (secure) => {
    handshakeCount += 1
    join(secure, connect(Number(target.port), target.hostname))
  })
  const innerPort = await listen(inner)
  const outer = createServer(async (client) => {
    // The wish has no content, and the answer is one letter.
    await once(client, 'data')
    client.write('S')
    join(client, connect(innerPort, '127.0.0.1'))
  })
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${await listen(outer)}`
  return {
    url: url.href,
    handshakeCount: () => handshakeCount,
    async close() {
      for (const socket of sockets) socket.destroy()
      await Promise.all([inner, outer].map((server) => new Promise((done) => server.close(done))))
    },
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}
