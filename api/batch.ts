import { setImmediate } from 'node:timers'
import { isUnavailable } from '#shared/db.ts'
import { overdue } from './answer.ts'

/** Does one item's work together with what others ask for at the same time. Settles as the item's own work does. */
export type Batcher<I, O> = (item: I) => Promise<O>

export type BatchOptions<I, O> = {
  /** Does the work of all items and answers in their order. Must leave nothing half done when it rejects. */
  run(items: readonly I[]): Promise<readonly O[]>
  /** Items in one run. */
  sizeMax: number
  /** Runs at a time: each takes a connection. */
  runsMax: number
  /** The process's clock, in milliseconds. */
  nowMs(): number
}

type Waiting<I, O> = {
  item: I
  sinceMs: number
  resolve(answer: O): void
  reject(error: unknown): void
}

/** Items that wait at once: more than a database takes in the time that they may wait. */
const WAITING_MAX = 20_000
/**
 * Milliseconds an item waits for a run before it is refused as `unavailable`: less than a request's deadline, so that after
 * an outage nothing is done for callers who were refused long ago.
 */
export const WAIT_MAX_MS = 5_000

/**
 * Puts work that arrives while earlier work is under way into one statement: what every statement costs beside its rows
 * is then paid once for many. Alone an item goes at once, by itself. When a run of several fails for another reason than
 * an unavailable database, each is run by itself, so that no item can fail another's.
 *
 * Items wait in order of arrival, at most {@link WAITING_MAX} of them for at most {@link WAIT_MAX_MS}; others are refused as
 * `unavailable`.
 */
export function createBatcher<I, O>(options: BatchOptions<I, O>): Batcher<I, O> {
  const { sizeMax, runsMax } = options
  const waiting: Waiting<I, O>[] = []
  let runs = 0
  let isDue = false
  const start = () => {
    isDue = false
    refuseLate(waiting, options.nowMs())
    while (runs < runsMax && waiting.length > 0) {
      runs += 1
      void runAll(options.run, waiting.splice(0, sizeMax)).finally(() => {
        runs -= 1
        start()
      })
    }
  }
  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= WAITING_MAX) return reject(overdue())
      waiting.push({ item, sinceMs: options.nowMs(), resolve, reject })
      if (isDue || runs >= runsMax) return
      isDue = true
      // After everything that this turn of the event loop has to read.
      setImmediate(start)
    })
}

function refuseLate<I, O>(waiting: Waiting<I, O>[], nowMs: number): void {
  const lateCount = waiting.findIndex(({ sinceMs }) => nowMs - sinceMs < WAIT_MAX_MS)
  for (const { reject } of waiting.splice(0, lateCount < 0 ? waiting.length : lateCount)) {
    reject(overdue())
  }
}

/** Settles every item; never rejects. */
async function runAll<I, O>(
  run: BatchOptions<I, O>['run'],
  batch: readonly Waiting<I, O>[],
): Promise<void> {
  try {
    const answers = await run(batch.map(({ item }) => item))
    if (answers.length !== batch.length) throw new Error('a run answered another number of items')
    batch.forEach(({ resolve }, index) => {
      resolve(answers[index] as O)
    })
  } catch (error) {
    if (batch.length === 1 || isUnavailable(error)) {
      for (const { reject } of batch) reject(error)
      return
    }
    for (const one of batch) await runAll(run, [one])
  }
}
