/**
 * What went wrong with a call:
 * - `network`, `timeout`, `http`, `malformed`: the provider failed; another one may not.
 * - `rate_limited`: it wants to be left alone for a while.
 * - `refused`: it answered with a JSON-RPC error, for example about a range that is too wide.
 * - `unable`: it refused what every node in good order answers; it may be syncing, pruned or broken.
 * - `too_large`: the answer would exceed our bound.
 * - `inconsistent`: the answer contradicts itself or what was asked; nothing of it may be used.
 * - `lagging`: it does not have the block yet that others have.
 * - `stopped`: this process gave up the call.
 */
export type RpcErrorKind =
  | 'network'
  | 'timeout'
  | 'http'
  | 'malformed'
  | 'rate_limited'
  | 'refused'
  | 'unable'
  | 'too_large'
  | 'inconsistent'
  | 'lagging'
  | 'stopped'

/** A JSON-RPC call that gave no usable answer. The message names the host, never the URL, which may hold a key. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly kind: RpcErrorKind
  /** The JSON-RPC error code, when the node named one. */
  readonly code: number | undefined
  /** Milliseconds the provider asked to be spared. */
  readonly retryAfterMs: number | undefined

  constructor(
    kind: RpcErrorKind,
    message: string,
    details: { code?: number | undefined; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.kind = kind
    this.code = details.code
    this.retryAfterMs = details.retryAfterMs
  }
}
