import { Type } from '@sinclair/typebox'
import { PAYMENT_STATUSES } from '#shared/payments/machine.ts'
import { SIMULATED_OUTCOMES } from '#shared/payments/service.ts'
import { TokenName } from '../fields.ts'
import { ModeWord, oneOf, Time } from '../words.ts'

export const BrandingObject = Type.Object({
  displayName: Type.Optional(Type.String()),
  logoUrl: Type.Optional(Type.String()),
  color: Type.Optional(Type.String()),
})

/** The payment object: spec section 2, and the additions of contract section 1. */
export const PaymentObject = Type.Object({
  paymentId: Type.String(),
  status: oneOf(PAYMENT_STATUSES),
  mode: ModeWord,
  network: Type.String(),
  token: TokenName,
  payTo: Type.String(),
  contract: Type.String(),
  amount: Type.String(),
  amountBaseUnits: Type.String(),
  decimals: Type.Integer(),
  txHash: Type.Union([Type.String(), Type.Null()]),
  expiresAt: Time,
  branding: BrandingObject,
  confirmations: Type.Integer(),
  confirmationsRequired: Type.Integer(),
  paymentUri: Type.String(),
  checkoutUrl: Type.String(),
  createdAt: Time,
  serverTime: Time,
})

export const SimulateBody = Type.Object(
  {
    outcome: Type.Optional(oneOf(SIMULATED_OUTCOMES)),
  },
  { additionalProperties: false },
)
