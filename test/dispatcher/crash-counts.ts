import process from 'node:process'

/** What became of events in a crash: those committed, and those that arrived at the seller. */
export type CrashCounts = {
  committed: number
  delivered: number
  /** POSTs beyond the first of an event. */
  duplicated: number
  lost: number
  invented: number
}

/** Counts, and prints the line that a reader of the test's output looks for. */
export function countCrash(
  what: string,
  committed: readonly string[],
  received: readonly string[],
): CrashCounts {
  const wanted = new Set(committed)
  const arrived = new Set(received)
  const delivered = [...arrived].filter((id) => wanted.has(id)).length
  const counts = {
    committed: wanted.size,
    delivered,
    duplicated: received.length - arrived.size,
    lost: wanted.size - delivered,
    invented: arrived.size - delivered,
  }
  const words = Object.entries(counts).map(([word, count]) => `${count} ${word}`)
  process.stdout.write(`${what}: ${words.join(', ')}\n`)
  return counts
}
