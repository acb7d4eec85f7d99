import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Milliseconds after which a command that hangs is killed. */
const TIMEOUT_MS = 30_000

export type CliOptions = {
  env?: Record<string, string>
  /** What is piped in. */
  input?: string
  /** Default: the checkout. */
  cwd?: string
}

export type CliAnswer = { code: number | null; out: string; err: string }

/** A command under way: what it has printed so far, and its end. */
export type RunningCli = {
  pid: number | undefined
  out(): string
  err(): string
  kill(signal: NodeJS.Signals): void
  ended: Promise<CliAnswer>
}

/** Runs an entrance as an operator does, on the runtime that runs the test, with nothing else in its environment. */
export function startCli(
  script: string,
  words: readonly string[],
  { env = {}, input = '', cwd = ROOT }: CliOptions = {},
): RunningCli {
  const runtime = 'Deno' in globalThis ? ['run', '-A', '--node-modules-dir=manual'] : []
  const child: ChildProcess = spawn(process.execPath, [...runtime, join(ROOT, script), ...words], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout?.on('data', (piece: Buffer) => {
    out += piece.toString()
  })
  child.stderr?.on('data', (piece: Buffer) => {
    err += piece.toString()
  })
  child.stdin?.end(input)
  return {
    pid: child.pid,
    out: () => out,
    err: () => err,
    // Not the child's own method: after it Deno tells of every end that the signal did it.
    kill(signal) {
      if (child.pid !== undefined && child.exitCode === null) process.kill(child.pid, signal)
    },
    ended: once(child, 'close').then(([code]) => ({ code, out, err })),
  }
}

/** Runs `bun run ops …` to its end. */
export async function runOpsCli(
  words: readonly string[],
  options: CliOptions = {},
): Promise<CliAnswer> {
  const cli = startCli('api/ops/main.ts', words, options)
  const timer = setTimeout(() => cli.kill('SIGKILL'), TIMEOUT_MS)
  try {
    return await cli.ended
  } finally {
    clearTimeout(timer)
  }
}
