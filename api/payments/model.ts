import { Type } from '@sinclair/typebox'
import { MODES, TOKENS } from '#shared/networks/names.ts'
import { PAYMENT_STATUSES } from '#shared/payments/machine.ts'
import { SIMULATED_OUTCOMES } from '#shared/payments/service.ts'

export const ModeName = Type.Union(MODES.map((word) => Type.Literal(word)))
export const TokenName = Type.Union(TOKENS.map((word) => Type.Literal(word)))
export const PaymentStatusName = Type.Union(PAYMENT_STATUSES.map((word) => Type.Literal(word)))

export const BrandingObject = Type.Object({
  displayName: Type.Optional(Type.String()),
  logoUrl: Type.Optional(Type.String()),
  color: Type.Optional(Type.String()),
})

/** The payment object: spec section 2, and the additions of contract section 1. */
export const PaymentObject = Type.Object({
  paymentId: Type.String(),
  status: PaymentStatusName,
  mode: ModeName,
  network: Type.String(),
  token: TokenName,
  payTo: Type.String(),
  contract: Type.String(),
  amount: Type.String(),
  amountBaseUnits: Type.String(),
  decimals: Type.Integer(),
  txHash: Type.Union([Type.String(), Type.Null()]),
  expiresAt: Type.String({ description: 'RFC 3339, UTC' }),
  branding: BrandingObject,
  confirmations: Type.Integer(),
  confirmationsRequired: Type.Integer(),
  paymentUri: Type.String(),
  checkoutUrl: Type.String(),
  createdAt: Type.String({ description: 'RFC 3339, UTC' }),
  serverTime: Type.String({ description: 'RFC 3339, UTC' }),
})

export const SimulateBody = Type.Object(
  {
    outcome: Type.Optional(Type.Union(SIMULATED_OUTCOMES.map((word) => Type.Literal(word)))),
  },
  { additionalProperties: false },
)
