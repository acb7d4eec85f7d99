import process from 'node:process'
import { createLog, silentLog } from '#shared/log.ts'
import { runSeeded } from '../support/seeded.ts'
import { simulate } from './simulate.ts'

/** `bun run sim [--seed N] [--steps N] [--verbose]`: a longer simulation. */
const STEP_COUNT_DEFAULT = 1_000

const log = process.argv.includes('--verbose')
  ? createLog({
      ...{ level: 'info', format: 'pretty', name: 'sim' },
      write: (line) => process.stderr.write(`${line}\n`),
    })
  : silentLog
await runSeeded(
  { name: 'sim', unit: 'steps', countDefault: STEP_COUNT_DEFAULT },
  (seed, stepCount) => simulate({ seed, stepCount, log }),
)
