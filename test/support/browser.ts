import { existsSync } from 'node:fs'
import process from 'node:process'
import { type Browser, chromium } from 'playwright-core'

/** Where Debian puts it; `CHROMIUM_PATH` names another. */
const CHROMIUM_PATH = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
/** No sandbox: the tests' own pages are all it opens. Nothing it would fetch for itself, either. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
]

/** A real browser without a window. Throws, naming what to do, where there is none. */
export async function openBrowser(): Promise<Browser> {
  if (!existsSync(CHROMIUM_PATH)) {
    throw new Error(
      `no browser at ${CHROMIUM_PATH}: install Debian's chromium, or name one in CHROMIUM_PATH`,
    )
  }
  return chromium.launch({ executablePath: CHROMIUM_PATH, args: ARGUMENTS })
}
