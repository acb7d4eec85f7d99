import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestChain } from '../support/anvil.ts'
import type { BenchContext } from './bench.ts'

/** The indexer that ours is compared with. No dependency of ours: it is installed beside. */
const PACKAGE = '@subsquid/evm-processor'
const VERSION = '1.27.3'
export const SQUID = `${PACKAGE} ${VERSION} storing the same rows`

const INSTALL_TIMEOUT_MS = 120_000

/** The folder it is installed in: the one that was named, or a temporary one; undefined when nobody asked for it. */
export async function findSquid(context: BenchContext): Promise<string | undefined> {
  if (context.beside !== 'install') return context.beside
  const folder = await mkdtemp(join(tmpdir(), 'stablecoin-payments-beside-'))
  context.defer(() => rm(folder, { recursive: true, force: true }))
  const words = ['install', '--prefix', folder, '--no-audit', '--no-fund', `${PACKAGE}@${VERSION}`]
  await promisify(execFile)('npm', words, { timeout: INSTALL_TIMEOUT_MS })
  return folder
}

/** Seconds it takes for the same blocks into the same tables, over its websocket: its HTTP client packs what Anvil cannot unpack. */
export async function timeSquid(
  context: BenchContext,
  folder: string,
  { url, chain, last }: { url: string; chain: TestChain; last: number },
): Promise<number> {
  const words = [folder, url, chain.wsUrl, chain.tokens.usdc, String(last)]
  const { line, kill } = await context.spawn('squid-main.ts', ...words)
  kill()
  return (JSON.parse(line) as { seconds: number }).seconds
}
