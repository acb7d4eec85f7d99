/**
 * About how many deliveries of each store this process has queued and not yet seen the end of. Other
 * processes may take and end them unseen, so all counts are forgotten once their promotions are over:
 * a wrong one costs a look at the database, or lets a few more into the queue.
 */
export type Hands = {
  add(storeId: string, count: number): void
  countOf(storeId: string): number
}

/** Makes counts that are all zero, and zero again at least this often. */
export function createHands(forgetAfterMs: number, monotonicMs: () => number): Hands {
  const counts = new Map<string, number>()
  let forgetAtMs = monotonicMs() + forgetAfterMs
  function forget(): void {
    if (monotonicMs() < forgetAtMs) return
    counts.clear()
    forgetAtMs = monotonicMs() + forgetAfterMs
  }
  return {
    add(storeId, count) {
      forget()
      const sum = (counts.get(storeId) ?? 0) + count
      if (sum > 0) counts.set(storeId, sum)
      else counts.delete(storeId)
    },
    countOf(storeId) {
      forget()
      return counts.get(storeId) ?? 0
    },
  }
}
