import { readFileSync } from 'node:fs'
import { sha256Hex } from '#shared/crypto.ts'
import { fail } from '#shared/errors.ts'
import { endpoint } from '../endpoint.ts'

/** A script or style of ours, served under a name that changes with its content. */
export type Asset = { name: string; content: string; type: string }

/** Hex digits of a content's hash in its name. */
const HASH_LENGTH = 16
const TYPES = { css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' } as const

const assets = new Map<string, Asset>()

/** Reads a file beside the pages once, at start: `asset('pay', 'script', 'js')`. */
export function asset(folder: string, stem: string, kind: keyof typeof TYPES): Asset {
  const url = new URL(`./${folder}/${stem}.${kind}`, import.meta.url)
  const content = readFileSync(url, 'utf8')
  const hash = sha256Hex(content).slice(0, HASH_LENGTH)
  const made = { name: `${folder}-${hash}.${kind}`, content, type: TYPES[kind] }
  assets.set(made.name, made)
  return made
}

export const getAsset = endpoint({
  method: 'GET',
  path: '/assets/:name',
  auth: 'open',
  summary: 'A script or style of the hosted pages',
  needsDatabase: false,
  handle: (_, { params }) => {
    const { content, type } = assets.get(params.name) ?? fail('not_found')
    return new Response(content, {
      headers: {
        'Content-Type': type,
        // What is behind a name never changes: other content has another name.
        'Cache-Control': 'public, max-age=31536000, immutable',
        'X-Content-Type-Options': 'nosniff',
      },
    })
  },
})
