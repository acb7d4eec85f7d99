import { startStack } from '../support/stack.ts'
import type { BenchContext, Figure } from './bench.ts'
import { percentile } from './bench.ts'
import { type MixedCounts, runMixed, seedShops } from './mixed-load.ts'

export const name = 'mixed'

const SECONDS_DEFAULT = 60
const CONCURRENCY = 32
/** The API's memory in the last third of the run may be this many times that in the first. */
const MEMORY_RATIO_MAX = 1.25

/**
 * Everything at once over the real processes, at saturation: how many requests a second, whether one failed, whether the
 * API's memory grows, and whether the database and the chain still tell one story. Throws when they do not.
 */
export async function run(context: BenchContext): Promise<Figure[]> {
  const seconds = context.seconds ?? SECONDS_DEFAULT
  const { url, db } = await context.database()
  const database = { name, url, db, drop: () => Promise.resolve() }
  const stack = await startStack({ database })
  context.defer(() => stack.close())
  const counts = await runMixed(stack, await seedShops(stack), {
    seconds,
    concurrency: CONCURRENCY,
  })
  await stack.judgeChain()
  return [
    { what: 'requests of all kinds per second', value: counts.perSecond, unit: '/s' },
    ...Object.entries(counts.answers)
      .sort()
      .map(([what, value]) => ({ what, value, unit: '' })),
    { what: 'transfers mined', value: counts.transferCount, unit: '' },
    {
      what: 'answers that should not have come',
      value: counts.faults.length,
      unit: counts.faults[0] ?? '',
      target: { goal: '0', isReached: counts.faults.length === 0 },
    },
    ...memoryFigures(counts),
  ]
}

/** The first and the last third of the samples, by their medians. */
function memoryFigures({ apiMemoryMiB }: MixedCounts): Figure[] {
  const third = Math.floor(apiMemoryMiB.length / 3)
  if (third === 0) return []
  const first = percentile(apiMemoryMiB.slice(0, third), 0.5)
  const value = percentile(apiMemoryMiB.slice(-third), 0.5)
  const ratio = value / first
  return [
    {
      what: 'memory of the API, last third',
      ...{ value, ratio, unit: 'MiB', beside: { what: 'first third', value: first } },
      target: { goal: `at most ${MEMORY_RATIO_MAX}`, isReached: ratio <= MEMORY_RATIO_MAX },
    },
  ]
}
