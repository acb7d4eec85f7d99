import process from 'node:process'
import { parseArgs } from 'node:util'

/**
 * The body of a command that a seed decides: `NAME [--seed N] [--UNIT N]`. Prints the command that does the same again, then
 * what came of it as JSON, or what was wrong; ends the process, with 1 when something was, and with 2 when it is not written so:
 * a slip would run another seed.
 *
 * @param options.unit what the second number counts: "steps"
 */
export async function runSeeded(
  options: { name: string; unit: string; countDefault: number },
  run: (seed: number, count: number, isVerbose: boolean) => Promise<object>,
): Promise<never> {
  const { name, unit, countDefault } = options
  const told = orExplain(() => readSeeded(process.argv.slice(2), unit))
  const seed = told.seed ?? Math.floor(Math.random() * 2 ** 31)
  const count = told.count ?? countDefault
  process.stdout.write(`bun run ${name} --seed ${seed} --${unit} ${count}\n`)
  try {
    process.stdout.write(`${JSON.stringify(await run(seed, count, told.isVerbose), null, 2)}\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  }
  process.exit()
}

/** What such a command was told. Throws on what it does not know. */
export function readSeeded(args: string[], unit: string) {
  const text = { type: 'string' } as const
  const options = { seed: text, [unit]: text, verbose: { type: 'boolean' } } as const
  const { values } = parseArgs({ args, options })
  const read = (name: string) => toNumber(name, values[name as keyof typeof values])
  return { seed: read('seed'), count: read(unit), isVerbose: values.verbose === true }
}

function toNumber(name: string, text: unknown): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(String(text))) return Number(text)
  throw new Error(`--${name} takes a whole number`)
}

function orExplain<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(2)
  }
}
