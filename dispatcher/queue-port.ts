import type { Log } from '#shared/log.ts'
import { type Queue, QueueLostError } from './queue.ts'

/** What Postgres says when a table, schema or function of the queue is gone. */
const LOST_CODES: ReadonlySet<unknown> = new Set(['42P01', '3F000', '42883'])

/** A queue that can be opened anew behind its users' backs. */
export type QueuePort = Queue & {
  /** Opens it, or opens it again after it was lost. Rejects when Postgres cannot be reached. */
  reopen(): Promise<void>
}

/** Makes a port whose queue is not open yet: until `reopen` its calls throw `QueueLostError`. */
export function createQueuePort(deps: {
  readonly open: () => Promise<Queue>
  readonly log: Log
}): QueuePort {
  let current: Queue | null = null
  let opening: Promise<void> | null = null

  async function use<T>(call: (queue: Queue) => Promise<T>): Promise<T> {
    if (current === null) throw new QueueLostError('the queue is not open')
    try {
      return await call(current)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (!LOST_CODES.has(code)) throw error
      throw new QueueLostError('the queue’s tables are gone', { cause: error })
    }
  }
  async function openAgain(): Promise<void> {
    const previous = current
    current = null
    await previous?.stop()
    current = await deps.open()
    if (previous !== null) deps.log.warn('the queue was lost and opened anew')
  }
  return {
    send: (tx, jobs) => use((queue) => queue.send(tx, jobs)),
    fetch: (count, tx) => use((queue) => queue.fetch(count, tx)),
    settle: (tx, bundles) => use((queue) => queue.settle(tx, bundles)),
    reopen() {
      opening ??= openAgain().finally(() => {
        opening = null
      })
      return opening
    },
    async stop() {
      await opening?.catch(() => undefined)
      await current?.stop()
      current = null
    },
  }
}
