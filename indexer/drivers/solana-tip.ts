import { unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { DriverDeps } from './driver.ts'
import { ask, blockCall, isNotYet, isSkipped, type Reader, retrying } from './solana-read.ts'
import { readHeader, readSlot, type SolanaBlock } from './solana-shapes.ts'

export type Tip = {
  /** The newest confirmed block. */
  read(): Promise<SolanaBlock>
  /** The newest finalized slot, as of the last reading. */
  readonly finalized: number
  /** Who read it. */
  readonly provider: number
  readonly seenAtMs: number | undefined
  /** The block that `read` answered last, when it is this one. */
  known(slot: number): SolanaBlock | undefined
  /** A slot the socket told of. */
  note(slot: unknown): void
}

/** Milliseconds a tip may stand still before another provider is asked, and between two such questions. */
const STALE_MS = 15_000

/** The end of the chain: read, remembered for the reading that follows at once, watched for standing still. */
export function createTip({ nowMs }: DriverDeps, reader: Reader): Tip {
  const { rpc } = reader
  let newest: SolanaBlock | undefined
  let finalized = 0
  let provider = 0
  let seen: unknown
  let seenAtMs: number | undefined
  let askedOthersAtMs = Number.NEGATIVE_INFINITY
  const see = (slot: unknown) => {
    if (slot === seen) return
    seen = slot
    seenAtMs = nowMs()
  }
  const readSlots = (except?: ReadonlySet<number>) =>
    retrying(() =>
      ask(
        reader,
        [slotCall('confirmed'), slotCall('finalized')],
        ([confirmed, final], host, by) => ({
          slot: readSlot(unwrap(confirmed, host), 'slot', host),
          final: readSlot(unwrap(final, host), 'slot', host),
          by,
        }),
        except ? { except } : {},
      ),
    )
  /** Another provider's tip, when it is ahead of one that stands still. */
  const compare = async (own: Awaited<ReturnType<typeof readSlots>>) => {
    askedOthersAtMs = nowMs()
    const other = await readSlots(new Set([own.by])).catch(() => undefined)
    if (!other || other.slot <= own.slot) return own
    const host = rpc.hostOf(own.by)
    rpc.distrust(own.by, new RpcError('lagging', `${host}: stands still at slot ${own.slot}`))
    return other
  }
  const readTip = async (): Promise<SolanaBlock> => {
    const now = nowMs()
    let reading = await readSlots()
    const standsFor = seenAtMs === undefined ? 0 : now - seenAtMs
    const isStale = reading.slot === newest?.number && standsFor > STALE_MS
    if (isStale && rpc.providerCount > 1 && now - askedOthersAtMs > STALE_MS) {
      reading = await compare(reading)
    }
    see(reading.slot)
    finalized = reading.final
    provider = reading.by
    if (newest && reading.slot === newest.number) return newest
    const block = await readConfirmed(reading.slot)
    if (block) newest = block
    if (newest) return newest
    throw new RpcError('lagging', `${rpc.hostOf(provider)}: has no confirmed block yet`)
  }
  /** Undefined while the node has confirmed the block and not written it down. */
  const readConfirmed = async (slot: number): Promise<SolanaBlock | undefined> => {
    const reading = await rpc.batch([blockCall(slot, 'confirmed', 'none')])
    const host = rpc.hostOf(reading.provider)
    const [answer] = reading.answers
    if (isSkipped(answer) || isNotYet(answer)) return undefined
    return readHeader(unwrap(answer, host), slot, host)
  }
  return {
    get finalized() {
      return finalized
    },
    get provider() {
      return provider
    },
    get seenAtMs() {
      return seenAtMs
    },
    read: () => retrying(readTip),
    known: (slot) => (newest?.number === slot ? newest : undefined),
    note: see,
  }
}

function slotCall(commitment: string) {
  return { method: 'getSlot', params: [{ commitment }] }
}
