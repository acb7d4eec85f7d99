import { Type } from '@sinclair/typebox'
import { formatUnits } from '#shared/money.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { whenSet } from './fields.ts'
import { ModeWord, oneOf, Time } from './words.ts'

/** Where a transfer stands in a store's inbox (contract section 2). */
export const TRANSFER_STATES = ['MATCHED', 'UNMATCHED', 'RESOLVED'] as const
export type TransferState = (typeof TRANSFER_STATES)[number]

/** Why a transfer belongs to nobody (contract section 3). */
export const UNMATCHED_REASONS = [
  'LATE',
  'AMBIGUOUS',
  'NO_SLOT',
  'DUST',
  'WRONG_NETWORK',
  'WRONG_TOKEN',
] as const
export type UnmatchedReason = (typeof UNMATCHED_REASONS)[number]

/** A transfer as one store may see it. */
export type TransferRow = {
  transferId: string
  state: TransferState
  reason: UnmatchedReason | null
  /** This store's payments that it may have been meant for, best first: another store's ids are capabilities. */
  candidates: string[]
  network: string
  token: string
  mode: Mode
  txHash: string
  logIndex: number
  blockNumber: number
  sender: string
  address: string
  amountBaseUnits: bigint
  decimals: number
  paymentId: string | null
  note: string | null
  seenAt: Date
  resolvedAt: Date | null
}

export const TransferObject = Type.Object({
  transferId: Type.String(),
  state: oneOf(TRANSFER_STATES),
  reason: Type.Optional(oneOf(UNMATCHED_REASONS)),
  candidates: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Payments it may have been meant for, best first; absent once it is matched',
    }),
  ),
  network: Type.String(),
  token: Type.String(),
  mode: ModeWord,
  txHash: Type.String(),
  logIndex: Type.Integer(),
  blockNumber: Type.Integer(),
  from: Type.String(),
  address: Type.String(),
  amount: Type.String({ description: 'Exact, with all the token’s decimals' }),
  amountBaseUnits: Type.String(),
  decimals: Type.Integer(),
  paymentId: Type.Optional(Type.String()),
  note: Type.Optional(Type.String()),
  seenAt: Time,
  resolvedAt: Type.Optional(Time),
})

/** The wire form of a transfer (contract section 2). Pure. */
export function transferView(row: TransferRow) {
  return {
    transferId: row.transferId,
    state: row.state,
    ...whenSet('reason', row.reason),
    ...(row.state === 'MATCHED' ? {} : { candidates: row.candidates }),
    network: row.network,
    token: row.token,
    mode: row.mode,
    txHash: row.txHash,
    logIndex: row.logIndex,
    blockNumber: row.blockNumber,
    from: row.sender,
    address: row.address,
    amount: formatUnits(row.amountBaseUnits, row.decimals),
    amountBaseUnits: row.amountBaseUnits.toString(),
    decimals: row.decimals,
    ...whenSet('paymentId', row.paymentId),
    ...whenSet('note', row.note),
    seenAt: row.seenAt.toISOString(),
    ...whenSet('resolvedAt', row.resolvedAt?.toISOString()),
  }
}
