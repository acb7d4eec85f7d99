/** A state that the code rules out. It stops the request or job at hand; the message is for the log. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/**
 * States an invariant: throws `AssertionError` when it does not hold. For what cannot be, never for
 * input, which is answered with a typed error.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/**
 * Closes a switch over a union: does not compile while a case is missing, and throws
 * `AssertionError` when a value outside the type arrives all the same.
 */
export function never(value: never): never {
  throw new AssertionError(`a case that cannot be: ${String(value)}`)
}
