import { parseArgs } from 'node:util'
import { CONFIG_EXIT_CODE, ConfigError } from '#shared/config.ts'
import { isUnavailable } from '#shared/db.ts'
import { ServiceError } from '#shared/errors.ts'
import { SchemaError } from '#shared/migrate.ts'
import { accountCommands } from './accounts.ts'
import { type Arguments, type Command, type OpsDeps, Refusal, UsageError } from './command.ts'
import { COMMON_FLAGS, helpText } from './help.ts'
import { networkCommands } from './networks.ts'
import { paymentCommands } from './payments.ts'
import { toText } from './print.ts'
import { storeCommands } from './stores.ts'
import { transferCommands } from './transfers.ts'

const COMMANDS: readonly Command[] = [
  ...accountCommands,
  ...storeCommands,
  ...networkCommands,
  ...paymentCommands,
  ...transferCommands,
]

/** Words of a command's name. */
const NAME_WORDS = 2
const JSON_FLAG = '--json'
const FAILED_EXIT_CODE = 1
const USAGE_EXIT_CODE = 2

export type Terminal = {
  out(text: string): void
  err(text: string): void
}

/** What a command needs, opened when the command line is known to be right. */
export type OpenedDeps = { deps: OpsDeps; close(): Promise<void> }

/** What ends a command, with the API's codes where it has one; `text` tells a person more than the message does. */
type Fault = { exitCode: number; code: string; message: string; text?: string }

/**
 * Runs one command and answers the exit code. Answers go to `out`, everything else to `err`: with `--json` an error is one
 * line of JSON, the last one. `open` may throw `ConfigError`.
 */
export async function runOps(
  words: readonly string[],
  terminal: Terminal,
  open: () => Promise<OpenedDeps>,
): Promise<number> {
  const name = words.slice(0, NAME_WORDS).join(' ')
  const command = COMMANDS.find((one) => one.name === name)
  if (command === undefined) return explain(words, terminal)
  const isJson = words.includes(JSON_FLAG)
  try {
    const args = readArguments(command, words.slice(NAME_WORDS))
    if (args.flags.has('help')) {
      terminal.out(helpText(COMMANDS, [name]))
      return 0
    }
    const { deps, close } = await open()
    try {
      const answer = await command.run(deps, args)
      terminal.out(isJson ? `${JSON.stringify(answer, null, 2)}\n` : toText(answer))
      return 0
    } finally {
      await close()
    }
  } catch (error) {
    return report(faultOf(error, [name]), isJson, terminal)
  }
}

/** Help that was asked for goes to `out`; help instead of an answer is a fault. */
function explain(words: readonly string[], terminal: Terminal): number {
  const isAskedFor = words.some((word) => word === '--help' || word === '-h' || word === 'help')
  const named = words.filter((word) => !word.startsWith('-') && word !== 'help')
  if (isAskedFor) {
    terminal.out(helpText(COMMANDS, named))
    return 0
  }
  const what = named.length > 0 ? `there is no command ${named.join(' ')}` : 'a command is missing'
  return report(faultOf(new UsageError(what), named), words.includes(JSON_FLAG), terminal)
}

/** Throws {@link UsageError}. */
function readArguments(command: Command, words: readonly string[]): Arguments {
  const { parameters = [], options = {}, flags = {} } = command
  const { values, positionals } = parse(words, Object.keys(options), [
    ...Object.keys(flags),
    ...Object.keys(COMMON_FLAGS),
  ])
  const given = Object.entries(values)
  const args = {
    words: positionals,
    options: Object.fromEntries(
      given.filter((one): one is [string, string] => typeof one[1] === 'string'),
    ),
    flags: new Set(given.flatMap(([name, value]) => (value === true ? [name] : []))),
  }
  if (args.flags.has('help')) return args
  const missing = parameters.slice(positionals.length).find((one) => !one.endsWith('?'))
  if (missing !== undefined) throw new UsageError(`<${missing}> is missing`)
  const [surplus] = positionals.slice(parameters.length)
  if (surplus !== undefined) throw new UsageError(`${surplus} is one word too many`)
  return args
}

function parse(words: readonly string[], options: readonly string[], flags: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: Object.fromEntries([
        ...options.map((name) => [name, { type: 'string' as const }] as const),
        ...flags.map((name) => [name, { type: 'boolean' as const }] as const),
      ]),
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function report(fault: Fault, isJson: boolean, { err }: Terminal): number {
  const { exitCode, code, message, text = message } = fault
  err(`${isJson ? JSON.stringify({ error: { code, message } }) : text.trimEnd()}\n`)
  return exitCode
}

/** Throws what is nobody's fault but ours. */
function faultOf(error: unknown, named: readonly string[]): Fault {
  const exitCode = FAILED_EXIT_CODE
  if (isUnavailable(error)) {
    const message = 'the database cannot be reached: is DATABASE_URL right, and does Postgres run?'
    return { exitCode, code: 'unavailable', message }
  }
  if (!(error instanceof Error)) throw error
  const { message } = error
  if (error instanceof UsageError) {
    const text = `${message}\n\n${helpText(COMMANDS, named)}`
    return { exitCode: USAGE_EXIT_CODE, code: 'invalid_request', message, text }
  }
  if (error instanceof ConfigError) {
    return { exitCode: CONFIG_EXIT_CODE, code: 'configuration', message }
  }
  if (error instanceof SchemaError) return { exitCode, code: 'unavailable', message }
  if (error instanceof Refusal) return { exitCode, code: 'not_possible', message }
  if (error instanceof ServiceError) {
    return { exitCode, code: error.code, message, text: `${error.code}: ${message}` }
  }
  throw error
}
