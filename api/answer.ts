import { isUnavailable } from '#shared/db.ts'
import { errorBody, ServiceError } from '#shared/errors.ts'
import type { ApiDeps } from './deps.ts'

/** Seconds after which trying again makes sense when the database cannot be reached. */
const UNAVAILABLE_RETRY_S = 2

/** Any caller's page may read these answers; there are no cookies to protect (contract section 1, CORS). */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers':
    'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset',
} as const

/** An answer with a JSON body; undefined is none. */
export function answerJson(
  status: number,
  body: unknown,
  headers: Record<string, string>,
): Response {
  if (body === undefined) return new Response(null, { status, headers })
  headers['Content-Type'] = 'application/json'
  // Answers hold capabilities and money: no cache between us and the caller keeps one.
  headers['Cache-Control'] ??= 'no-store'
  return new Response(JSON.stringify(body), { status, headers })
}

/** Any error as the one shape of contract section 1. What is not the caller's to know goes to the log alone. */
export function answerError(
  deps: ApiDeps,
  error: unknown,
  headers: Record<string, string>,
): Response {
  const known = settleError(deps, error, headers)
  return answerJson(known.status, errorBody(known, headers['X-Request-Id'] ?? ''), headers)
}

/** The error that a caller may know of, with its headers set; whatever its cause, it is logged. */
export function settleError(
  deps: ApiDeps,
  error: unknown,
  headers: Record<string, string>,
): ServiceError {
  const requestId = headers['X-Request-Id'] ?? ''
  const known = toServiceError(error)
  // Which of them is rising: `slots_exhausted` is an address full of open payments, and the status alone does not tell.
  deps.errorCount.add({ code: known.code })
  // Until the schema was checked everything is refused, which whoever waits for it has logged.
  if (known.status >= 500 && deps.schema.isCurrent) {
    deps.log.error('request failed', { requestId, code: known.code, cause: known.cause })
  }
  const { headers: own, retryAfterSeconds } = known.details
  Object.assign(headers, own)
  if (retryAfterSeconds !== undefined) headers['Retry-After'] = String(retryAfterSeconds)
  return known
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  if (isUnavailable(error)) {
    return new ServiceError('unavailable', {
      retryAfterSeconds: UNAVAILABLE_RETRY_S,
      cause: error,
    })
  }
  return new ServiceError('internal_error', { cause: error })
}

/** The error of a request that is not answered in time: whatever it waits for is not available. */
export function overdue(): ServiceError {
  return new ServiceError('unavailable', {
    retryAfterSeconds: UNAVAILABLE_RETRY_S,
    cause: new Error('the request met its deadline'),
  })
}

/** The error of a process that has not found its schema yet. */
export function notReady(): ServiceError {
  return new ServiceError('unavailable', { retryAfterSeconds: UNAVAILABLE_RETRY_S })
}
