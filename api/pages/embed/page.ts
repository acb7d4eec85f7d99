import { readFileSync } from 'node:fs'
import type { Route } from '../../app.ts'
import { endpoint } from '../../endpoint.ts'

/** Seconds the script may be kept: sellers name it without a version, so a release reaches them this late. */
const MAX_AGE_S = 300

/** In a function of its own: on a seller's page no name of ours may meet one of theirs. */
const SCRIPT = `'use strict';(()=>{\n${readFileSync(new URL('./script.js', import.meta.url), 'utf8')}})()\n`

/** `{PUBLIC_URL}/embed.js`: checkout on the seller's own site (contract section 8). */
export const embedScript: Route = endpoint({
  method: 'GET',
  path: '/embed.js',
  auth: 'open',
  summary: 'The script that brings checkout to a seller’s own site',
  needsDatabase: false,
  handle: () =>
    new Response(SCRIPT, {
      headers: {
        'Content-Type': 'text/javascript; charset=utf-8',
        'Cache-Control': `public, max-age=${MAX_AGE_S}`,
        'X-Content-Type-Options': 'nosniff',
        // Any site may load it, also one that isolates itself from others.
        'Cross-Origin-Resource-Policy': 'cross-origin',
      },
    }),
})
