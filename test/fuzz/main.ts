import { startTestApi } from '../support/api.ts'
import { runSeeded } from '../support/seeded.ts'
import { fuzz } from './fuzz.ts'

/** `bun run fuzz [--seed N] [--seconds N]`: a longer run of test/fuzz. */
const SECONDS_DEFAULT = 60

await runSeeded(
  { name: 'fuzz', unit: 'seconds', countDefault: SECONDS_DEFAULT },
  async (seed, seconds) => {
    const api = await startTestApi()
    try {
      const timeMsMax = seconds * 1_000
      return await fuzz(api, { seed, requestCountMax: Number.MAX_SAFE_INTEGER, timeMsMax })
    } finally {
      await api.close()
    }
  },
)
