import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Where `bun start` keeps its things, as seen from where both it and a command are called. */
export const START_DIRECTORY = resolve('.data')

/** What a running `bun start` wrote for the commands beside it; undefined when it is not there. */
export function readBeside(name: string): string | undefined {
  try {
    return readFileSync(join(START_DIRECTORY, name), 'utf8').trim()
  } catch {
    // Not there, or not ours to read: then it is as if nothing ran here.
    return undefined
  }
}
