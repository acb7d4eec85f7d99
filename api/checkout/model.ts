import { type Static, Type } from '@sinclair/typebox'
import { TOKENS } from '#shared/networks/names.ts'
import { BrandingObject, ModeName, TokenName } from '../payments/model.ts'

/** Longest id or key that is looked at, in characters. */
const REFERENCE_LENGTH_MAX = 200
/** Contract section 1. */
const TTL_MINUTES_MAX = 1_440
const METADATA_KEYS_MAX = 20

const Reference = Type.String({ maxLength: REFERENCE_LENGTH_MAX })

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

/** Seller's or buyer's own data: text by text. The 2,048 bytes are counted where it is used. */
export const Metadata = Type.Record(Type.String(), Type.String(), {
  maxProperties: METADATA_KEYS_MAX,
})

export const CheckoutBody = Type.Object(
  {
    ...PAID_FOR,
    currency: Type.Optional(Type.Literal('usd')),
    network: Reference,
    token: Type.Union(TOKENS.map((token) => Type.Literal(token))),
    ttlMinutes: Type.Optional(Type.Integer({ minimum: 1, maximum: TTL_MINUTES_MAX })),
    metadata: Type.Optional(Metadata),
    buyerEmail: Type.Optional(Reference),
  },
  { additionalProperties: false },
)
export type CheckoutBody = Static<typeof CheckoutBody>

export const CheckoutInfoObject = Type.Object({
  mode: ModeName,
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
