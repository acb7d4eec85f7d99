import { type Static, Type } from '@sinclair/typebox'
import { formatUnits } from '#shared/money.ts'
import { KeyObject, StoreObject } from '../store-object.ts'
import { displayText, oneOf, Reference, Time } from '../words.ts'
import type { AccountRow } from './queries.ts'

export const ACCOUNT_STATUSES = ['ACTIVE', 'SUSPENDED', 'BANNED'] as const

/** Characters; what a mail address may have is checked where it is parsed. */
const EMAIL_LENGTH_MAX = 320
/** Characters; how long a password may be in bytes is checked where it is hashed. */
const PASSWORD_LENGTH_MAX = 2_048
const SELLER_NAME_LENGTH_MAX = 100
/** Volume is counted in millionths of a US dollar. */
const VOLUME_DECIMALS = 6

const Email = Type.String({ maxLength: EMAIL_LENGTH_MAX })
const Password = Type.String({ maxLength: PASSWORD_LENGTH_MAX })
const closed = { additionalProperties: false }

export const SignUpBody = Type.Object(
  {
    email: Email,
    password: Password,
    sellerName: Type.Optional(displayText(SELLER_NAME_LENGTH_MAX)),
  },
  closed,
)
export type SignUpBody = Static<typeof SignUpBody>

export const EmailBody = Type.Object({ email: Email }, closed)
export const TokenBody = Type.Object({ token: Reference }, closed)
export const LoginBody = Type.Object({ email: Email, password: Password }, closed)
export const ResetBody = Type.Object({ token: Reference, password: Password }, closed)

export const PatchAccountBody = Type.Object(
  {
    sellerName: Type.Optional(displayText(SELLER_NAME_LENGTH_MAX)),
    openAmountEnabled: Type.Optional(Type.Boolean()),
  },
  closed,
)
export type PatchAccountBody = Static<typeof PatchAccountBody>

export const AccountObject = Type.Object({
  accountId: Type.String(),
  email: Type.String(),
  sellerName: Type.Union([Type.String(), Type.Null()]),
  status: oneOf(ACCOUNT_STATUSES),
  plan: Type.String(),
  emailVerified: Type.Boolean(),
  openAmountEnabled: Type.Boolean(),
  volume: Type.Object({
    month: Type.String({ description: 'Calendar month in UTC, such as 2026-07' }),
    receivedUsd: Type.String({ description: 'Decimal US dollars received in live mode' }),
    capUsd: Type.Union([Type.String(), Type.Null()], {
      description: 'The plan’s monthly ceiling in decimal US dollars; null is none',
    }),
  }),
  createdAt: Time,
})

export const SignUpAnswer = Type.Object({
  account: AccountObject,
  store: StoreObject,
  keys: Type.Array(KeyObject),
})
export const AccountAnswer = Type.Object({ account: AccountObject })
/** The same for everybody: it must not tell whether there is an account. */
export const NothingToTell = Type.Object({})
export const LoginAnswer = Type.Object({ sessionToken: Type.String(), expiresAt: Time })

/** The wire form of an account; `capsUsd` are the plans' ceilings in whole US dollars. */
export function accountView(
  row: AccountRow,
  capsUsd: Readonly<Record<string, number | null>>,
): Static<typeof AccountObject> {
  const capUsd = capsUsd[row.plan] ?? null
  return {
    accountId: row.accountId,
    email: row.email,
    sellerName: row.sellerName,
    status: row.status,
    plan: row.plan,
    emailVerified: row.emailVerifiedAt !== null,
    openAmountEnabled: row.openAmountEnabled,
    volume: {
      month: row.month,
      receivedUsd: dollars(row.receivedMicros),
      capUsd: capUsd === null ? null : `${capUsd}.00`,
    },
    createdAt: row.createdAt.toISOString(),
  }
}

/** Cents at least, millionths where there are any: `"12.50"`, `"12.500001"`. */
function dollars(micros: bigint): string {
  return formatUnits(micros, VOLUME_DECIMALS).replace(/0{1,4}$/, '')
}
