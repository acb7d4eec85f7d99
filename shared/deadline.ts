/** Milliseconds in which `/readyz` answers, whatever Postgres does: what asks waits for two seconds and more. */
export const READY_TIMEOUT_MS = 1_500

/** Settles as `work` does, or rejects with what `late` makes when that takes longer. The work itself goes on. */
export async function withDeadline<T>(
  work: Promise<T>,
  timeoutMs: number,
  late: () => Error,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
