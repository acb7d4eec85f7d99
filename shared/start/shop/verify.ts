import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'

export type Verdict = { isGenuine: true } | { isGenuine: false; reason: string }

/** Seconds a delivery's time may differ from our clock. */
const TOLERANCE_SECONDS = 300

/**
 * A seller's check of `X-Service-Signature`: `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, where each `v1` is the HMAC-SHA256 of
 * `<t>.<raw body>` under the store's `whsec_` secret. The body has to be the bytes as they came, before any parsing.
 */
export function verifyWebhook(
  header: string | undefined,
  rawBody: Uint8Array,
  secret: string,
  nowSeconds: number,
): Verdict {
  const parts = (header ?? '').split(',').map((part) => part.trim())
  const time = parts.find((part) => part.startsWith('t='))?.slice(2) ?? ''
  const signatures = parts.filter((part) => part.startsWith('v1=')).map((part) => part.slice(3))
  if (!/^\d{1,12}$/.test(time) || signatures.length === 0) return refuse('no signature')
  if (Math.abs(nowSeconds - Number(time)) > TOLERANCE_SECONDS) return refuse('too old')
  const expected = createHmac('sha256', secret).update(`${time}.`).update(rawBody).digest()
  const isGenuine = signatures.some((signature) => {
    if (!/^[0-9a-f]{64}$/.test(signature)) return false
    return timingSafeEqual(Buffer.from(signature, 'hex'), expected)
  })
  return isGenuine ? { isGenuine } : refuse('wrong signature')
}

function refuse(reason: string): Verdict {
  return { isGenuine: false, reason }
}
