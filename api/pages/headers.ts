/** What a page loads, which is all that its policy lets it load. */
export type Loaded = {
  /** Named by our own styles and scripts; nothing else of ours or of others runs. */
  nonce: string
  /** `https://cdn.shop.example`: where the seller's logo lies. */
  logoOrigin: string | undefined
  hasScript: boolean
}

/** The headers of every page (contract section 8). */
export function pageHeaders(loaded: Loaded): Record<string, string> {
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policyOf(loaded),
    ...PRIVATE_HEADERS,
  }
}

/** Of a redirect too: addresses of pages are capabilities, which no cache, search engine or other site may learn. */
export const PRIVATE_HEADERS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Robots-Tag': 'noindex, nofollow',
} as const

function policyOf({ nonce, logoOrigin, hasScript }: Loaded): string {
  return [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    ...(hasScript ? [`script-src 'nonce-${nonce}'`, "connect-src 'self'"] : []),
    ...(logoOrigin === undefined ? [] : [`img-src ${logoOrigin}`]),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}
