import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { fail } from '#shared/errors.ts'
import type { Route } from '../app.ts'
import { endpoint } from '../endpoint.ts'

/** What the reference page loads: the viewer, from its package, and our own few lines. */
const FILES: Readonly<Record<string, { read: () => string; type: string }>> = {
  'viewer.js': { read: () => readViewer('swagger-ui-bundle.js'), type: 'text/javascript' },
  'viewer.css': { read: () => readViewer('swagger-ui.css'), type: 'text/css' },
  'start.js': { read: () => START_SCRIPT, type: 'text/javascript' },
  'page.css': { read: () => PAGE_STYLE, type: 'text/css' },
}

/** Seconds a file may be kept: it changes with a release only. */
const MAX_AGE_S = 3_600

/** The viewer draws its icons from data URLs and asks this host alone. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const COMMON_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
} as const

/** `base` is what `PUBLIC_URL` has behind its host, percent-encoded as URLs are. */
const documentOf = (base: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/docs/viewer.css">
<link rel="stylesheet" href="${base}/docs/page.css">
</head>
<body>
<div id="reference" data-url="${base}/openapi.json"></div>
<noscript><p>The reference needs scripts. What it shows is at <a href="${base}/openapi.json">openapi.json</a>.</p></noscript>
<script src="${base}/docs/viewer.js"></script>
<script src="${base}/docs/start.js"></script>
</body>
</html>
`

/** Read-only, so that nobody types a live key into a page of examples. */
const START_SCRIPT = `SwaggerUIBundle({
  url: document.getElementById('reference').dataset.url,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  defaultModelRendering: 'example',
  supportedSubmitMethods: [],
  validatorUrl: null,
  filter: true,
})
`

const PAGE_STYLE = `body { margin: 0; background: #fff; }
.swagger-ui .wrapper { max-width: 1100px; }
.swagger-ui .scheme-container { display: none; }
`

const packed = new Map<string, Uint8Array<ArrayBuffer>>()

const docsPage: Route = endpoint({
  method: 'GET',
  path: '/docs',
  auth: 'open',
  summary: 'The reference of the API, for people',
  media: ['text/html'],
  needsDatabase: false,
  handle: ({ config: { publicUrl } }) =>
    new Response(documentOf(new URL(publicUrl).pathname.replace(/\/$/, '')), {
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': POLICY,
        // The headers of every page (contract section 8).
        'Cache-Control': 'no-store',
        'X-Robots-Tag': 'noindex, nofollow',
        ...COMMON_HEADERS,
      },
    }),
})

const docsFile: Route = endpoint({
  method: 'GET',
  path: '/docs/:name',
  auth: 'open',
  summary: 'A script or style of the reference',
  fails: ['not_found'],
  needsDatabase: false,
  handle: (_, { params: { name }, request }) => {
    const file = Object.hasOwn(FILES, name) ? FILES[name] : undefined
    if (file === undefined) return fail('not_found')
    const isPacked = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    return new Response(isPacked ? pack(name, file.read) : file.read(), {
      headers: {
        'Content-Type': `${file.type}; charset=utf-8`,
        'Cache-Control': `public, max-age=${MAX_AGE_S}`,
        Vary: 'Accept-Encoding',
        ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
        ...COMMON_HEADERS,
      },
    })
  },
})

/** The readable reference at `{PUBLIC_URL}/docs`: everything from this host. */
export const REFERENCE_PAGES: readonly Route[] = [docsPage, docsFile]

/** Once per process and file: the viewer is two megabytes, a quarter of that when packed. */
function pack(name: string, read: () => string): Uint8Array<ArrayBuffer> {
  const found = packed.get(name) ?? new Uint8Array(gzipSync(read()))
  packed.set(name, found)
  return found
}

function readViewer(file: string): string {
  return readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${file}`)), 'utf8')
}
