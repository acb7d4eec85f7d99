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
  return allOf(parts.map(send))
}

/** Like `Promise.all`, but rejects only when every one of them has settled. */
export async function allOf<R>(works: readonly PromiseLike<R>[]): Promise<R[]> {
  const settled = await Promise.allSettled(works)
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
}
