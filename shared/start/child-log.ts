import {
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  statSync,
  type WriteStream,
} from 'node:fs'
import { join } from 'node:path'
import { LOG_LEVELS, type LogLevel } from '#shared/log.ts'

export type ChildLogOptions = {
  directory: string
  name: string
  /** The least severe lines that are shown; the file gets all. */
  shownLevel: LogLevel
  show(line: string): void
}

/** Bytes of a log file after which it is put aside, over the one put aside before. */
const FILE_BYTES_MAX = 5_000_000
/** Columns of a process's name before its line. */
const NAME_WIDTH = 11

/** Takes a child's lines: each into its file, the severe ones onto the screen with the child's name before them. */
export function createChildLog(options: ChildLogOptions): (line: string) => void {
  const { directory, name, shownLevel, show } = options
  const path = join(directory, `${name}.log`)
  mkdirSync(directory, { recursive: true })
  let byteCount = existsSync(path) ? statSync(path).size : 0
  let file = open(path)
  return (line) => {
    if (line === '') return
    byteCount += line.length + 1
    if (byteCount > FILE_BYTES_MAX) {
      file.end()
      renameSync(path, `${path}.1`)
      file = open(path)
      byteCount = line.length + 1
    }
    file.write(`${line}\n`)
    const { level, text } = readLine(line)
    if (LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(shownLevel)) {
      show(`  ${name.padEnd(NAME_WIDTH)}${level.padEnd(6)}${text}`)
    }
  }
}

function open(path: string): WriteStream {
  const file = createWriteStream(path, { flags: 'a', mode: 0o600 })
  // A full disk must not end what is being logged.
  file.on('error', () => undefined)
  return file
}

/** A line of our own log, or anything else a runtime prints: that is about something that went wrong. */
function readLine(line: string): { level: LogLevel; text: string } {
  try {
    const {
      level,
      message,
      time: _,
      name: __,
      ...facts
    } = JSON.parse(line) as Record<string, unknown>
    const known = LOG_LEVELS.find((word) => word === level)
    if (known === undefined || typeof message !== 'string') return { level: 'warn', text: line }
    const rest = Object.entries(facts).map(
      ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    return { level: known, text: [message, ...rest].join(' ') }
  } catch {
    // Not ours: shown as it is.
    return { level: 'warn', text: line }
  }
}
