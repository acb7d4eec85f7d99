import { type Static, Type } from '@sinclair/typebox'
import { TOKENS } from '#shared/networks/names.ts'
import { INTERVALS } from '#shared/subscriptions/events.ts'
import { AmountCents, clearable, Metadata, TokenName, UrlText } from '../fields.ts'
import { PAGE_QUERY } from '../pagination.ts'
import { displayText, ModeWord, oneOf, Reference, Time } from '../words.ts'

const NAME_LENGTH_MAX = 200
const DESCRIPTION_LENGTH_MAX = 2_000
/** Longest network name that is looked at, and most of them in a price. */
const NETWORK_LENGTH_MAX = 50
const NETWORKS_MAX = 50
/** Days in the longest interval of any kind: three years. Each kind has its own bound in the service. */
const INTERVAL_COUNT_MAX = 1_095

const NOTHING_ELSE = { additionalProperties: false } as const

export const CatalogQuery = Type.Object(
  { ...PAGE_QUERY, mode: Type.Optional(ModeWord) },
  NOTHING_ELSE,
)
export type CatalogQuery = Static<typeof CatalogQuery>

const Name = displayText(NAME_LENGTH_MAX)
const Description = Type.String({ maxLength: DESCRIPTION_LENGTH_MAX })

export const ProductBody = Type.Object(
  {
    name: Name,
    description: Type.Optional(Description),
    imageUrl: Type.Optional(UrlText),
    metadata: Type.Optional(Metadata),
  },
  NOTHING_ELSE,
)
export type ProductBody = Static<typeof ProductBody>

export const ProductPatch = Type.Object(
  {
    name: Type.Optional(Name),
    description: clearable(Description),
    imageUrl: clearable(UrlText),
    metadata: clearable(Metadata),
    active: Type.Optional(Type.Boolean()),
  },
  NOTHING_ELSE,
)
export type ProductPatch = Static<typeof ProductPatch>

export const ProductObject = Type.Object({
  productId: Type.String(),
  mode: ModeWord,
  name: Type.String(),
  description: Type.Optional(Type.String()),
  imageUrl: Type.Optional(Type.String()),
  metadata: Type.Optional(Metadata),
  active: Type.Boolean(),
  createdAt: Time,
})
export type ProductObject = Static<typeof ProductObject>

export const PriceBody = Type.Object(
  {
    productId: Reference,
    amountCents: AmountCents,
    interval: Type.Optional(oneOf(INTERVALS)),
    intervalCount: Type.Optional(Type.Integer({ minimum: 1, maximum: INTERVAL_COUNT_MAX })),
    networks: Type.Optional(
      Type.Array(Type.String({ maxLength: NETWORK_LENGTH_MAX }), {
        minItems: 1,
        maxItems: NETWORKS_MAX,
        uniqueItems: true,
      }),
    ),
    tokens: Type.Optional(
      Type.Array(TokenName, { minItems: 1, maxItems: TOKENS.length, uniqueItems: true }),
    ),
  },
  NOTHING_ELSE,
)
export type PriceBody = Static<typeof PriceBody>

/** The amount and all that it is asked for never change: open checkouts and subscriptions were promised it. */
export const PricePatch = Type.Object({ active: Type.Optional(Type.Boolean()) }, NOTHING_ELSE)
export type PricePatch = Static<typeof PricePatch>

export const PriceObject = Type.Object({
  priceId: Type.String(),
  mode: ModeWord,
  productId: Type.String(),
  amount: Type.String(),
  amountCents: Type.Integer(),
  currency: Type.Literal('usd'),
  interval: Type.Optional(oneOf(INTERVALS)),
  intervalCount: Type.Optional(Type.Integer()),
  networks: Type.Optional(Type.Array(Type.String())),
  tokens: Type.Optional(Type.Array(Type.String())),
  active: Type.Boolean(),
  createdAt: Time,
})
export type PriceObject = Static<typeof PriceObject>

export const PaymentLinkBody = Type.Object(
  { priceId: Reference, metadata: Type.Optional(Metadata) },
  NOTHING_ELSE,
)
export type PaymentLinkBody = Static<typeof PaymentLinkBody>

export const PaymentLinkPatch = Type.Object(
  { metadata: clearable(Metadata), active: Type.Optional(Type.Boolean()) },
  NOTHING_ELSE,
)
export type PaymentLinkPatch = Static<typeof PaymentLinkPatch>

export const PaymentLinkObject = Type.Object({
  paymentLinkId: Type.String(),
  mode: ModeWord,
  priceId: Type.String(),
  metadata: Type.Optional(Metadata),
  url: Type.String({ description: 'The hosted page to send buyers to' }),
  active: Type.Boolean(),
  createdAt: Time,
})
export type PaymentLinkObject = Static<typeof PaymentLinkObject>
