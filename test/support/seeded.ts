import process from 'node:process'

/**
 * The body of a command that a seed decides: `NAME [--seed N] [--UNIT N]`. Prints the command that does the same again, then
 * what came of it as JSON, or what was wrong; ends the process, with 1 when something was.
 *
 * @param options.unit what the second number counts: "steps"
 */
export async function runSeeded(
  options: { name: string; unit: string; countDefault: number },
  run: (seed: number, count: number) => Promise<object>,
): Promise<never> {
  const { name, unit, countDefault } = options
  const seed = readNumber('--seed') ?? Math.floor(Math.random() * 2 ** 31)
  const count = readNumber(`--${unit}`) ?? countDefault
  process.stdout.write(`bun run ${name} --seed ${seed} --${unit} ${count}\n`)
  try {
    process.stdout.write(`${JSON.stringify(await run(seed, count), null, 2)}\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  }
  process.exit()
}

function readNumber(option: string): number | undefined {
  const at = process.argv.indexOf(option)
  if (at < 0) return undefined
  const number = Number(process.argv[at + 1])
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${option} takes a whole number`)
  return number
}
