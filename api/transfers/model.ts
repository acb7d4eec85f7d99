import { type Static, Type } from '@sinclair/typebox'
import { PAGE_QUERY } from '../pagination.ts'
import { TRANSFER_STATES } from '../transfer-object.ts'
import { ModeWord, oneOf, Reference } from '../words.ts'

const NOTE_LENGTH_MAX = 1_000

export const TransferQuery = Type.Object(
  {
    ...PAGE_QUERY,
    mode: Type.Optional(ModeWord),
    state: Type.Optional(oneOf(TRANSFER_STATES)),
  },
  { additionalProperties: false },
)
export type TransferQuery = Static<typeof TransferQuery>

export const AttachBody = Type.Object({ paymentId: Reference }, { additionalProperties: false })

export const ResolveBody = Type.Object(
  {
    note: Type.String({
      minLength: 1,
      maxLength: NOTE_LENGTH_MAX,
      description: 'What was done about it, for example how it was refunded',
    }),
  },
  { additionalProperties: false },
)
