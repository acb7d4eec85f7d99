import { runSeeded } from '../support/seeded.ts'
import { chaos } from './chaos.ts'

/** `bun run chaos [--seed N] [--seconds N]`: the real processes, harmed for so long. */
const SECONDS_DEFAULT = 60

await runSeeded(
  { name: 'chaos', unit: 'seconds', countDefault: SECONDS_DEFAULT },
  (seed, seconds) => chaos({ seed, seconds }),
)
