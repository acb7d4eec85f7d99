import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * A receiver's check of `X-Service-Signature`, written from section 6 of the specification alone and
 * sharing nothing with the code that signs: accepts when any `v1` is the lower-case hex HMAC-SHA256 of
 * `<t>.<raw body>` under the secret and `t` is at most 300 seconds away from the receiver's clock.
 */
export function isGenuine(
  header: string | undefined,
  rawBody: Uint8Array,
  secret: string,
  nowSeconds: number,
): boolean {
  const [first, ...rest] = (header ?? '').split(',')
  const time = /^t=(\d+)$/.exec(first ?? '')?.[1]
  if (time === undefined || rest.length === 0) return false
  if (Math.abs(nowSeconds - Number(time)) > 300) return false
  const signed = Buffer.concat([Buffer.from(`${time}.`), rawBody])
  const expected = createHmac('sha256', secret).update(signed).digest()
  return rest.some((entry) => {
    const hex = /^v1=([0-9a-f]{64})$/.exec(entry)?.[1]
    return hex !== undefined && timingSafeEqual(Buffer.from(hex, 'hex'), expected)
  })
}
