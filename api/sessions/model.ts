import { type Static, Type } from '@sinclair/typebox'
import { AmountCents, MailText, Metadata, UrlText } from '../fields.ts'
import { ModeWord, oneOf, Reference, Time } from '../words.ts'

/** Contract section 1. EXPIRED is never written: it is OPEN past its time. */
export const SESSION_STATUSES = ['OPEN', 'COMPLETED', 'CLOSED', 'EXPIRED'] as const
export type SessionStatus = (typeof SESSION_STATUSES)[number]

/** Longest life of a session: thirty days. */
const EXPIRES_IN_MINUTES_MAX = 43_200

export const SessionBody = Type.Object(
  {
    storeId: Type.Optional(Reference),
    priceId: Type.Optional(Reference),
    amountCents: Type.Optional(AmountCents),
    metadata: Type.Optional(Metadata),
    buyerEmail: Type.Optional(MailText),
    successUrl: Type.Optional(UrlText),
    cancelUrl: Type.Optional(UrlText),
    expiresInMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: EXPIRES_IN_MINUTES_MAX })),
  },
  { additionalProperties: false },
)
export type SessionBody = Static<typeof SessionBody>

export const SessionObject = Type.Object({
  sessionId: Type.String(),
  storeId: Type.String(),
  mode: ModeWord,
  status: oneOf(SESSION_STATUSES),
  url: Type.String({ description: 'The hosted page to send the buyer to' }),
  priceId: Type.Optional(Type.String()),
  amount: Type.String(),
  amountCents: Type.Integer(),
  currency: Type.Literal('usd'),
  paymentId: Type.Optional(
    Type.String({ description: 'The payment that paid it, or the newest attempt' }),
  ),
  metadata: Type.Optional(Metadata),
  buyerEmail: Type.Optional(Type.String()),
  successUrl: Type.Optional(Type.String()),
  cancelUrl: Type.Optional(Type.String()),
  expiresAt: Time,
  createdAt: Time,
})
export type SessionObject = Static<typeof SessionObject>
