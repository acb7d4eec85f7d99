import { type Static, Type } from '@sinclair/typebox'
import { TOKENS } from '#shared/networks/names.ts'
import { INTERVALS, SUBSCRIPTION_STATUSES } from '#shared/subscriptions/events.ts'
import { TokenName } from '../fields.ts'
import { BrandingObject } from '../payments/model.ts'
import { ModeWord, oneOf, Reference, Time } from '../words.ts'

export const RenewalCheckoutBody = Type.Object(
  { network: Reference, token: oneOf(TOKENS) },
  { additionalProperties: false },
)
export type RenewalCheckoutBody = Static<typeof RenewalCheckoutBody>

/** What the holder of a renew link may see: nothing about the buyer. */
export const RenewalObject = Type.Object({
  mode: ModeWord,
  status: oneOf(SUBSCRIPTION_STATUSES),
  sellerName: Type.String(),
  branding: BrandingObject,
  productName: Type.String(),
  amount: Type.String(),
  amountCents: Type.Integer(),
  currency: Type.Literal('usd'),
  interval: oneOf(INTERVALS),
  intervalCount: Type.Integer(),
  nextDueAt: Type.Optional(Time),
  network: Type.String({ description: 'What the buyer paid with first' }),
  token: TokenName,
  options: Type.Array(
    Type.Object({ network: Type.String(), token: TokenName, decimals: Type.Integer() }),
    { description: 'What the next period can be paid with; none once the subscription has ended' },
  ),
  paymentId: Type.Optional(
    Type.String({
      description: 'The newest payment of it that is under way: open, or paid and not yet final',
    }),
  ),
})
export type RenewalObject = Static<typeof RenewalObject>
