import { createRpc, type ReadOptions } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { AuditReading, BlockRef, Driver, DriverDeps, RangeWithTransfers } from './driver.ts'
import { createAccounts } from './solana-accounts.ts'
import { readBlocks } from './solana-blocks.ts'
import { checkMints, checkProviders, verifyGenesis } from './solana-check.ts'
import { createRanges } from './solana-ranges.ts'
import { type Reader, readBlockAt } from './solana-read.ts'
import { createTip } from './solana-tip.ts'
import { type Bell, openBell, PING_CALL } from './solana-wake.ts'

/**
 * Which way a chain is read: every block, or the token accounts of those who wait. Accounts cost calls by the number of
 * sellers, blocks cost the same for any number, some five megabytes each.
 */
export type Reading = 'auto' | 'accounts' | 'blocks'

/** Recipients with whom accounts are still the cheaper way; the lower bound is where it goes back to them. */
const ACCOUNTS_MAX = 40
const ACCOUNTS_AGAIN_MAX = 25
/** Recipients when accounts are forced: as many as one process has been measured with, tenfold. */
const FORCED_MAX = 10_000
/** Milliseconds between rings for new slots. */
const BLOCKS_PACE_MS = 1_000
const ACCOUNTS_PACE_MS = 2_000
/** Milliseconds after which a ring that is not answered yet rings again. */
const RING_AGAIN_MS = 300
/** Milliseconds between two looks at how far finality is, by recipient: a second reading asks for each account. */
const FINALITY_EVERY_MS_PER_ACCOUNT = 5
const FINALITY_EVERY_MS_MAX = 10_000

/**
 * Follows Solana over JSON-RPC. Heights are slots, and slots are skipped. What is read is `confirmed`; what counts is read
 * again as `finalized`. The websocket only rings.
 */
export function createSolanaDriver(deps: DriverDeps, reading: Reading = 'auto'): Driver {
  const { deployment, log, nowMs } = deps
  const rpc = createRpc({
    urls: deployment.rpc,
    pingCall: PING_CALL,
    log,
    verify: (call, host) => verifyGenesis(deployment, call, host),
  })
  const mints = Object.values(deployment.tokens).map(({ contract }) => contract)
  const reader: Reader = { rpc, log, mints: new Set(mints) }
  const tip = createTip(deps, reader)
  const ranges = createRanges()
  const programs = new Map<string, string>()
  let bell: Bell | undefined
  let ringAgain: ReturnType<typeof setTimeout> | undefined
  let wakeUp = () => {}
  let isByAccounts = reading !== 'blocks'
  let recipientCount = 0
  let finality = { slot: 0, readAtMs: Number.NEGATIVE_INFINITY }
  const accounts = createAccounts({
    reader,
    nowMs,
    programOf: (mint) => programs.get(mint),
    isListening: (account) => bell?.isListening(account) ?? false,
  })
  const choose = (count: number) => {
    const max = isByAccounts ? ACCOUNTS_MAX : ACCOUNTS_AGAIN_MAX
    const next = reading === 'auto' ? count <= max : reading === 'accounts'
    if (next !== isByAccounts)
      log.info('reads another way', { reading: next ? 'accounts' : 'blocks' })
    isByAccounts = next
    recipientCount = count
    const pace = count > 0 ? ACCOUNTS_PACE_MS : undefined
    bell?.setPace(isByAccounts ? pace : BLOCKS_PACE_MS)
  }
  const readByAccounts = async (from: number, to: number): Promise<RangeWithTransfers> => {
    const transfers = await accounts.read(from, to)
    const last = tip.known(to) ?? (await readBlockAt(reader, to, 'confirmed'))
    if (!last || last.number < from) throw new RpcError('lagging', `no block at slot ${to} yet`)
    clearTimeout(ringAgain)
    if (accounts.isWaiting()) ringAgain = setTimeout(() => wakeUp(), RING_AGAIN_MS)
    return { last, transfers }
  }
  const readAgain = async (from: number, to: number, options?: ReadOptions) => {
    if (!ranges.isByAccounts(from, to)) return auditBlocks(reader, from, to, options)
    const transfers = await accounts.readAgain(from, to, options)
    const last = await readBlockAt(reader, to, 'finalized', options)
    if (!last) throw new RpcError('lagging', `slot ${to} is not final there yet`)
    return { transfers, lastHash: last.hash, method: 'signatures' }
  }

  return {
    nearBlocks: 0,
    recipientsMax: reading === 'accounts' ? FORCED_MAX : reading === 'blocks' ? 0 : ACCOUNTS_MAX,
    async check() {
      await checkProviders(rpc)
      for (const [mint, program] of await checkMints(reader, deployment))
        programs.set(mint, program)
      await tip.read()
    },
    head: () => tip.read(),
    async expect(recipients) {
      choose(recipients.length)
      await accounts.expect(isByAccounts ? recipients : [], ranges.next)
      bell?.listen(accounts.list())
    },
    async finalizedNumber() {
      const everyMs = isByAccounts
        ? Math.min(FINALITY_EVERY_MS_MAX, recipientCount * FINALITY_EVERY_MS_PER_ACCOUNT)
        : 0
      if (nowMs() - finality.readAtMs >= everyMs) {
        finality = { slot: tip.finalized, readAtMs: nowMs() }
      }
      return finality.slot
    },
    block: (number) => readBlockAt(reader, number, 'confirmed'),
    async blockWithTransfers(number) {
      const block = await readBlockAt(reader, number, 'confirmed')
      if (block?.number !== number) return undefined
      const { transfers } = await readBlocks(reader, number, number, 'confirmed')
      return { block, transfers }
    },
    async rangeWithTransfers(from, to) {
      const range = await (isByAccounts
        ? readByAccounts(from, to)
        : readBlocks(reader, from, to, 'confirmed'))
      ranges.note(from, range.last.number, isByAccounts)
      return range
    },
    async auditTransfers(from, to): Promise<AuditReading> {
      const other = { except: new Set([tip.provider]) }
      const again = await (rpc.providerCount > 1
        ? readAgain(from, to, other).catch((error: unknown) => {
            log.warn('no other provider can read blocks a second time', { from, to, error })
            return readAgain(from, to)
          })
        : readAgain(from, to))
      accounts.forget(to)
      return again
    },
    wake(onWake) {
      bell?.stop()
      wakeUp = () => onWake('transfer')
      bell = openBell(deps, {
        onHead: tip.note,
        onAccount: (account, slot) => typeof slot === 'number' && accounts.ring(account, slot),
        onWake(reason) {
          if (reason === 'connected') accounts.distrust()
          onWake(reason)
        },
      })
      choose(recipientCount)
      bell.listen(accounts.list())
      return bell
    },
    health: () => ({
      ...rpc.health(),
      socketAlive: bell?.isAlive() ?? false,
      ...(tip.seenAtMs === undefined ? {} : { lastHeadAtMs: tip.seenAtMs }),
    }),
    async stop() {
      clearTimeout(ringAgain)
      bell?.stop()
      rpc.stop()
    },
  }
}

/** Every block of the range again, as `finalized`. */
async function auditBlocks(
  reader: Reader,
  from: number,
  to: number,
  options?: ReadOptions,
): Promise<AuditReading> {
  const method = 'blocks at finalized'
  const end = await readBlockAt(reader, to, 'finalized', options)
  if (!end) throw new RpcError('lagging', `slot ${to} is not final there yet`)
  const transfers: AuditReading['transfers'] = []
  let last: BlockRef = end
  for (let start = from; start <= end.number; start = last.number + 1) {
    const part = await readBlocks(reader, start, end.number, 'finalized', options)
    transfers.push(...part.transfers)
    if (start > from && part.parentHash !== last.hash) {
      throw new RpcError('inconsistent', `two branches at slot ${start}`)
    }
    last = part.last
  }
  return { transfers, lastHash: last.hash, method }
}
