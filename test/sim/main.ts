import process from 'node:process'
import { createLog, silentLog } from '#shared/log.ts'
import { runSeeded } from '../support/seeded.ts'
import { simulate } from './simulate.ts'

/** `bun run sim [--seed N] [--steps N] [--verbose]`: a longer simulation. */
const STEP_COUNT_DEFAULT = 1_000

const LOG = createLog({
  ...{ level: 'info', format: 'pretty', name: 'sim' },
  write: (line) => process.stderr.write(`${line}\n`),
})
await runSeeded(
  { name: 'sim', unit: 'steps', countDefault: STEP_COUNT_DEFAULT },
  (seed, stepCount, isVerbose) => simulate({ seed, stepCount, log: isVerbose ? LOG : silentLog }),
)
