import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import {
  isRunning,
  type ProcessFacts,
  type ProcessIdentity,
  readProcess,
} from '#shared/start/process-identity.ts'
import { until } from './until.ts'

/** A `bun start` under test. */
export type Started = {
  child: ChildProcess
  /** All that it printed so far. */
  output(): string
  /** Resolves with the exit code once it has ended. */
  ended: Promise<number | null>
}

const MAIN = fileURLToPath(new URL('../../shared/start/main.ts', import.meta.url))

/** A folder to start in, which the account that Postgres runs as may enter. */
export async function makeStartDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'start-test-'))
  await chmod(directory, 0o755)
  return directory
}

/** Runs the supervisor in a folder, with the variables of this process but those that would change what it does. */
export function start(
  directory: string,
  env: Record<string, string> = {},
  flags: readonly string[] = [],
): Started {
  const { PATH, HOME, TMPDIR, LANG } = process.env
  const child = spawn(process.execPath, [MAIN, ...flags], {
    cwd: directory,
    env: { PATH, HOME, TMPDIR, LANG, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Uint8Array) => {
      output += new TextDecoder().decode(chunk)
    })
  }
  const ended = new Promise<number | null>((done) => child.once('close', (code) => done(code)))
  return { child, ended, output: () => output }
}

/** Waits for the printed block; answers what it says. */
export async function untilStarted({ output, ended }: Started, timeoutMs: number) {
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  await until(() => isOver || output().includes('Ctrl-C stops it'), {
    what: 'everything to run',
    timeoutMs,
  })
  const text = output()
  const find = (pattern: RegExp) => {
    const found = pattern.exec(text)?.[1]
    if (found === undefined) throw new Error(`${pattern} is not in: ${text}`)
    return found
  }
  return {
    baseUrl: find(/Base URL\s+(\S+)/),
    shopUrl: find(/Demo shop\s+(\S+)/),
    publishableKey: find(/Publishable key\s+(\S+)/),
    secretKey: find(/Secret key\s+(\S+)/),
    curl: find(/^(curl .*)$/m),
  }
}

/** Every process below one, whoever started it; those that left its session included. */
export async function readDescendants(pid: number): Promise<ProcessFacts[]> {
  const table = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const pairs = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const found = [pid]
  for (const parent of found) {
    for (const [child, itsParent] of pairs) {
      if (itsParent === parent && child !== undefined) found.push(child)
    }
  }
  const facts = await Promise.all(found.map(readProcess))
  return facts.filter((fact) => fact !== undefined)
}

/** Waits until none of the processes is left. */
export async function untilGone(
  processes: readonly ProcessIdentity[],
  timeoutMs: number,
): Promise<void> {
  await until(async () => !(await Promise.all(processes.map(isRunning))).includes(true), {
    what: 'no process to be left',
    timeoutMs,
  })
}
