import { RpcError } from '../rpc-error.ts'

/** How many blocks are asked for at once: as many as the node has shown to bear. */
export type Span = {
  /** Reads from `from` towards `to` with as many blocks as it takes; answers what `read` answered for them. */
  read<T>(from: number, to: number, read: (from: number, to: number) => Promise<T>): Promise<T>
  /** The size of the last answer, in transfers: the next range grows or shrinks towards a good size. */
  noteSize(transferCount: number): void
}

/** Blocks of the first range, and of the widest. */
const BLOCKS_FIRST = 500
const BLOCKS_MAX = 10_000
/** Growth after each success: slow, since a refusal costs a round trip. */
const GROWTH = 1.1
/** Transfers in one answer above which ranges stop growing, and above which they shrink: some 600 bytes each. */
const TRANSFERS_ENOUGH = 20_000
const TRANSFERS_MAX = 40_000
/** Halvings in one reading: enough from the widest range to a single block. */
const HALVINGS_MAX = 14
/** Errors that a narrower range may not meet. Ten dialects say "too wide", so every refusal counts. */
const HALVES_ON = new Set(['refused', 'too_large', 'timeout', 'http'])

/** A range that adapts: halved when a node refuses or chokes, grown slowly while it does not. */
export function createSpan(): Span {
  let blocks = BLOCKS_FIRST
  return {
    async read(from, to, read) {
      for (let halvings = 0; ; halvings += 1) {
        const count = Math.min(to - from + 1, Math.floor(blocks))
        try {
          const answer = await read(from, from + count - 1)
          if (count === Math.floor(blocks)) blocks = Math.min(BLOCKS_MAX, blocks * GROWTH + 1)
          return answer
        } catch (error) {
          const mayHalve = error instanceof RpcError && HALVES_ON.has(error.kind) && count > 1
          if (!mayHalve || halvings >= HALVINGS_MAX) throw error
          blocks = Math.max(1, Math.floor(count / 2))
        }
      }
    },
    noteSize(transferCount) {
      if (transferCount > TRANSFERS_MAX) blocks = Math.max(1, blocks / 2)
      else if (transferCount > TRANSFERS_ENOUGH) blocks = Math.max(1, blocks / GROWTH - 1)
    },
  }
}
