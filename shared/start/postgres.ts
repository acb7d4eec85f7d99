import { type ChildProcess, spawn } from 'node:child_process'
import { chown, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { Log } from '#shared/log.ts'
import {
  type Account,
  type Binaries,
  findBinaries,
  finish,
  mayEnter,
  temporaryPath,
} from '#shared/start/postgres-binaries.ts'

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
  /** Ends the server within {@link STOP_TIMEOUT_MS}, so that no process is left. */
  stop(): Promise<void>
}

type Started = { child: ChildProcess; pid: number; ended: Promise<void>; output: () => string }

/** Milliseconds from request to end: first politely, then by force. The log of writes makes both safe. */
export const STOP_TIMEOUT_MS = 3_000
const STOP_POLITELY_MS = 2_300
const STOP_AT_ONCE_MS = 600
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
/** The major version of the packaged programs; data of another one cannot be read. */
const MAJOR_VERSION = '18'

/**
 * Starts an embedded Postgres on 127.0.0.1, making its data directory when there is none.
 *
 * Throws with one clear sentence when a server already runs on the directory or the port is taken. A server left over by
 * a starter that was killed is ended first. As root it runs as another user; when that one may not enter the
 * directory, the data go below the system's temporary directory, which is said in the log.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const binaries = await findBinaries(options.log)
  const directory = await prepareDirectory(resolve(options.dataDirectory), binaries, options)
  await clearLeftovers(directory, options.log)
  const { started, port } = await startOnPort(binaries, directory, options)
  await writeFile(join(directory, STARTER_FILE), String(process.pid))
  const watcher = watch(started.pid, options.temporary ? directory : '')
  const ended = started.ended.then(() => {
    watcher.kill('SIGKILL')
  })
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    pid: started.pid,
    ended,
    async stop() {
      await stopChild(started)
      await ended
      if (options.temporary) await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Holds the process id of whoever started the server on this directory. */
const STARTER_FILE = 'starter.pid'

async function prepareDirectory(
  wanted: string,
  binaries: Binaries,
  options: PostgresOptions,
): Promise<string> {
  const { account } = binaries
  await mkdir(dirname(wanted), { recursive: true })
  let directory = wanted
  if (account && !(await reachable(wanted, account))) {
    directory = temporaryPath('data', wanted)
    options.log.warn('Postgres may not run as root and no other user may enter the data folder', {
      wanted,
      usedInstead: directory,
    })
  }
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined)
  if (version === undefined) await createDirectory(directory, binaries, options.durable ?? true)
  else if (version.trim() !== MAJOR_VERSION) {
    throw new Error(
      `${directory} was made by Postgres ${version.trim()}, this is ${MAJOR_VERSION}: dump and load it, or move it away`,
    )
  }
  return directory
}

/** Whether the account could work in a folder of this name: tried with an empty one beside it. */
async function reachable(directory: string, account: Account): Promise<boolean> {
  const probe = `${directory}.probe-${process.pid}`
  await mkdir(probe, { mode: 0o700 })
  try {
    await chown(probe, account.uid, account.gid)
    return await mayEnter(probe, account)
  } finally {
    await rmdir(probe)
  }
}

/** Builds the data beside their place and moves them there whole, so that a half-made folder is never taken for one. */
async function createDirectory(
  directory: string,
  { initdb, account }: Binaries,
  durable: boolean,
): Promise<void> {
  const partial = `${directory}.new-${process.pid}`
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { mode: 0o700 })
  if (account) await chown(partial, account.uid, account.gid)
  try {
    const { code, output } = await finish(
      initdb,
      [
        `--pgdata=${partial}`,
        '--username=postgres',
        '--auth=trust',
        '--encoding=UTF8',
        // Postgres's own rules for letters: the same on every system, whatever locales it has.
        ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
        '--no-instructions',
        ...(durable ? [] : ['--no-sync']),
      ],
      account,
    )
    if (code !== 0) throw new Error(`initdb failed: ${output}`)
    await rename(partial, directory)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (await wasMadeMeanwhile(directory)) return
    throw new Error(`could not make a database in ${directory}`, { cause: error })
  }
}

async function wasMadeMeanwhile(directory: string): Promise<boolean> {
  return (await readdir(directory).catch((): string[] => [])).includes('PG_VERSION')
}

/** Looks at what an earlier run left: a server without its starter is ended, one with it is an error. */
async function clearLeftovers(directory: string, log: Log): Promise<void> {
  const path = join(directory, 'postmaster.pid')
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 1 || !isAlive(pid)) return
  if (!(await isPostgres(pid))) {
    // The number was given to another program since. With our own number in its place Postgres takes the file for a dead
    // server's, and still looks whether that one's shared memory is in use.
    await writeFile(path, [String(process.pid), ...lines.slice(1)].join('\n'))
    return
  }
  const starter = Number(await readFile(join(directory, STARTER_FILE), 'utf8').catch(() => ''))
  if (!Number.isSafeInteger(starter) || starter <= 1 || isAlive(starter)) {
    throw new Error(`a Postgres (process ${pid}) already runs on ${directory}: stop it first`)
  }
  log.warn('ending the database server that a killed process left behind', { pid })
  process.kill(pid, 'SIGINT')
  if (await endsWithin(pid, STOP_POLITELY_MS)) return
  process.kill(pid, 'SIGQUIT')
  if (!(await endsWithin(pid, READY_TIMEOUT_MS))) throw new Error(`process ${pid} does not end`)
}

async function endsWithin(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (isAlive(pid)) {
    if (performance.now() > deadline) return false
    await wait(READY_POLL_MS)
  }
  return true
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: there is one, but it belongs to somebody else.
    return (error as { code?: unknown }).code === 'EPERM'
  }
}

async function isPostgres(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(async () => {
    // Systems without /proc.
    const { output } = await finish('ps', ['-o', 'command=', '-p', String(pid)], undefined)
    return output
  })
  return basename(command.split(/[\0 ]/)[0] ?? '').startsWith('postgres')
}

async function startOnPort(
  binaries: Binaries,
  directory: string,
  options: PostgresOptions,
): Promise<{ started: Started; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort())
    const started = spawnServer(binaries, directory, port, options)
    if (await becomesReady(started, directory)) return { started, port }
    const output = started.output()
    const portTaken = output.includes('could not bind')
    const mayRetry = portTaken ? options.port === undefined : output.includes('shared memory block')
    if (mayRetry && attempt < START_ATTEMPTS_MAX) {
      await wait(START_RETRY_MS)
      continue
    }
    if (portTaken) throw new Error(`port ${port} for Postgres is taken: free it or choose another`)
    if (output.includes('"postmaster.pid" already exists')) {
      throw new Error(`a Postgres already runs on ${directory}: stop it first`)
    }
    throw new Error(`Postgres did not start on ${directory}: ${output.trim()}`)
  }
}

function spawnServer(
  { postgres, account }: Binaries,
  directory: string,
  port: number,
  { log, durable = true }: PostgresOptions,
): Started {
  const child = spawn(postgres, ['-D', directory, '-p', String(port), ...flags(durable)], {
    ...account,
    cwd: '/',
    // A session of its own: Ctrl-C on the terminal must not reach the database before its users are done.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { LC_ALL: 'C', TZ: 'UTC' },
  })
  let output = ''
  child.stderr?.on('data', (chunk: Uint8Array) => {
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
  })
  return { child, pid: child.pid ?? 0, ended, output: () => output }
}

function flags(durable: boolean): string[] {
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
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Resolves `true` when the server accepts connections, `false` when it ended instead. */
async function becomesReady(started: Started, directory: string): Promise<boolean> {
  let isOver = false
  const ended = started.ended.then(() => {
    isOver = true
  })
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (!isOver && performance.now() < deadline) {
    // Line 8 of the file is the server's state (src/include/utils/pidfile.h); pg_ctl waits for the same.
    const lines = (await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '')).split(
      '\n',
    )
    if (lines[0] === String(started.pid) && lines[7]?.trim() === 'ready') return true
    await Promise.race([ended, wait(READY_POLL_MS)])
  }
  if (!isOver) await stopChild(started)
  return false
}

async function stopChild({ child, ended }: Started): Promise<void> {
  // SIGINT: disconnect everybody, write a checkpoint, end. SIGQUIT: end at once, recover on the next start.
  child.kill('SIGINT')
  if (await isFirst(ended, STOP_POLITELY_MS)) return
  child.kill('SIGQUIT')
  if (await isFirst(ended, STOP_AT_ONCE_MS)) return
  child.kill('SIGKILL')
  await ended
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
 * A shell that sleeps on a pipe from this process and ends the server when the pipe closes: however this process ends,
 * `kill -9` included, no server stays behind.
 */
function watch(pid: number, directoryToRemove: string): ChildProcess {
  const script = `trap '' INT TERM HUP
cat > /dev/null
kill -INT "$0"
for turn in $(seq 40); do kill -0 "$0" || break; [ "$turn" = 30 ] && kill -QUIT "$0"; sleep 0.1; done
[ -z "$1" ] || rm -rf -- "$1"`
  const watcher = spawn('/bin/sh', ['-c', script, String(pid), directoryToRemove], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.on('error', () => {
    // Without a shell the server outlives a killed starter; the next start ends it.
  })
  return watcher
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
