import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'
import type { Running } from '#shared/start/keep-running.ts'

export type ChildOptions = {
  /** Path of the script that the runtime of this process runs. */
  script: string
  args?: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  /** Gets every line the child writes, to either output. */
  onLine(line: string): void
}

/** Milliseconds for a child to end by itself after being asked to. */
const STOP_POLITELY_MS = 2_000
/** Characters of one line; a child that writes more without a line's end is cut. */
const LINE_CHARACTERS_MAX = 20_000

/**
 * Starts a process of ours that cannot outlive this one: a shell beside it sleeps on a pipe from here, and ends it when the
 * pipe closes, `kill -9` of this process included.
 */
export function spawnChild({ script, args = [], env, onLine }: ChildOptions): Running {
  const child = spawn(process.execPath, [script, ...args], {
    // A session of its own: Ctrl-C on the terminal reaches this process alone, which ends its children in order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
  })
  const watcher = watch(child.pid)
  for (const output of [child.stdout, child.stderr]) {
    const lines = createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY })
    lines.on('line', (line) => onLine(line.slice(0, LINE_CHARACTERS_MAX)))
  }
  const ended = new Promise<{ exitCode: number | null }>((done) => {
    child.once('exit', (exitCode) => done({ exitCode }))
    child.once('error', (error) => {
      onLine(String(error))
      done({ exitCode: null })
    })
  }).then((end) => {
    watcher?.kill('SIGKILL')
    return end
  })
  return {
    ended,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_POLITELY_MS)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Asks the process $0 to end when the pipe closes, and makes it after 2 s. */
const WATCH = `trap '' INT TERM HUP
while read -r _; do :; done
kill -TERM "$0" || exit
turn=0
while [ $turn -lt 20 ] && kill -0 "$0"; do
  turn=$((turn + 1))
  sleep 0.1
done
kill -KILL "$0"`

function watch(pid: number | undefined): ChildProcess | undefined {
  if (pid === undefined) return undefined
  const watcher = spawn('/bin/sh', ['-c', WATCH, String(pid)], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.on('error', () => {
    // Without a shell the child outlives a supervisor that was killed; its port then tells the next start.
  })
  return watcher
}
