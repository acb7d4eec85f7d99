import type { Log } from '#shared/log.ts'
import type { Deployment } from '#shared/networks/registry.ts'

/** A block as the follower chains it: hashes in the chain's own notation, `timeMs` since the Unix epoch. */
export type BlockRef = { number: number; hash: string; parentHash: string; timeMs: number }

/** One token transfer a driver reports. Amounts are base units of the token; nothing is matched yet. */
export type Observation = {
  blockNumber: number
  blockHash: string
  blockTimeMs: number
  txHash: string
  /** Position within the block: the log index on EVM. With `txHash` and `blockHash` it identifies the transfer. */
  index: number
  /** Token contract or mint; EIP-55 on EVM. */
  contract: string
  from: string
  to: string
  /**
   * `to` in the form that is cheap to make, for looking up many strangers: lower case on EVM, where making the checksum
   * of `to` takes longer than everything else about a transfer. Absent: `to` itself.
   */
  toKey?: string
  /** `from`, likewise. */
  fromKey?: string
  amountBaseUnits: bigint
  /** Keys the transaction carried that may be a payment's reference (Solana Pay). */
  references?: readonly string[]
}

export type BlockWithTransfers = { block: BlockRef; transfers: Observation[] }
export type RangeWithTransfers = {
  /**
   * The block the range really reached; it may lie before the height that was asked for. Where heights are skipped and the
   * range holds no block at all, it is the first one behind it.
   */
  last: BlockRef
  transfers: Observation[]
  /** What the range's first block names as its parent, where the reading tells it: compared with the cursor's hash. */
  parentHash?: string
}
/** A second reading. */
export type AuditReading = {
  transfers: Observation[]
  /** The last block that was read, where the method is too dear for the whole range. Absent: the range's last. */
  readTo?: number
  /** The hash of that block as the second source sees it. */
  lastHash: string
  method: string
}
export type AuditOptions = {
  /** With few calls: nobody waits for a payment. */
  isThrifty?: boolean
  /** Asked for by methods that look at recipients: everybody who may be owed something. Undefined: too many. */
  recipients?(): Promise<readonly string[] | undefined>
}

/** What happened in a block to those concerned, beyond what a single reading says, and which reading said so. */
export type Proof = { transfers: Observation[]; blockHash: string; method: string }

export type WakeReason = 'head' | 'transfer' | 'connected'
export type WakeHandle = {
  /**
   * Recipients whose transfers should ring before the head does. A short list becomes a filtered log
   * subscription; an empty or a long one turns it off, since an unfiltered one is a firehose.
   */
  watch(recipients: readonly string[]): void
  stop(): void
}

export type DriverHealth = {
  /** Host of the provider in use, never its path or key. */
  provider: string
  /** JSON-RPC calls since start over all providers; every entry of a batch counts. */
  callCount: number
  errorCount: number
  /** The same for each provider, in the operator's order. */
  providers?: readonly { callCount: number; errorCount: number }[]
  socketAlive: boolean
  /** When a head other than the one before was last seen, by the process's clock. */
  lastHeadAtMs?: number
}

/**
 * How the follower sees a chain. Every method that reads throws when its answer would not be certain:
 * an empty list always means that the node knew the block and it held no watched transfer.
 */
export type Driver = {
  /**
   * Blocks this near to the head are read one by one and by hash. Absent: as many as the follower likes. 0: always in ranges,
   * on chains that skip heights and whose ranges chain themselves.
   */
  readonly nearBlocks?: number
  /** A driver that reads by recipient is told at most this many, and reads everybody's transfers when it is told more. */
  readonly recipientsMax?: number
  /**
   * Who may be paid up to the head just read: every address at which a slot is held. Called after `head` and before that
   * range is read, since a buyer learns an address only after its slot is there.
   */
  expect?(recipients: readonly string[]): Promise<void>
  /** The lowest height that nodes of this chain still have. Absent: they have all. */
  firstNumber?(): Promise<number>
  /** The newest height that is final by the chain's own word. Absent: what lies `confirmations` deep is. */
  finalizedNumber?(): Promise<number>
  /**
   * Compares the node with the deployment's row: chain id or genesis, decimals of each token.
   * @throws DeploymentMismatch when the node answers and is not what the row says.
   */
  check(): Promise<void>
  /** Hash of the chain's first block, where `check` does not compare it with the row; undefined when the node has forgotten it. */
  genesisHash?(): Promise<string | undefined>
  /** The newest block. */
  head(): Promise<BlockRef>
  /** The canonical block at a height, or the last before it where the chain skipped that one; undefined above the head. */
  block(number: number): Promise<BlockRef | undefined>
  /** The block at a height with all watched-token transfers of exactly that block, read by its hash. */
  blockWithTransfers(number: number): Promise<BlockWithTransfers | undefined>
  /**
   * Transfers of `from` to at most `to`, both inclusive. How far it gets adapts to what the node bears.
   * The header of the last block comes from the same batch, so a node that lags errs instead of answering [].
   */
  rangeWithTransfers(from: number, to: number): Promise<RangeWithTransfers>
  /** Reads an inclusive range, or its beginning, a second time, by another provider or by another method. */
  auditTransfers(from: number, to: number, options?: AuditOptions): Promise<AuditReading>
  /**
   * Decides between readings of a block that differ about transfers to `recipients`, by what does not come from either.
   * Undefined, or absent: it cannot be decided.
   */
  proveBlock?(number: number, recipients: readonly string[]): Promise<Proof | undefined>
  /** The doorbell: rings on heads, on transfers to watched recipients, and once after each (re)connect. */
  wake(onWake: (reason: WakeReason) => void): WakeHandle
  health(): DriverHealth
  /**
   * Nobody waits for what it reads: from now on it makes about one call in a second and a half, each in its turn, and what it
   * is asked takes that long. False: as many as it takes again, and those that wait go at once.
   */
  spare(isSparing: boolean): void
  /** Closes sockets and abandons calls under way; they reject. */
  stop(): Promise<void>
}

export type DriverDeps = { deployment: Deployment; log: Log; nowMs(): number }

/** The node is not the chain its row describes, or a token is not what the row says: the deployment stays off. */
export class DeploymentMismatch extends Error {
  override readonly name = 'DeploymentMismatch'
}
