import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { silentLog } from '#shared/log.ts'
import { startPostgres } from '#shared/start/postgres.ts'

/**
 * Keeps a throw-away Postgres for a test process, which waits on the port given as argument: sends it the server's URL,
 * or an error, as one line of JSON, and ends the server when the connection ends, however the test process did.
 *
 * A process of its own because Bun's test runner kills the children of a process whose test ran out of time, and the
 * suites after that one still need their databases.
 */
const socket = connect(Number(process.argv[2]), '127.0.0.1')
const gone = new Promise<void>((done) => {
  socket.once('close', () => done())
  // What ends a connection is its business; that it ended is ours.
  socket.on('error', () => socket.destroy())
})
socket.resume()
try {
  const server = await startPostgres({
    dataDirectory: join(tmpdir(), `stablecoin-payments-test-${process.pid}`),
    log: silentLog,
    durable: false,
    temporary: true,
  })
  socket.write(`${JSON.stringify({ url: server.url })}\n`)
  await gone
  await server.stop()
} catch (error) {
  socket.end(`${JSON.stringify({ error: String(error) })}\n`)
}
process.exit()
