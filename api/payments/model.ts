import { Type } from '@sinclair/typebox'
import { MODES, TOKENS } from '#shared/networks/names.ts'
import { PAYMENT_STATUSES } from '#shared/payments/machine.ts'

const oneOf = <T extends string>(words: readonly T[]) =>
  Type.Union(words.map((word) => Type.Literal(word)))

export const BrandingObject = Type.Object({
  displayName: Type.Optional(Type.String()),
  logoUrl: Type.Optional(Type.String()),
  color: Type.Optional(Type.String()),
})

/** The payment object: spec section 2, and the additions of contract section 1. */
export const PaymentObject = Type.Object({
  paymentId: Type.String(),
  status: oneOf(PAYMENT_STATUSES),
  mode: oneOf(MODES),
  network: Type.String(),
  token: oneOf(TOKENS),
  payTo: Type.String(),
  contract: Type.String(),
  amount: Type.String(),
  amountBaseUnits: Type.String(),
  decimals: Type.Integer(),
  txHash: Type.Union([Type.String(), Type.Null()]),
  expiresAt: Type.String({ format: 'date-time' }),
  branding: BrandingObject,
  confirmations: Type.Integer(),
  confirmationsRequired: Type.Integer(),
  paymentUri: Type.String(),
  checkoutUrl: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  serverTime: Type.String({ format: 'date-time' }),
})
