import { inspect } from 'node:util'

export type UntilOptions = {
  /** What is awaited, for the error: "the payment is CONFIRMED". */
  what: string
  /** Milliseconds until the wait is given up. */
  timeoutMs?: number
  /** Milliseconds between two looks. */
  everyMs?: number
}

const TIMEOUT_MS = 5_000
const EVERY_MS = 20
/** Characters of the last value shown in the error. */
const VALUE_CHARACTERS_MAX = 1_000

/**
 * Looks again and again until `check` answers something truthy, and answers that. A `check` that throws has not succeeded
 * yet. When time is up, throws an error that says what was awaited and what was seen last.
 */
export async function until<T>(
  check: () => T | Promise<T>,
  { what, timeoutMs = TIMEOUT_MS, everyMs = EVERY_MS }: UntilOptions,
): Promise<Exclude<T, false | 0 | 0n | '' | null | undefined>> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const seen = await look(check, deadline)
    if ('value' in seen && seen.value) {
      return seen.value as Exclude<T, false | 0 | 0n | '' | null | undefined>
    }
    if (performance.now() >= deadline) {
      const last = inspect('value' in seen ? seen.value : seen.error, { depth: 5 })
      throw new Error(
        `waited ${timeoutMs} ms for: ${what}; last: ${last.slice(0, VALUE_CHARACTERS_MAX)}`,
        { cause: 'error' in seen ? seen.error : undefined },
      )
    }
    await new Promise((done) => setTimeout(done, everyMs))
  }
}

/** One look, itself given up at the deadline: a check that never settles must not hold the test. */
async function look<T>(
  check: () => T | Promise<T>,
  deadline: number,
): Promise<{ value: T } | { error: unknown }> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<{ error: unknown }>((done) => {
    const leftMs = Math.max(0, deadline - performance.now())
    timer = setTimeout(done, leftMs, { error: new Error('the check did not answer') })
  })
  try {
    return await Promise.race([Promise.resolve(check()).then((value) => ({ value })), late])
  } catch (error) {
    return { error }
  } finally {
    clearTimeout(timer)
  }
}
