import { type Endpoint, endpoint } from '../endpoint.ts'
import { openApiDocument } from './document.ts'

/** Seconds a document may be kept: it changes with a release only. */
const MAX_AGE_S = 300

/** The endpoints that describe all others and themselves. */
export function referenceEndpoints(others: readonly Endpoint[]): readonly Endpoint[] {
  const bodies = new Map<string, string>()
  const getOpenApi = endpoint({
    method: 'GET',
    path: '/openapi.json',
    auth: 'open',
    summary: 'This document: OpenAPI 3.1, made from the schemas that validate',
    media: ['application/json'],
    needsDatabase: false,
    handle: ({ config: { publicUrl } }) => {
      const body = bodies.get(publicUrl) ?? JSON.stringify(openApiDocument(all, { publicUrl }))
      bodies.set(publicUrl, body)
      return new Response(body, {
        headers: {
          'Content-Type': 'application/json',
          'Cache-Control': `public, max-age=${MAX_AGE_S}`,
        },
      })
    },
  })
  const all: readonly Endpoint[] = [...others, getOpenApi]
  return [getOpenApi]
}
