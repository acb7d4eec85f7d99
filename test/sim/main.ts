import process from 'node:process'
import { createLog, silentLog } from '#shared/log.ts'
import { simulate } from './simulate.ts'

/** `bun run sim [--seed N] [--steps N] [--verbose]`: a longer simulation, by a seed that it prints. */
const STEP_COUNT_DEFAULT = 1_000

const seed = readNumber('--seed') ?? Math.floor(Math.random() * 2 ** 31)
const stepCount = readNumber('--steps') ?? STEP_COUNT_DEFAULT
const log = process.argv.includes('--verbose')
  ? createLog({
      ...{ level: 'info', format: 'pretty', name: 'sim' },
      write: (line) => process.stderr.write(`${line}\n`),
    })
  : silentLog
process.stdout.write(`bun run sim --seed ${seed} --steps ${stepCount}\n`)
try {
  const report = await simulate({ seed, stepCount, log })
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
}
process.exit()

function readNumber(name: string): number | undefined {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : Number(process.argv[at + 1])
}
