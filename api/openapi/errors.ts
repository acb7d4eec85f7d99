import { ERRORS, type ErrorCode } from '#shared/errors.ts'
import type { AuthStyle } from '../auth.ts'
import { type EndpointFacts, isReplayable } from '../endpoint.ts'

/** What a caller may be answered because of how the endpoint tells who is calling. */
const BY_AUTH: Record<AuthStyle, readonly ErrorCode[]> = {
  open: [],
  capability: [],
  publishable: [
    'invalid_api_key',
    'origin_required',
    'origin_not_allowed',
    'account_disabled',
    'email_unverified',
  ],
  // The mode header is checked with the key.
  seller: ['invalid_request', 'invalid_api_key', 'mode_mismatch'],
  store: ['invalid_request', 'invalid_api_key', 'mode_mismatch', 'store_not_found'],
}

/** Every code that an endpoint can answer, in the catalogue's order of precedence. */
export function errorsOf(endpoint: EndpointFacts): ErrorCode[] {
  const { auth, method, path, query, body } = endpoint
  const isSellers = auth === 'seller' || auth === 'store'
  const found = new Set<ErrorCode>([
    ...endpoint.fails,
    ...BY_AUTH[auth],
    'internal_error',
    'unavailable',
  ])
  // A path with a broken percent-encoding is no path of ours.
  if (path.includes(':')) found.add('not_found')
  if (query !== undefined) found.add('invalid_request')
  if (isSellers && method !== 'GET') found.add('account_disabled')
  if (isReplayable(endpoint)) found.add('idempotency_mismatch')
  if (body !== undefined) {
    for (const code of [
      'payload_too_large',
      'unsupported_media_type',
      'invalid_request',
    ] as const) {
      found.add(code)
    }
  }
  return (Object.keys(ERRORS) as ErrorCode[]).filter((code) => found.has(code))
}
