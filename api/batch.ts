import { setImmediate } from 'node:timers'
import { isUnavailable } from '#shared/db.ts'

/** Does one item's work together with what others ask for at the same time. Settles as the item's own work does. */
export type Batcher<I, O> = (item: I) => Promise<O>

export type BatchOptions<I, O> = {
  /** Does the work of all items and answers in their order. Must leave nothing half done when it rejects. */
  run(items: readonly I[]): Promise<readonly O[]>
  /** Items in one run. */
  sizeMax: number
  /** Runs at a time: each takes a connection. */
  runsMax: number
}

type Waiting<I, O> = { item: I; resolve(answer: O): void; reject(error: unknown): void }

/**
 * Puts work that arrives while earlier work is under way into one statement: what every statement costs beside its rows
 * is then paid once for many. Alone an item goes at once, by itself. When a run of several fails for another reason than
 * an unavailable database, each is run by itself, so that no item can fail another's.
 *
 * Items wait in order of arrival; a request's own deadline bounds how long, and the server's open requests how many.
 */
export function createBatcher<I, O>(options: BatchOptions<I, O>): Batcher<I, O> {
  const { sizeMax, runsMax } = options
  const waiting: Waiting<I, O>[] = []
  let runs = 0
  let isDue = false
  const start = () => {
    isDue = false
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
      waiting.push({ item, resolve, reject })
      if (isDue || runs >= runsMax) return
      isDue = true
      // After everything that this turn of the event loop has to read.
      setImmediate(start)
    })
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
