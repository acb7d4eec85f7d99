import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Read and written by the owner alone. */
const PRIVATE_MODE = 0o600
/** AES-256. */
const ENCRYPTION_KEY_BYTES = 32

/** The text of a file, or undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes a file that only its owner may read, whole or not at all. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const partial = `${path}.new`
  await writeFile(partial, text, { mode: PRIVATE_MODE })
  await rename(partial, path)
}

/** The key that webhook secrets are sealed with, in base64: made on the first start and kept, since without it they are lost. */
export async function keepEncryptionKey(directory: string): Promise<string> {
  const path = join(directory, 'encryption-key')
  const kept = (await readIfThere(path))?.trim()
  if (kept) return kept
  const made = randomBytes(ENCRYPTION_KEY_BYTES).toString('base64')
  await writePrivate(path, `${made}\n`)
  return made
}
