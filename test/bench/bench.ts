import type { Db } from '#shared/db.ts'

/** One measured number and what stands beside it. */
export type Figure = {
  /** "deliveries per second", "p99 of healthy endpoints". */
  readonly what: string
  readonly value: number
  readonly unit: string
  /** The limit measured in the same run; absent when the goal is absolute. */
  readonly beside?: { readonly what: string; readonly value: number }
  /** `value / beside.value`. */
  readonly ratio?: number
  /** What to reach and whether this run did; absent where the number is told for its own sake. */
  readonly target?: { readonly goal: string; readonly isReached: boolean }
}

/** What a bench may use. */
export type BenchContext = {
  /** A database of its own on a durable Postgres, migrated and empty. Gone when the bench is over. */
  database(): Promise<{ url: string; db: Db }>
  /** `--seconds`: how long a bench that runs for a time is to run; absent for its own default. */
  seconds?: number
  /** `--beside`: a folder in which the indexers that ours is compared with are installed, or `install` for a temporary one. */
  beside?: string
  /** `--payments`: how many payments a bench of long histories makes; absent for its own sizes. */
  payments?: number
  /** Runs when the bench is over, last one first. */
  defer(cleanUp: () => unknown): void
  /** Starts a module of test/bench as a process of the same runtime; answers its first line of output. */
  spawn(module: string, ...args: string[]): Promise<{ line: string; kill(): void }>
}

/** One entry of `bun run bench [name]`. */
export type Bench = {
  readonly name: string
  readonly run: (context: BenchContext) => Promise<Figure[]>
}

/** The value below which this share of the numbers lies. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Runs `work` so many times, at most `concurrency` at once; answers how many a second. */
export async function measureRate(
  count: number,
  concurrency: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0
  const startedAt = performance.now()
  const worker = async () => {
    while (next < count) {
      const index = next
      next += 1
      await work(index)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return (count / (performance.now() - startedAt)) * 1000
}
