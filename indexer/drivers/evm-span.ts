import { RpcError } from '../rpc-error.ts'

/** How many blocks are asked for at once: as many as the node has shown to bear. */
export type Span = {
  /** Blocks that a reading would ask for now. */
  readonly blocks: number
  /** Reads from `from` towards `to` with as many blocks as it takes; answers what `read` answered for them. */
  read<T extends Sized>(
    from: number,
    to: number,
    read: (from: number, to: number) => Promise<T>,
  ): Promise<T>
}

type Sized = { transfers: readonly unknown[] }

/** Blocks of the first range, and of the widest. */
const BLOCKS_FIRST = 16
const BLOCKS_MAX = 10_000
/** Growth after each success: quick until the node first refuses, then slow, since a refusal costs a round trip. */
const GROWTH_AT_FIRST = 2
const GROWTH = 1.1
/** Transfers in one answer that ranges are sized for: some 6 MB. Above twice that they shrink. */
const TRANSFERS_WANTED = 10_000
/** Halvings in one reading: enough from the widest range to a single block. */
const HALVINGS_MAX = 14
/** Errors that a narrower range may not meet. Ten dialects say "too wide", so every refusal counts. */
const HALVES_ON = new Set(['refused', 'too_large', 'timeout', 'http'])

/** A range that adapts: halved when a node refuses or chokes, grown while it does not. */
export function createSpan(blocksFirst = BLOCKS_FIRST): Span {
  let blocks = blocksFirst
  let growth = GROWTH_AT_FIRST
  const fit = (count: number, transferCount: number) => {
    if (transferCount > 2 * TRANSFERS_WANTED) {
      blocks = Math.max(1, (count * TRANSFERS_WANTED) / transferCount)
      growth = GROWTH
    } else if (count >= Math.floor(blocks) && transferCount * growth <= TRANSFERS_WANTED) {
      blocks = Math.min(BLOCKS_MAX, blocks * growth + 1)
    }
  }
  return {
    get blocks() {
      return Math.floor(blocks)
    },
    async read(from, to, read) {
      for (let halvings = 0; ; halvings += 1) {
        const count = Math.min(to - from + 1, Math.floor(blocks))
        try {
          const answer = await read(from, from + count - 1)
          fit(count, answer.transfers.length)
          return answer
        } catch (error) {
          const mayHalve = error instanceof RpcError && HALVES_ON.has(error.kind) && count > 1
          if (!mayHalve || halvings >= HALVINGS_MAX) throw error
          blocks = Math.max(1, Math.floor(count / 2))
          growth = GROWTH
        }
      }
    },
  }
}
