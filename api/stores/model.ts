import { type Static, Type } from '@sinclair/typebox'
import { fail } from '#shared/errors.ts'
import { PAGE_QUERY } from '../pagination.ts'
import { displayText } from '../words.ts'

const NAME_LENGTH_MAX = 100
const LOGO_URL_LENGTH_MAX = 2_048
/** Reminders of one period, and the days before its end at which the first may be. */
const REMINDERS_MAX = 10
const REMINDER_DAYS_MAX = 365
const GRACE_DAYS_MAX = 365
const closed = { additionalProperties: false }

export const StoresQuery = Type.Object(PAGE_QUERY, closed)

export const PostStoreBody = Type.Object({ name: displayText(NAME_LENGTH_MAX) }, closed)

const Branding = Type.Object(
  {
    displayName: Type.Optional(displayText(NAME_LENGTH_MAX)),
    logoUrl: Type.Optional(Type.String({ maxLength: LOGO_URL_LENGTH_MAX })),
    color: Type.Optional(
      Type.String({ pattern: '^#[0-9a-fA-F]{6}$', shouldBe: 'a colour such as #1a2b3c' }),
    ),
  },
  closed,
)
export type Branding = Static<typeof Branding>

/** `branding` is replaced as a whole: `{}` unsets it. */
export const PatchStoreBody = Type.Object(
  {
    name: Type.Optional(displayText(NAME_LENGTH_MAX)),
    branding: Type.Optional(Branding),
    reminderDays: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1, maximum: REMINDER_DAYS_MAX }), {
        maxItems: REMINDERS_MAX,
        uniqueItems: true,
      }),
    ),
    graceDays: Type.Optional(Type.Integer({ minimum: 0, maximum: GRACE_DAYS_MAX })),
    topUpUntilExpiry: Type.Optional(Type.Boolean()),
    guessOnSharedAddress: Type.Optional(Type.Boolean()),
  },
  closed,
)
export type PatchStoreBody = Static<typeof PatchStoreBody>

/** The branding as it is stored: the logo's URL in its normal form, which needs no escaping. Error: invalid_request. */
export function normalizeBranding(branding: Branding): Branding {
  if (branding.logoUrl === undefined) return branding
  const url = URL.parse(branding.logoUrl)
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    fail('invalid_request', {
      message: 'This should be a URL that begins with https:// and names no user.',
      param: 'branding.logoUrl',
    })
  }
  return { ...branding, logoUrl: url.href }
}
