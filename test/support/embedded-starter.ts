import process from 'node:process'
import { silentLog } from '#shared/log.ts'
import { startPostgres } from '#shared/start/postgres.ts'

/** A process that starts a database on the directory given as argument, says where, and waits to be killed. */
const server = await startPostgres({ dataDirectory: process.argv[2] ?? '', log: silentLog })
process.stdout.write(`${JSON.stringify({ url: server.url, pid: server.pid })}\n`)
await server.ended
