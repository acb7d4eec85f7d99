import { watchedTokens } from '#shared/networks/registry.ts'
import { createRpc, type ReadOptions, type Rpc } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type {
  AuditOptions,
  AuditReading,
  BlockRef,
  Driver,
  DriverDeps,
  Observation,
  RangeWithTransfers,
} from './driver.ts'
import { type Accounts, createAccounts } from './solana-accounts.ts'
import { type Balances, createBalances, merge } from './solana-balances.ts'
import { readBlocks } from './solana-blocks.ts'
import { checkMints, checkProviders, verifyGenesis } from './solana-check.ts'
import { createMode, type Mode } from './solana-mode.ts'
import { createRanges, type Ranges } from './solana-ranges.ts'
import { type Reader, readBlockAt, readFirstSlot } from './solana-read.ts'
import { createSparing } from './solana-sparing.ts'
import { createTip, type Tip } from './solana-tip.ts'
import { type Bell, openBell, PING_CALL } from './solana-wake.ts'

type Parts = DriverDeps & {
  rpc: Rpc
  reader: Reader
  tip: Tip
  mode: Mode
  ranges: Ranges
  accounts: Accounts
  balances: Balances
  /** Token accounts whose balances bore out the last second reading of blocks. */
  checkedCount: number
  /** Which token program keeps each mint. */
  programs: Map<string, string>
  bell: Bell | undefined
  /** Rings again for what a notification told and nothing was found of yet. */
  ringAgain: () => void
  stopRinging: () => void
}

/** Milliseconds after which a ring that is not answered yet rings again. */
const RING_AGAIN_MS = 300

/**
 * Follows Solana over JSON-RPC. Heights are slots, and slots are skipped. What is read first is `confirmed`; what counts is
 * read again as `finalized`. The websocket only rings.
 */
export function createSolanaDriver(deps: DriverDeps): Driver {
  const parts = createParts(deps)
  const { rpc, reader, tip, mode, ranges, accounts } = parts
  const sparing = createSparing(rpc, mode, accounts)
  let headSlot = 0
  let finality = { slot: 0, readAtMs: Number.NEGATIVE_INFINITY }
  return {
    nearBlocks: 0,
    get recipientsMax() {
      return mode.recipientsMax(sparing.isWanted)
    },
    async check() {
      await checkProviders(rpc)
      const programs = await checkMints(reader, deps.deployment)
      for (const [mint, program] of programs) parts.programs.set(mint, program)
      await tip.read()
    },
    async head() {
      const head = await tip.read()
      headSlot = head.number
      return head
    },
    async expect(recipients) {
      await sparing.expect(recipients, headSlot)
      arrangeBell(parts)
    },
    firstNumber: () => readFirstSlot(reader),
    async finalizedNumber() {
      const now = deps.nowMs()
      const everyMs = mode.finalityEveryMs(parts.checkedCount)
      if (now - finality.readAtMs >= everyMs) {
        finality = { slot: tip.finalized, readAtMs: now }
      }
      return finality.slot
    },
    block: (number) => readBlockAt(reader, number, 'confirmed'),
    async blockWithTransfers(number) {
      const block = await readBlockAt(reader, number, 'confirmed')
      if (block?.number !== number) return undefined
      return { block, transfers: (await readBlocks(reader, number, number, 'confirmed')).transfers }
    },
    async rangeWithTransfers(from, to) {
      const isByAccounts = from > sparing.blocksTo
      const range = await (isByAccounts
        ? readByAccounts(parts, from, to)
        : readBlocks(reader, from, Math.min(to, sparing.blocksTo), 'confirmed'))
      ranges.note(from, range.last.number, isByAccounts)
      return range
    },
    auditTransfers(from, to, terms) {
      sparing.noteAgain(to)
      return readTwice(parts, from, to, terms)
    },
    wake(onWake) {
      parts.bell?.stop()
      parts.bell = openParts(parts, onWake)
      arrangeBell(parts)
      return parts.bell
    },
    health: () => ({
      ...rpc.health(),
      socketAlive: parts.bell?.isAlive() ?? false,
      ...(tip.seenAtMs === undefined ? {} : { lastHeadAtMs: tip.seenAtMs }),
    }),
    spare: sparing.want,
    async stop() {
      parts.stopRinging()
      parts.bell?.stop()
      rpc.stop()
    },
  }
}

function createParts(deps: DriverDeps): Parts {
  const { deployment, log, nowMs } = deps
  const rpc = createRpc({
    urls: deployment.rpc,
    pingCall: PING_CALL,
    log,
    verify: (call, host) => verifyGenesis(deployment, call, host),
  })
  const mints = watchedTokens(deployment).map(({ contract }) => contract)
  const reader: Reader = { rpc, log, mints: new Set(mints) }
  const programs = new Map<string, string>()
  const balances = createBalances(reader)
  const parts: Parts = {
    ...deps,
    rpc,
    reader,
    tip: createTip(deps, reader),
    mode: createMode(deployment.reading ?? 'auto', log),
    ranges: createRanges(),
    balances,
    checkedCount: 0,
    accounts: createAccounts({
      reader,
      balances,
      nowMs,
      programOf: (mint) => programs.get(mint),
      isListening: (account) => parts.bell?.isListening(account) ?? false,
    }),
    programs,
    bell: undefined,
    ringAgain() {},
    stopRinging() {},
  }
  return parts
}

function openParts(parts: Parts, onWake: Parameters<Driver['wake']>[0]): Bell {
  const { accounts, tip } = parts
  let timer: ReturnType<typeof setTimeout> | undefined
  parts.stopRinging = () => clearTimeout(timer)
  parts.ringAgain = () => {
    clearTimeout(timer)
    timer = setTimeout(() => onWake('transfer'), RING_AGAIN_MS)
  }
  return openBell(parts, {
    onHead: tip.note,
    onAccount: accounts.ring,
    onWake(reason) {
      // Between two connections notifications are lost.
      if (reason === 'connected') accounts.distrust()
      onWake(reason)
    },
  })
}

function arrangeBell({ bell, mode, accounts }: Parts): void {
  bell?.setPace(mode.headEveryMs)
  bell?.listen(mode.mayListen ? accounts.list() : [])
}

async function readByAccounts(parts: Parts, from: number, to: number): Promise<RangeWithTransfers> {
  const { accounts, tip, reader } = parts
  const transfers = await accounts.read(from, to)
  const last = tip.known(to) ?? (await readBlockAt(reader, to, 'confirmed'))
  if (!last || last.number < from) throw new RpcError('lagging', `no block at slot ${to} yet`)
  if (accounts.isWaiting()) parts.ringAgain()
  return { last, transfers }
}

/** The second reading: by another provider when there is one, else by the same at another commitment and by balances. */
async function readTwice(
  parts: Parts,
  from: number,
  to: number,
  terms: AuditOptions = {},
): Promise<AuditReading> {
  const { rpc, tip, accounts, log } = parts
  const readOther = async () => {
    if (rpc.providerCount === 1) return undefined
    try {
      const except = new Set([tip.provider])
      return await readFinal(parts, from, to, { ...terms, reading: { except } })
    } catch (error) {
      if (error instanceof RpcError && error.kind === 'stopped') throw error
      log.warn('no other provider can read blocks a second time', { from, to, error })
      return undefined
    }
  }
  const reading = (await readOther()) ?? (await readFinal(parts, from, to, terms))
  accounts.forget(to)
  return reading
}

/**
 * What is final of an inclusive range, read the way the first reading went: each way sees what the other does not look for.
 * What the balances of accounts do not bear out is looked for the other way, too.
 */
async function readFinal(
  parts: Parts,
  from: number,
  to: number,
  terms: AuditOptions & { reading?: ReadOptions },
): Promise<AuditReading> {
  const { ranges, accounts, reader } = parts
  const { isThrifty = false, reading, recipients } = terms
  const end = await readBlockAt(reader, to, 'finalized', reading)
  if (!end) {
    const why = 'is not final there yet, or the node does not keep it any more'
    throw new RpcError('lagging', `slot ${to} ${why}`)
  }
  if (ranges.isByAccounts(from, to)) {
    const transfers = await accounts.readAgain(from, to, { isThrifty, reading })
    return { transfers, lastHash: end.hash, method: 'signatures borne out by balances' }
  }
  const transfers: AuditReading['transfers'] = []
  let last: BlockRef | undefined
  for (let start = from; start <= end.number; start = last.number + 1) {
    const part = await readBlocks(reader, start, end.number, 'finalized', reading)
    if (last && part.parentHash !== last.hash) {
      throw new RpcError('inconsistent', `two branches at slot ${start}`)
    }
    transfers.push(...part.transfers)
    last = part.last
  }
  // By another provider the same method does: nobody else has to bear it out.
  const holders = reading ? undefined : await recipients?.()
  if (!holders) return { transfers, lastHash: end.hash, method: 'blocks at finalized' }
  const found = await readChanged(parts, from, to, holders)
  return {
    transfers: merge([...transfers, ...found]),
    lastHash: end.hash,
    method: 'blocks borne out by balances',
  }
}

/** Transfers of an inclusive range to those whose balances changed, by signatures. */
async function readChanged(
  parts: Parts,
  from: number,
  to: number,
  holders: readonly string[],
): Promise<Observation[]> {
  const { accounts, balances } = parts
  const owned = (await Promise.all(holders.map(accounts.of))).flat()
  parts.checkedCount = owned.length
  await balances.begin(owned)
  const checked = owned.flatMap((account) => {
    const since = Math.max(from, (balances.knownSince(account) ?? to) + 1)
    return since <= to ? [{ account, since, isActive: false }] : []
  })
  return balances.read(checked, { from, to })
}
