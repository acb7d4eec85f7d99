import { chown, mkdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'
import type { Log } from '#shared/log.ts'
import {
  type Account,
  type Binaries,
  finish,
  mayEnter,
  temporaryPath,
} from '#shared/start/postgres-binaries.ts'

/** A directory with data in it, and the account the server must run as to read them. */
export type PreparedDirectory = { directory: string; account: Account | undefined }

/** The major version of the packaged programs; data of another one cannot be read. */
const MAJOR_VERSION = '18'
/** Holds two process ids: of whoever started the server on this directory, and the server's. */
const STARTER_FILE = 'starter.pid'
/** Milliseconds for a server that was left over to end: first politely, then at once. */
const END_POLITELY_MS = 2_000
const END_AT_ONCE_MS = 10_000
const END_POLL_MS = 20

/**
 * The directory to use, with data made by initdb when there are none. It is another than the wanted one when the account
 * may not enter that.
 */
export async function prepareDirectory(
  wanted: string,
  binaries: Binaries,
  { isDurable, log }: { isDurable: boolean; log: Log },
): Promise<PreparedDirectory> {
  const { account } = binaries
  await mkdir(dirname(wanted), { recursive: true })
  let directory = wanted
  if (account && !(await isReachable(wanted, account))) {
    directory = temporaryPath('data', wanted)
    log.warn('Postgres may not run as root and no other user may enter the data folder', {
      wanted,
      usedInstead: directory,
    })
  }
  const owner = await stat(directory).catch(() => undefined)
  // Below the temporary directory anybody may have made it: only what the account made there is taken.
  const mayOwn = directory === wanted && account ? owner?.uid : (account?.uid ?? process.getuid?.())
  if (owner && owner.uid !== mayOwn) {
    throw new Error(
      `${directory} belongs to another user (${owner.uid}): run as that one, or move it away`,
    )
  }
  const version = await readVersion(directory)
  if (version === undefined) {
    await createDirectory(directory, binaries, isDurable)
    return { directory, account }
  }
  if (version !== MAJOR_VERSION) {
    throw new Error(
      `${directory} was made by Postgres ${version}, this is ${MAJOR_VERSION}: dump and load it, or move it away`,
    )
  }
  // Data made by an earlier run stay with the account that it had.
  return {
    directory,
    account: account && owner?.uid ? { uid: owner.uid, gid: owner.gid } : account,
  }
}

/** Looks at what an earlier run left: a server whose starter has gone is ended; one whose starter lives is an error. */
export async function clearLeftovers(directory: string, log: Log): Promise<void> {
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
  const recorded = await readFile(join(directory, STARTER_FILE), 'utf8').catch(() => '')
  const [starter, started] = recorded.split(' ').map(Number)
  if (started !== pid || !starter || isAlive(starter)) {
    throw new Error(`a Postgres (process ${pid}) already runs on ${directory}: stop it first`)
  }
  log.warn('ending the database server that a killed process left behind', { pid })
  process.kill(pid, 'SIGINT')
  if (await endsWithin(pid, END_POLITELY_MS)) return
  process.kill(pid, 'SIGQUIT')
  if (!(await endsWithin(pid, END_AT_ONCE_MS))) throw new Error(`process ${pid} does not end`)
}

/** Notes who started which server, for {@link clearLeftovers} of a later run. */
export async function recordStarter(directory: string, serverPid: number): Promise<void> {
  await writeFile(join(directory, STARTER_FILE), `${process.pid} ${serverPid}`)
}

async function readVersion(directory: string): Promise<string | undefined> {
  try {
    return (await readFile(join(directory, 'PG_VERSION'), 'utf8')).trim()
  } catch {
    // Not there, or not readable: what is there instead shows when the data are made.
    return undefined
  }
}

/** Whether the account could work in a folder of this name: tried with an empty one beside it. */
async function isReachable(directory: string, account: Account): Promise<boolean> {
  const probe = `${directory}.probe-${process.pid}`
  await mkdir(probe, { recursive: true, mode: 0o700 })
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
  isDurable: boolean,
): Promise<void> {
  const partial = `${directory}.new-${process.pid}`
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { mode: 0o700 })
  try {
    if (account) await chown(partial, account.uid, account.gid)
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
        ...(isDurable ? [] : ['--no-sync']),
      ],
      account,
    )
    if (code !== 0) throw new Error(`initdb failed: ${output}`)
    await rename(partial, directory)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    // Another process may have been faster: then its data serve, and the server itself says that it runs already.
    if ((await readVersion(directory)) !== undefined) return
    throw new Error(`could not make a database in ${directory}`, { cause: error })
  }
}

async function endsWithin(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  // A server that ended but was not yet reaped by its parent still has a number, and no name.
  while (isAlive(pid) && (await isPostgres(pid))) {
    if (performance.now() > deadline) return false
    await new Promise((done) => setTimeout(done, END_POLL_MS))
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
