import { createHmac } from 'node:crypto'

/**
 * Makes the value of `X-Service-Signature` (spec section 6):
 * `t=<unix seconds>,v1=<hex>[,v1=<hex>]`, one `v1` for each secret in the order given.
 *
 * Each `v1` is a lower-case hex HMAC-SHA256 over `<t>.<raw body>`. The key is the whole secret as
 * the seller was shown it, `whsec_` included, so that no receiver has to know an inner encoding.
 *
 * @param body the exact bytes that will be posted
 * @param secrets every active secret, at least one
 * @param timeSeconds time of this attempt in whole seconds since 1970; receivers refuse it when it
 *   is more than 300 s away from their clock, so each attempt needs its own
 * @throws RangeError without a secret or with a time that is not a whole number
 */
export function signatureHeader(
  body: Uint8Array,
  secrets: readonly string[],
  timeSeconds: number,
): string {
  if (secrets.length === 0) throw new RangeError('a delivery needs at least one secret to sign it')
  if (!Number.isSafeInteger(timeSeconds)) throw new RangeError(`not whole seconds: ${timeSeconds}`)
  let header = `t=${timeSeconds}`
  for (const secret of secrets) {
    const mac = createHmac('sha256', secret).update(`${timeSeconds}.`).update(body).digest('hex')
    header += `,v1=${mac}`
  }
  return header
}
