/**
 * Every error a caller can be answered, in order of precedence: where several apply, the first one in this list is
 * the answer. The message is public and says what to do; causes go to the log alone.
 */
export const ERRORS = {
  not_found: [404, 'There is no such endpoint. Check the path and its version segment.'],
  method_not_allowed: [405, 'This endpoint does not take that method; see the Allow header.'],
  payload_too_large: [413, 'The request body is over 64 KiB. Send less.'],
  unsupported_media_type: [415, 'Send the body as application/json.'],
  invalid_request: [400, 'The request is malformed. Correct it and send it again.'],
  rate_limited: [429, 'Too many requests. Wait as long as Retry-After says.'],
  invalid_api_key: [401, 'The key is missing, malformed, unknown, revoked or of the wrong kind.'],
  invalid_credentials: [401, 'The e-mail address or the password is wrong.'],
  signup_closed: [403, 'This server takes no new accounts. Ask its operator.'],
  origin_required: [400, 'A live key needs a valid Origin header. Call from a web page.'],
  origin_not_allowed: [403, 'The seller has rejected this origin.'],
  account_disabled: [403, 'The account is suspended or banned. Ask the operator.'],
  email_unverified: [403, 'Verify the account’s e-mail address before using live keys.'],
  mode_mismatch: [403, 'The key’s mode does not allow this. Use a key of the other mode.'],
  price_not_found: [404, 'No such price for this key. Check its id and the key’s mode.'],
  payment_link_not_found: [404, 'No such payment link for this key.'],
  session_not_found: [404, 'No such checkout session for this key.'],
  payment_not_found: [404, 'No such payment.'],
  renewal_not_found: [404, 'No such renewal. Use the link of the newest mail.'],
  product_not_found: [404, 'No such product.'],
  store_not_found: [404, 'No such store.'],
  wallet_not_found: [404, 'No such wallet.'],
  key_not_found: [404, 'No such key.'],
  subscription_not_found: [404, 'No such subscription.'],
  delivery_not_found: [404, 'No such delivery.'],
  transfer_not_found: [404, 'No such transfer.'],
  origin_not_found: [404, 'No such origin.'],
  email_taken: [409, 'An account with this e-mail address exists. Log in instead.'],
  wallet_exists: [409, 'The store already has this wallet on this network.'],
  idempotency_mismatch: [409, 'This Idempotency-Key was used with another body. Use a new key.'],
  session_closed: [409, 'The checkout session is no longer open. Create a new one.'],
  link_inactive: [409, 'The payment link is archived.'],
  price_inactive: [409, 'The price is archived.'],
  open_amount_disabled: [403, 'This seller does not take open amounts. Pay for a price instead.'],
  amount_out_of_range: [422, 'An open amount is from 1 to 100,000,000 cents.'],
  network_not_accepted: [422, 'That network cannot be paid on here. Choose one of the options.'],
  token_not_accepted: [422, 'That token does not exist on that network. Choose another.'],
  no_wallet: [422, 'The seller has no wallet for that network. Choose another network.'],
  volume_cap_reached: [402, 'The seller’s monthly volume ceiling is reached.'],
  slots_exhausted: [422, 'No receiving slot is free for this amount. Try again later.'],
  not_test_mode: [400, 'Only test payments can be simulated.'],
  not_open: [409, 'The payment is no longer open.'],
  internal_error: [500, 'Something went wrong on our side. Try again with the request id at hand.'],
  unavailable: [503, 'The service is not available right now. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type ErrorCode = keyof typeof ERRORS

export type ErrorDetails = {
  /** Says more precisely what to do; public. */
  message?: string
  /** The field at fault: a JSON path with dots. */
  param?: string
  /** Whole seconds after which trying again makes sense (429, 503). */
  retryAfterSeconds?: number
  /** Response headers that belong to the error: rate limits, Allow. */
  headers?: Record<string, string>
  /** What really happened; for the log, never for the caller. */
  cause?: unknown
}

/** The one class of errors that callers are answered. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetails

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? ERRORS[code][1], { cause: details.cause })
    this.name = 'ServiceError'
    this.code = code
    this.status = ERRORS[code][0]
    this.details = details
  }
}

/** Answers the caller with this error. Never returns. */
export function fail(code: ErrorCode, details: ErrorDetails = {}): never {
  throw new ServiceError(code, details)
}

/** The wire's error body (contract section 1). */
export function errorBody(error: ServiceError, requestId: string) {
  const { param } = error.details
  return {
    error: {
      code: error.code,
      message: error.message,
      ...(param === undefined ? {} : { param }),
      requestId,
    },
  }
}
