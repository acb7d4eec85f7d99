import process from 'node:process'
import { silentLog } from '#shared/log.ts'
import { startAnvil } from '#shared/start/anvil.ts'

/** A process that starts a local chain on the directory given as argument, says where, and waits to be killed. */
const { httpUrl, pid, ended } = await startAnvil({
  stateDirectory: process.argv[2] ?? '',
  log: silentLog,
})
process.stdout.write(`${JSON.stringify({ httpUrl, pid })}\n`)
await ended
