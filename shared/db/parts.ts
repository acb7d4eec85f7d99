import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Sends many items to the database in parts of at most `countMax`, each far below the server's deadline for a statement: the
 * statements of one transaction run one after the other. While the server works on one part the next is made, and what it
 * answers is read. Answers what each part answered. Rejects with the first failure, when all have settled: nothing may be
 * sent once the transaction is over.
 */
export function inParts<T, R>(
  items: readonly T[],
  countMax: number,
  send: (part: readonly T[]) => PromiseLike<R>,
): Promise<R[]> {
  const parts: (readonly T[])[] = []
  for (let start = 0; start < items.length; start += countMax) {
    parts.push(items.slice(start, start + countMax))
  }
  return sendAll(parts, send)
}

/** {@link inParts} for parts that were made already. */
export async function sendAll<T, R>(
  parts: readonly T[],
  send: (part: T) => PromiseLike<R>,
): Promise<R[]> {
  const works: Promise<PromiseSettledResult<R>>[] = []
  for (const part of parts) {
    // What is made goes out before the next is made.
    if (works.length > 0) await nextTurn()
    works.push(settle(send(part)))
  }
  return (await Promise.all(works)).map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}

async function settle<R>(work: PromiseLike<R>): Promise<PromiseSettledResult<R>> {
  try {
    return { status: 'fulfilled', value: await work }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}
