import { createRequire } from 'node:module'

/** Milliseconds a hook or test may take where the runtime has a default that is too short for a first start. */
const TIMEOUT_MS = 90_000

/**
 * Gives the hooks of the calling test file time to start database, chain and processes. Bun cuts a hook after 5 s whatever
 * it was given, and forgets the setting between files: so each file that starts much calls this at its top.
 */
export function allowSlowHooks(): void {
  if (!('Bun' in globalThis)) return
  const require = createRequire(import.meta.url)
  const { setDefaultTimeout } = require('bun:test') as { setDefaultTimeout(ms: number): void }
  setDefaultTimeout(TIMEOUT_MS)
}
