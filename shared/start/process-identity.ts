import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { finish } from '#shared/start/postgres-binaries.ts'

/** A process, told from a later one of the same number. */
export type ProcessIdentity = { pid: number; birth: string }

/** What the system says of a process; undefined when there is none, or when it only waits to be reaped. */
export type ProcessFacts = ProcessIdentity & { parentPid: number; command: string }

/** Looks a process up: in /proc, or where there is none by `ps`. */
export async function readProcess(pid: number): Promise<ProcessFacts | undefined> {
  if (process.platform === 'linux') return readFromProc(pid)
  const { code, output } = await finish(
    'ps',
    ['-o', 'ppid=,lstart=,command=', '-p', String(pid)],
    undefined,
  )
  // `  501 Sat Nov 21 12:00:00 2026     npm exec bun start`
  const match = /^\s*(\d+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)/.exec(output)
  if (code !== 0 || !match) return undefined
  const [, parent, started = '', command = ''] = match
  return { pid, parentPid: Number(parent), birth: started.replaceAll(/\s+/g, '_'), command }
}

/** Whether that very process still runs. */
export async function isRunning({ pid, birth }: ProcessIdentity): Promise<boolean> {
  return (await readProcess(pid))?.birth === birth
}

/**
 * Whoever a script of package.json runs under: the runner, and under `npx` the shell and npm above it. They pass on no signal, or
 * only some: when one of them is gone, nobody can end us any more. Empty when we were started directly.
 */
export async function findStarters(
  parentPid: number,
  { isUnderNpm }: { isUnderNpm: boolean },
): Promise<ProcessIdentity[]> {
  const starters: ProcessFacts[] = []
  let pid = parentPid
  while (starters.length < STARTERS_MAX) {
    const facts = await readProcess(pid)
    if (!facts) break
    starters.push(facts)
    if (isUnderNpm && /\bnpm\b/.test(facts.command)) return starters
    pid = facts.parentPid
  }
  return starters.slice(0, 1)
}

/** Runner, shell, npm, and one that a system may put between. */
const STARTERS_MAX = 4

async function readFromProc(pid: number): Promise<ProcessFacts | undefined> {
  const [stat, command] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
  ])
  // proc(5): after the name, which may hold spaces and brackets, come state, parent, …, and as 22nd field the start.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, parent] = fields
  if (stat === '' || state === 'Z' || state === 'X') return undefined
  const birth = `${await bootId()}/${fields[19]}`
  return { pid, parentPid: Number(parent), birth, command: command.replaceAll('\0', ' ') }
}

async function bootId(): Promise<string> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  return text.trim()
}
