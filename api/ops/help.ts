import type { Command } from './command.ts'

/** What every command takes besides its own options. */
export const COMMON_FLAGS = {
  json: 'answer one JSON document, and an error as one line of JSON on stderr',
  help: 'say what a command takes',
} as const

/** What can be asked for: of commands that begin with `words`, when some do, and of all otherwise. Pure. */
export function helpText(commands: readonly Command[], words: readonly string[]): string {
  const begin = words.join(' ')
  const meant = commands.filter(({ name }) => name === begin || name.startsWith(`${begin} `))
  const shown = begin !== '' && meant.length > 0 ? meant : commands
  const [only] = shown
  if (only && shown.length === 1) return commandHelp(only)
  const width = Math.max(...shown.map((one) => usageOf(one).length))
  const lines = shown.map((one) => `  ${usageOf(one).padEnd(width)}  ${one.summary}`)
  return [
    'Usage: bun run ops <command> [options]',
    '',
    ...lines,
    '',
    'An account is named by its id or its mail address. Each command takes --json, and --help says what else.',
    'Works on the database of DATABASE_URL, or on that of a `bun start` in this directory.',
    'Exit codes: 0 done, 1 not there or not possible, 2 wrong usage, 78 wrong configuration.',
    '',
  ].join('\n')
}

function commandHelp(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(
    ([name, { value, about }]) => [`--${name} <${value}>`, about] as const,
  )
  const flags = Object.entries({ ...command.flags, ...COMMON_FLAGS }).map(
    ([name, about]) => [`--${name}`, about] as const,
  )
  const all = [...options, ...flags]
  const width = Math.max(...all.map(([name]) => name.length))
  return [
    `Usage: bun run ops ${usageOf(command)} [options]`,
    '',
    `  ${command.summary}`,
    '',
    ...all.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`),
    '',
  ].join('\n')
}

/** `account show <account>`. */
function usageOf({ name, parameters = [] }: Command): string {
  const shown = parameters.map((one) => (one.endsWith('?') ? `[${one.slice(0, -1)}]` : `<${one}>`))
  return [name, ...shown].join(' ')
}
