import type { BenchContext, Figure } from './bench.ts'
import { type Load, measureLoad } from './load.ts'
import { readUsage } from './usage.ts'

export type Side = {
  what: string
  url: string
  usageUrl: string
  status: number
  request(index: number): string
}

const CONNECTIONS = 64
/** Rounds, each side in turn, so that what else the machine does falls on both. */
const ROUNDS = 5

type Measured = { load: Load[]; cpuSeconds: number; memoryMiB: number }

/** Starts a module that prints where it and its usage are found. */
export async function startSide(
  context: BenchContext,
  module: string,
  databaseUrl: string,
): Promise<{ url: string; usageUrl: string }> {
  return JSON.parse((await context.spawn(module, databaseUrl)).line)
}

/** Measures ours beside the limit, in turns, and answers the medians. */
export async function measureVersus(
  ours: Side,
  limit: Side,
  { countPerRound, goal, p99MsMax }: { countPerRound: number; goal: number; p99MsMax?: number },
): Promise<Figure[]> {
  let next = 0
  const runRound = async (side: Side): Promise<Load> => {
    const from = next
    next += countPerRound
    const request = (index: number) => side.request(from + index)
    return measureLoad({ ...side, request, count: countPerRound, connections: CONNECTIONS })
  }
  const sides = [ours, limit] as const
  for (const side of sides) await runRound(side)
  const before = await Promise.all(sides.map(({ usageUrl }) => readUsage(usageUrl)))
  const loads: [Load[], Load[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    loads[0].push(await runRound(ours))
    loads[1].push(await runRound(limit))
  }
  const after = await Promise.all(sides.map(({ usageUrl }) => readUsage(usageUrl)))
  const measured = sides.map((_, index): Measured => {
    const cpu = (after[index]?.cpuSeconds ?? 0) - (before[index]?.cpuSeconds ?? 0)
    const memoryMiB = after[index]?.memoryMiB ?? 0
    return { load: loads[index as 0 | 1], cpuSeconds: cpu, memoryMiB }
  })
  return toFigures(measured[0] as Measured, measured[1] as Measured, limit.what, {
    ...{ goal, requests: ROUNDS * countPerRound },
    ...(p99MsMax === undefined ? {} : { p99MsMax }),
  })
}

function toFigures(
  ours: Measured,
  limit: Measured,
  what: string,
  facts: { goal: number; requests: number; p99MsMax?: number },
): Figure[] {
  const { goal, requests, p99MsMax } = facts
  const of = (side: Measured, pick: (load: Load) => number) => median(side.load.map(pick))
  const beside = (value: number) => ({ what, value })
  const rate = of(ours, ({ perSecond }) => perSecond)
  const rateLimit = of(limit, ({ perSecond }) => perSecond)
  const p99 = of(ours, ({ p99Ms }) => p99Ms)
  const told = (name: string, unit: string, value: number, other: number): Figure => {
    return { what: name, value, unit, beside: beside(other) }
  }
  const cpuOf = ({ cpuSeconds }: Measured) => (cpuSeconds * 1e6) / requests
  return [
    {
      ...{ what: 'requests per second', value: rate, unit: '/s', beside: beside(rateLimit) },
      ratio: rate / rateLimit,
      target: { goal: String(goal), isReached: rate / rateLimit >= goal },
    },
    told(
      'p50',
      'ms',
      of(ours, ({ p50Ms }) => p50Ms),
      of(limit, ({ p50Ms }) => p50Ms),
    ),
    {
      ...{ what: 'p99', value: p99, unit: 'ms' },
      beside: beside(of(limit, ({ p99Ms }) => p99Ms)),
      ...(p99MsMax === undefined
        ? {}
        : { target: { goal: `≤ ${p99MsMax} ms`, isReached: p99 <= p99MsMax } }),
    },
    told('CPU of the process per request', 'µs', cpuOf(ours), cpuOf(limit)),
    told('memory of the process', 'MiB', ours.memoryMiB, limit.memoryMiB),
  ]
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
