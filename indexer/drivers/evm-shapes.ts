import { getAddress } from 'viem/utils'
import { RpcError } from '../rpc-error.ts'
import type { BlockRef, Observation } from './driver.ts'

/** keccak256 of `Transfer(address,address,uint256)`: topic 0 of every ERC-20 transfer (EIP-20). */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** A watched transfer as a log says it; its block's time is not always known yet. */
export type TransferLog = {
  blockNumber: number
  blockHash: string
  /** From the log itself; undefined on nodes that do not say it there. */
  blockTimeMs: number | undefined
  txHash: string
  index: number
  contract: string
  /** Lower case. */
  from: string
  to: string
  amountBaseUnits: bigint
}

/** Watched contracts: lower case → EIP-55. */
export type Contracts = ReadonlyMap<string, string>

/** 32 bytes. Every node writes lower case; nothing depends on it, for a log left out is a payment missed. */
const WORD = /^0x[0-9a-f]{64}$/i
/** An address in a topic: the upper 12 bytes are zero. */
const ADDRESS_WORD = /^0x0{24}[0-9a-f]{40}$/i
/** At most 2^52: beyond it no block number, time or index is real, and arithmetic stays exact. */
const QUANTITY = /^0x[0-9a-f]{1,13}$/i

/** The header of `eth_getBlockByNumber`; undefined when the node answers null. Throws `RpcError` `malformed`. */
export function readHeader(value: unknown, host: string): BlockRef | undefined {
  if (value === null) return undefined
  const { number, hash, parentHash, timestamp } = fieldsOf(value, host)
  return {
    number: readQuantity(number, 'number', host),
    hash: readHash(hash, 'hash', host),
    parentHash: readHash(parentHash, 'parentHash', host),
    timeMs: readQuantity(timestamp, 'timestamp', host) * 1_000,
  }
}

/**
 * The watched transfers among logs, ordered by block and log index, each once. Another contract's log, and a `Transfer`
 * of another shape (an NFT's has four topics), is left out. Throws `malformed` for what is no log, `inconsistent` for
 * one marked as removed or two that claim one place: then nothing of the answer may be used.
 */
export function readTransfers(value: unknown, contracts: Contracts, host: string): TransferLog[] {
  if (!Array.isArray(value)) throw malformed('logs', host)
  const transfers = value.flatMap((log) => readTransfer(log, contracts, host) ?? [])
  transfers.sort((a, b) => a.blockNumber - b.blockNumber || a.index - b.index)
  return transfers.filter((transfer, position) => {
    const previous = transfers[position - 1]
    if (previous?.blockNumber !== transfer.blockNumber) return true
    if (previous.blockHash !== transfer.blockHash) {
      throw inconsistent(`two blocks at height ${transfer.blockNumber}`, host)
    }
    if (previous.index !== transfer.index) return true
    if (!isSame(previous, transfer)) {
      throw inconsistent(`two logs at ${transfer.blockNumber}/${transfer.index}`, host)
    }
    return false
  })
}

function readTransfer(value: unknown, contracts: Contracts, host: string): TransferLog | undefined {
  const log = fieldsOf(value, host)
  const { address, topics, data } = log
  if (typeof address !== 'string' || !Array.isArray(topics)) throw malformed('log', host)
  const contract = contracts.get(address) ?? contracts.get(address.toLowerCase())
  const [topic, from, to] = topics as readonly unknown[]
  if (contract === undefined || topics.length !== 3 || !isTransferTopic(topic)) return undefined
  if (!isMatch(ADDRESS_WORD, from) || !isMatch(ADDRESS_WORD, to)) return undefined
  if (!isMatch(WORD, data)) return undefined
  if (log['removed'] === true) throw inconsistent('a log marked as removed', host)
  return {
    blockNumber: readQuantity(log['blockNumber'], 'blockNumber', host),
    blockHash: readHash(log['blockHash'], 'blockHash', host),
    blockTimeMs: readLogTime(log['blockTimestamp']),
    txHash: readHash(log['transactionHash'], 'transactionHash', host),
    index: readQuantity(log['logIndex'], 'logIndex', host),
    contract,
    from: `0x${from.slice(26).toLowerCase()}`,
    to: `0x${to.slice(26).toLowerCase()}`,
    amountBaseUnits: BigInt(data),
  }
}

/** Milliseconds. Absent on older nodes, and zero on some that know the field but not the time. */
function readLogTime(value: unknown): number | undefined {
  return isMatch(QUANTITY, value) ? Number(value) * 1_000 || undefined : undefined
}

function isTransferTopic(topic: unknown): boolean {
  return (
    topic === TRANSFER_TOPIC ||
    (typeof topic === 'string' && topic.toLowerCase() === TRANSFER_TOPIC)
  )
}

/**
 * What the follower is told. Making the checksums of addresses takes far longer than all the rest (20 µs against 2, and
 * nearly all transfers are strangers'), so they are made when somebody looks, once.
 */
export function toObservation(transfer: TransferLog, blockTimeMs: number): Observation {
  const { blockNumber, blockHash, txHash, index, contract, amountBaseUnits } = transfer
  let from: string | undefined
  let to: string | undefined
  return {
    ...{ blockNumber, blockHash, blockTimeMs, txHash, index, contract, amountBaseUnits },
    toKey: transfer.to,
    fromKey: transfer.from,
    get from() {
      from ??= getAddress(transfer.from as `0x${string}`)
      return from
    },
    get to() {
      to ??= getAddress(transfer.to as `0x${string}`)
      return to
    },
  }
}

/** An unsigned quantity as JSON-RPC writes it: `0x` and hex digits. */
export function readQuantity(value: unknown, field: string, host: string): number {
  if (isMatch(QUANTITY, value)) return Number(value)
  throw malformed(field, host)
}

function readHash(value: unknown, field: string, host: string): string {
  if (isMatch(WORD, value)) return value.toLowerCase()
  throw malformed(field, host)
}

function isSame(a: TransferLog, b: TransferLog): boolean {
  return (
    a.txHash === b.txHash &&
    a.contract === b.contract &&
    a.from === b.from &&
    a.to === b.to &&
    a.amountBaseUnits === b.amountBaseUnits
  )
}

function fieldsOf(value: unknown, host: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw malformed('object', host)
}

function isMatch(pattern: RegExp, value: unknown): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function malformed(field: string, host: string): RpcError {
  return new RpcError('malformed', `${host}: answered a malformed ${field}`)
}

export function inconsistent(what: string, host: string): RpcError {
  return new RpcError('inconsistent', `${host}: answered ${what}`)
}
