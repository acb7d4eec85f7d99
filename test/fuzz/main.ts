import process from 'node:process'
import { startTestApi } from '../support/api.ts'
import { fuzz } from './fuzz.ts'

/** `bun run fuzz [--seed N] [--seconds N]`: a longer run of test/fuzz, by a seed that it prints. */
const SECONDS_DEFAULT = 60

const seed = readNumber('--seed') ?? Math.floor(Math.random() * 2 ** 31)
const seconds = readNumber('--seconds') ?? SECONDS_DEFAULT
process.stdout.write(`seed ${seed}, ${seconds} s\n`)
const api = await startTestApi()
try {
  const timeMsMax = seconds * 1000
  const report = await fuzz(api, { seed, requestCountMax: Number.MAX_SAFE_INTEGER, timeMsMax })
  process.stdout.write(`${JSON.stringify(report)}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  process.exitCode = 1
} finally {
  await api.close()
}
process.exit()

function readNumber(name: string): number | undefined {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : Number(process.argv[at + 1])
}
