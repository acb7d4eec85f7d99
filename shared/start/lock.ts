import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { isRunning, readProcess } from '#shared/start/process-identity.ts'

/** Somebody else runs on the data directory. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse'
}

export type Lock = { release(): Promise<void> }

const LOCK_FILE = 'start.lock'
/** Attempts to take over a lock whose holder has gone, while others try the same. */
const ATTEMPTS_MAX = 5

/**
 * Makes this process the only one that runs on a directory, until it releases the lock or is gone. Throws {@link DirectoryInUse} with
 * one clear sentence.
 */
export async function lockDirectory(directory: string): Promise<Lock> {
  const path = join(directory, LOCK_FILE)
  const own = `${process.pid} ${(await readProcess(process.pid))?.birth}`
  const draft = `${path}.${process.pid}`
  await writeFile(draft, own)
  try {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      if (await linked(draft, path)) {
        return { release: () => releaseOwn(path, own) }
      }
      await removeStale(path, `${draft}.stale`, directory)
    }
    throw new DirectoryInUse(`${directory} is being taken by several processes at once: try again`)
  } finally {
    await rm(draft, { force: true })
  }
}

/** A link is made whole or not at all, and not over what is there. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EEXIST') return false
    throw error
  }
}

async function removeStale(path: string, aside: string, directory: string): Promise<void> {
  const holder = await readFile(path, 'utf8').catch(() => undefined)
  if (holder === undefined) return
  await assertGone(holder, directory)
  // Moved aside before it is removed: a lock that somebody took in between is put back.
  await rename(path, aside).catch(() => undefined)
  const moved = await readFile(aside, 'utf8').catch(() => holder)
  if (moved !== holder) await linked(aside, path)
  await rm(aside, { force: true })
}

async function assertGone(holder: string, directory: string): Promise<void> {
  const [pidText, birth = ''] = holder.split(' ')
  const pid = Number(pidText)
  if (!Number.isSafeInteger(pid) || pid < 1 || !(await isRunning({ pid, birth }))) return
  throw new DirectoryInUse(
    `this is already running on ${directory} (process ${pid}): use that one, or stop it first`,
  )
}

async function releaseOwn(path: string, own: string): Promise<void> {
  const holder = await readFile(path, 'utf8').catch(() => undefined)
  if (holder === own) await rm(path, { force: true })
}
