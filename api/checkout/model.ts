import { type Static, Type } from '@sinclair/typebox'
import { MailText, Metadata, TokenName } from '../fields.ts'
import { BrandingObject } from '../payments/model.ts'
import { ModeWord, Reference } from '../words.ts'

/** Contract section 1. */
const TTL_MINUTES_MAX = 1_440

const PAID_FOR = {
  publishableKey: Reference,
  priceId: Type.Optional(Reference),
  paymentLinkId: Type.Optional(Reference),
  sessionId: Type.Optional(Reference),
  amount: Type.Optional(
    Type.Integer({ description: 'US cents; only where the seller allows open amounts.' }),
  ),
}

export const CheckoutInfoBody = Type.Object(PAID_FOR, { additionalProperties: false })
export type CheckoutInfoBody = Static<typeof CheckoutInfoBody>

export const CheckoutBody = Type.Object(
  {
    ...PAID_FOR,
    currency: Type.Optional(Type.Literal('usd')),
    network: Reference,
    token: TokenName,
    ttlMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: TTL_MINUTES_MAX })),
    metadata: Type.Optional(Metadata),
    buyerEmail: Type.Optional(MailText),
  },
  { additionalProperties: false },
)
export type CheckoutBody = Static<typeof CheckoutBody>

export const CheckoutInfoObject = Type.Object({
  mode: ModeWord,
  amount: Type.String(),
  amountCents: Type.Integer(),
  currency: Type.Literal('usd'),
  sellerName: Type.String(),
  branding: BrandingObject,
  options: Type.Array(
    Type.Object({ network: Type.String(), token: TokenName, decimals: Type.Integer() }),
  ),
})
export type CheckoutInfoObject = Static<typeof CheckoutInfoObject>
