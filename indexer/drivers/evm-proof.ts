import type { Log } from '#shared/log.ts'
import type { ReadOptions } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { Observation, Proof } from './driver.ts'
import { readChanges } from './evm-balances.ts'
import { type Reader, readBlock, readBlockTransfers } from './evm-read.ts'
import type { Receipts } from './evm-receipts.ts'

/** What one provider says of a block. */
type Witness = {
  hash: string | undefined
  readings: { transfers: Observation[]; method: string }[]
  isExplainedBy: ((transfers: readonly Observation[]) => boolean) | undefined
}

/**
 * Decides between readings of one block that differ: asks every provider for its logs, its receipts and the balances of those
 * who are concerned before and after it. What explains the balances is what happened there.
 *
 * Undefined when it cannot be told: states are forgotten, providers see different blocks or balances, or no reading explains
 * them, or two that differ do.
 */
export async function proveBlock(
  { reader, receipts, log }: { reader: Reader; receipts: Receipts; log: Log },
  number: number,
  holders: readonly string[],
): Promise<Proof | undefined> {
  const { rpc } = reader
  const all = Array.from({ length: rpc.providerCount }, (_, provider) => provider)
  const witnesses = await Promise.all(
    all.map((provider) => hear({ reader, receipts, log }, number, holders, provider)),
  )
  const seen = witnesses.filter((one) => one.hash !== undefined)
  const [hash] = seen.map((one) => one.hash)
  const judges = seen.flatMap((one) => one.isExplainedBy ?? [])
  if (hash === undefined || seen.some((one) => one.hash !== hash) || judges.length === 0) {
    return undefined
  }
  const right = seen
    .flatMap((one) => one.readings)
    .filter(({ transfers }) => judges.every((isExplainedBy) => isExplainedBy(transfers)))
  const [first, ...others] = right
  if (!first || others.some((one) => toText(one, holders) !== toText(first, holders))) {
    return undefined
  }
  const { transfers, method } = first
  return { transfers, blockHash: hash, method }
}

/** Everything that one provider tells; what it does not tell is absent. */
async function hear(
  { reader, receipts, log }: { reader: Reader; receipts: Receipts; log: Log },
  number: number,
  holders: readonly string[],
  provider: number,
): Promise<Witness> {
  const { rpc } = reader
  const host = rpc.hostOf(provider)
  const options: ReadOptions = { except: rpc.allBut(provider), isWellOnly: true }
  const ask = async <T>(what: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read()
    } catch (error) {
      if (error instanceof RpcError && error.kind === 'stopped') throw error
      log.debug('a provider cannot bear witness', { host, block: number, of: what, error })
      return undefined
    }
  }
  const header = await ask('the header', () => readBlock(reader, number, options))
  const block = header?.block
  if (!block) return { hash: undefined, readings: [], isExplainedBy: undefined }
  const [byLogs, byReceipts, isExplainedBy] = await Promise.all([
    ask('logs', () => readBlockTransfers(reader, block, options)),
    ask('receipts', () => receipts.read(number, number, rpc.allBut(provider))),
    ask('balances', () => readChanges(reader, number, holders, options)),
  ])
  const isSame = byReceipts?.last.hash === block.hash
  const readings = [
    ...(byLogs ? [{ transfers: byLogs.transfers, method: `logs from ${host}` }] : []),
    ...(byReceipts && isSame
      ? [{ transfers: byReceipts.transfers, method: `receipts from ${host}` }]
      : []),
  ]
  return { hash: block.hash, readings, isExplainedBy }
}

/** What a reading says of those concerned, to compare it with another. */
function toText({ transfers }: { transfers: Observation[] }, holders: readonly string[]): string {
  const concerned = new Set(holders.map((holder) => holder.toLowerCase()))
  return transfers
    .filter(({ toKey, to }) => concerned.has(toKey ?? to.toLowerCase()))
    .map((one) => [one.txHash, one.index, one.contract, one.to, one.amountBaseUnits].join())
    .join(' ')
}
