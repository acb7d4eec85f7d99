import type { Log } from '#shared/log.ts'
import { type Answer, type ReadOptions, type Rpc, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { RpcCall } from '../socket.ts'
import { type Mints, readHeader, readSlot, type SolanaBlock } from './solana-shapes.ts'

export type Reader = { rpc: Rpc; mints: Mints; log: Log }
export type Commitment = 'confirmed' | 'finalized'
/** What a slot holds; `skipped` is a node's word alone, which a chain of parents has to bear out. */
export type SlotReading = { block: SolanaBlock; provider: number } | 'skipped'

/** Newest transaction version that is understood: with less, a node refuses whole blocks. */
export const TRANSACTION_VERSION_MAX = 1
/** Milliseconds for a block with its balances: some megabytes. */
export const BLOCK_TIMEOUT_MS = 15_000

/** Agave's JSON-RPC errors (anza-xyz/agave, rpc-client-api/src/custom_error.rs). */
const SKIPPED = new Set([-32_007, -32_009])
/** Block not available, its status not written yet, node behind, context slot not reached. */
const NOT_YET = new Set([-32_004, -32_014, -32_005, -32_016])
const UNSUPPORTED_VERSION = -32_015
/** Times a reading is begun anew when a provider contradicts itself or lags: each time others come first. */
const ATTEMPTS_MAX = 3
/** Slots looked back over for the last block before a skipped one, at most; after it the search widens. */
const LOOK_BACK_SLOTS = 64
const LOOK_BACK_MAX = 64 * 4_096
/** Slots one `getBlocks` may span (Agave). */
const SPAN_MAX = 500_000

/** Asks one provider, and lets it be distrusted when what it says cannot be used. */
export async function ask<T>(
  { rpc, log }: Reader,
  calls: readonly RpcCall[],
  judge: (answers: Answer[], host: string, provider: number) => T,
  options?: ReadOptions,
): Promise<T> {
  const { answers, provider } = await rpc.batch(calls, options)
  const host = rpc.hostOf(provider)
  try {
    return judge(answers.map(named), host, provider)
  } catch (error) {
    if (error instanceof RpcError && error.code === UNSUPPORTED_VERSION) {
      log.error('the chain has transactions of a version this release does not understand', {
        error,
      })
    }
    if (error instanceof RpcError && isProvidersFault(error)) rpc.distrust(provider, error)
    throw error
  }
}

/** A node that does not have it yet is a lagging one, whichever of its words it says so with. */
function named(answer: Answer): Answer {
  if (!('error' in answer) || !isNotYet(answer)) return answer
  const { message, code } = answer.error
  return { error: new RpcError('lagging', message, { code }) }
}

function isProvidersFault({ kind, code }: RpcError): boolean {
  if (kind === 'malformed' || kind === 'inconsistent' || kind === 'lagging') return true
  // It refused what others may have: a block it cleaned up, say.
  return kind === 'refused' && code !== UNSUPPORTED_VERSION
}

/** Runs a reading again when a provider contradicted itself, lagged or forgot, by others if there are any. */
export async function retrying<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof RpcError) || !isProvidersFault(error) || attempt >= ATTEMPTS_MAX) {
        throw error
      }
    }
  }
}

export function blockCall(slot: number, commitment: Commitment, details: string): RpcCall {
  const transactionDetails = details
  const config = { commitment, transactionDetails, rewards: false, encoding: 'json' }
  const maxSupportedTransactionVersion = TRANSACTION_VERSION_MAX
  return { method: 'getBlock', params: [slot, { ...config, maxSupportedTransactionVersion }] }
}

/** Whether an answer says that no block is at that slot. */
export function isSkipped(answer: Answer | undefined): boolean {
  if (!answer) return false
  if ('error' in answer) return SKIPPED.has(answer.error.code ?? 0)
  return answer.result === null
}

/** Whether an answer says that the node does not have it yet. */
export function isNotYet(answer: Answer | undefined): boolean {
  return answer !== undefined && 'error' in answer && NOT_YET.has(answer.error.code ?? 0)
}

/** The header at exactly this slot. Throws `lagging` when the node does not have it yet. */
export function readSlotHeader(
  reader: Reader,
  slot: number,
  commitment: Commitment,
  options?: ReadOptions,
): Promise<SlotReading> {
  return ask(
    reader,
    [blockCall(slot, commitment, 'none')],
    ([answer], host, provider) => {
      if (isSkipped(answer)) return 'skipped'
      return { block: readHeader(unwrap(answer, host), slot, host), provider }
    },
    options,
  )
}

/** The block at a slot, or the last one before it when that slot was skipped; undefined above the node's tip. */
export async function readBlockAt(
  reader: Reader,
  slot: number,
  commitment: Commitment,
  options?: ReadOptions,
): Promise<SolanaBlock | undefined> {
  try {
    const exact = await retrying(() => readSlotHeader(reader, slot, commitment, options))
    if (exact !== 'skipped') return exact.block
    for (let back = LOOK_BACK_SLOTS; back <= LOOK_BACK_MAX; back *= 4) {
      const from = Math.max(0, slot - back)
      const before = (await readSlots(reader, from, slot - 1, commitment, options)).at(-1)
      if (before === undefined) continue
      const reading = await retrying(() => readSlotHeader(reader, before, commitment, options))
      if (reading !== 'skipped') return reading.block
    }
    return undefined
  } catch (error) {
    if (error instanceof RpcError && error.kind === 'lagging') return undefined
    throw error
  }
}

/** Slots of an inclusive range that hold a block, ascending, as far as the node has them. */
export function readSlots(
  reader: Reader,
  from: number,
  to: number,
  commitment: Commitment,
  options?: ReadOptions,
): Promise<number[]> {
  const params = [from, Math.min(to, from + SPAN_MAX - 1), { commitment }]
  return retrying(() =>
    ask(
      reader,
      [{ method: 'getBlocks', params }],
      ([answer], host) => {
        const slots = unwrap(answer, host)
        if (!Array.isArray(slots)) throw new RpcError('malformed', `${host}: malformed slots`)
        return slots
          .map((slot) => readSlot(slot, 'slot', host))
          .filter((slot) => slot >= from && slot <= to)
          .sort((a, b) => a - b)
      },
      options,
    ),
  )
}

/** The lowest slot whose block the node in use still has: nodes keep some days, archives all. */
export function readFirstSlot(reader: Reader): Promise<number> {
  const call = { method: 'getFirstAvailableBlock', params: [] }
  return retrying(() =>
    ask(reader, [call], ([answer], host) => readSlot(unwrap(answer, host), 'slot', host)),
  )
}
