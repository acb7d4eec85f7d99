import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import type { Log } from '#shared/log.ts'
import { findBinaries } from '#shared/start/postgres-binaries.ts'
import {
  clearLeftovers,
  type PreparedDirectory,
  prepareDirectory,
  recordStarter,
} from '#shared/start/postgres-directory.ts'

export type PostgresOptions = {
  /** Where the data lie; made on the first start and resumed on later ones. */
  dataDirectory: string
  /** TCP port on 127.0.0.1; a free one when absent. */
  port?: number
  log: Log
  /** `false` spares every wait for the disk: for tests only, a power cut loses the data. Default `true`. */
  durable?: boolean
  /** `true` removes the data when the server stops or whoever started it has gone. Default `false`. */
  temporary?: boolean
}

/** A server that was started here and ends when it is told to, or when this process has gone. */
export type RunningPostgres = {
  /** Database `postgres` as its superuser, without a password. */
  url: string
  port: number
  pid: number
  /** Resolves when the server has ended, for whatever reason. */
  ended: Promise<void>
  /** Ends the server within 3 s, so that no process is left. */
  stop(): Promise<void>
}

type Server = {
  child: ChildProcess
  pid: number
  ended: Promise<void>
  /** The last of what it wrote. */
  output: () => string
}

/** Milliseconds from request to end: first politely, then by force. The log of writes makes both safe. */
const STOP_POLITELY_MS = 2_000
const STOP_AT_ONCE_MS = 500
/** Milliseconds for the server to accept connections; recovery after a crash is the slow case. */
const READY_TIMEOUT_MS = 60_000
const READY_POLL_MS = 15
/** Attempts to start: the port found free may be taken, a killed server's children may still be leaving. */
const START_ATTEMPTS_MAX = 20
const START_RETRY_MS = 250
/** Characters kept of the server's log, for the error when it does not start. */
const OUTPUT_CHARACTERS_MAX = 4_000
/** Connections for every process of a small installation together. */
const CONNECTIONS_MAX = 200

/**
 * Starts an embedded Postgres on 127.0.0.1, making its data directory when there is none.
 *
 * Throws with one clear sentence when a server already runs on the directory or the port is taken. A server left over by
 * a starter that was killed is ended first. As root it runs as another user; when that one may not enter the
 * directory, the data go below the system's temporary directory, which is said in the log.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { log, durable = true, temporary = false } = options
  const binaries = await findBinaries(log)
  const wanted = resolve(options.dataDirectory)
  const prepared = await prepareDirectory(wanted, binaries, { isDurable: durable, log })
  await clearLeftovers(prepared.directory, log)
  const { server, port } = await startOnPort(options.port, prepared.directory, (portToUse) =>
    spawnServer(
      binaries.postgres,
      flags(prepared.directory, portToUse, durable),
      prepared,
      options,
    ),
  )
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    pid: server.pid,
    ended: server.ended,
    async stop() {
      await stopServer(server)
      if (temporary) await rm(prepared.directory, { recursive: true, force: true })
    },
  }
}

async function startOnPort(
  portWanted: number | undefined,
  directory: string,
  spawnOn: (port: number) => Server,
): Promise<{ server: Server; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = portWanted ?? (await freePort())
    const server = spawnOn(port)
    if (await becomesReady(server, directory)) {
      await recordStarter(directory, server.pid)
      return { server, port }
    }
    const output = server.output()
    const isPortTaken = output.includes('could not create any TCP/IP sockets')
    const mayRetry = isPortTaken ? portWanted === undefined : output.includes('shared memory block')
    if (mayRetry && attempt < START_ATTEMPTS_MAX) {
      await wait(START_RETRY_MS)
      continue
    }
    if (isPortTaken)
      throw new Error(`port ${port} for Postgres is taken: free it or choose another`)
    if (output.includes('"postmaster.pid" already exists')) {
      throw new Error(`a Postgres already runs on ${directory}: stop it first`)
    }
    throw new Error(`Postgres did not start on ${directory}: ${output.trim()}`)
  }
}

function flags(directory: string, port: number, durable: boolean): string[] {
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: CONNECTIONS_MAX,
    shared_buffers: '64MB',
    // No standby follows an embedded server, and reading ahead by workers of its own costs memory at rest.
    wal_level: 'minimal',
    max_wal_senders: 0,
    io_method: 'sync',
    jit: 'off',
    // What clients did wrong is theirs to log; the server says only what ends it.
    log_min_messages: 'fatal',
    log_min_error_statement: 'panic',
    timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
  const assignments = Object.entries(settings).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  return ['-D', directory, '-p', String(port), ...assignments]
}

function spawnServer(
  program: string,
  args: string[],
  { directory, account }: PreparedDirectory,
  { log, temporary = false }: PostgresOptions,
): Server {
  const child = spawn(program, args, {
    ...account,
    cwd: '/',
    // A session of its own: Ctrl-C on the terminal must not reach the database before its users are done.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { LC_ALL: 'C', TZ: 'UTC' },
  })
  const pid = child.pid ?? 0
  const watcher = pid > 0 ? watch(pid, directory, temporary ? 'remove' : 'keep') : undefined
  letGo(child, child.stderr)
  let output = ''
  child.stderr.on('data', (chunk: Uint8Array) => {
    const text = new TextDecoder().decode(chunk)
    output = (output + text).slice(-OUTPUT_CHARACTERS_MAX)
    log.debug(text.trim())
  })
  const ended = new Promise<void>((done) => {
    child.once('close', () => done())
    child.once('error', (error) => {
      output += String(error)
      done()
    })
  }).then(() => {
    watcher?.kill('SIGKILL')
  })
  return { child, pid, ended, output: () => output }
}

/** Resolves `true` when the server accepts connections, `false` when it ended instead. */
async function becomesReady(server: Server, directory: string): Promise<boolean> {
  let isOver = false
  const ended = server.ended.then(() => {
    isOver = true
  })
  const deadline = performance.now() + READY_TIMEOUT_MS
  const path = join(directory, 'postmaster.pid')
  while (!isOver && performance.now() < deadline) {
    // Line 8 of the file is the server's state (src/include/utils/pidfile.h); pg_ctl waits for the same.
    const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n')
    if (lines[0] === String(server.pid) && lines[7]?.trim() === 'ready') return true
    await Promise.race([ended, wait(READY_POLL_MS)])
  }
  if (!isOver) await stopServer(server)
  return false
}

async function stopServer({ child, ended }: Server): Promise<void> {
  // SIGINT: disconnect everybody, write a checkpoint, end. SIGQUIT: end at once, recover on the next start.
  child.kill('SIGINT')
  if (await isFirst(ended, STOP_POLITELY_MS)) return
  child.kill('SIGQUIT')
  if (await isFirst(ended, STOP_AT_ONCE_MS)) return
  child.kill('SIGKILL')
  await isFirst(ended, STOP_AT_ONCE_MS)
}

async function isFirst(ended: Promise<void>, timeoutMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timedOut = new Promise<false>((done) => {
    timer = setTimeout(done, timeoutMs, false)
  })
  const isEnded = await Promise.race([ended.then(() => true), timedOut])
  clearTimeout(timer)
  return isEnded
}

/**
 * Waits for the end of its input, then for the end of the server $0: 4 s at most, by force after 2.5 s. The server
 * removes its file when it ends; its number alone would also be there while nobody has reaped it.
 */
const WATCH = `trap '' INT TERM HUP
while read -r _; do :; done
kill -INT "$0"
turn=0
while [ -e "$1/postmaster.pid" ] && [ $turn -lt 80 ]; do
  turn=$((turn + 1))
  [ $turn -eq 50 ] && kill -QUIT "$0"
  sleep 0.05
done
[ "$2" = keep ] || rm -rf -- "$1"`

/**
 * A shell that sleeps on a pipe from this process and ends the server when the pipe closes: however this process ends,
 * `kill -9` included, no server stays behind.
 */
function watch(pid: number, directory: string, afterwards: 'keep' | 'remove'): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', WATCH, String(pid), directory, afterwards], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.on('error', () => {
    // Without a shell the server outlives a killed starter; the next start ends it.
  })
  letGo(watcher, watcher.stdin)
  return watcher
}

/** Lets this process end while the child runs: its end is what the watcher waits for. */
function letGo(child: ChildProcess, pipe: object): void {
  child.unref()
  // Where a pipe to a child keeps the process alive it is a socket, which its declared type does not say.
  if ('unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    server.listen(0, '127.0.0.1', done)
  })
  const address = server.address()
  await new Promise((done) => server.close(done))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

function wait(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
