import { createStore } from '#shared/accounts/stores.ts'
import { type Tx, withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { parseMailAddress } from '#shared/mail-address.ts'
import type { Caller } from '../auth.ts'
import { rateKeyOfIp } from '../client-ip.ts'
import type { ApiDeps } from '../deps.ts'
import { guardLiveAccount } from '../live-guard.ts'
import { limitRate } from '../rate-limit.ts'
import { keyView, storeView } from '../store-object.ts'
import { mailLink, wakeMailer } from './mailed-link.ts'
import { accountView, type PatchAccountBody, type SignUpBody } from './model.ts'
import { createPasswords, isAcceptablePassword } from './password.ts'
import { insertAccount, readAccount, updateAccount } from './queries.ts'

/** Contract section 2: sign-ups of one IP in an hour. */
const SIGN_UP_RATE = { limit: 10, windowSeconds: 3_600 }
/** What a store is called until its seller names it. */
const STORE_NAME = 'My store'

/** One per process: its bounds count all callers together. */
export const passwords = createPasswords()

/**
 * Makes an account with a store and four keys, and asks for the verification mail.
 * Errors: invalid_request, rate_limited, signup_closed, email_taken.
 */
export async function signUp(
  deps: ApiDeps,
  body: SignUpBody,
  call: { clientIp(): string; headers: Record<string, string> },
) {
  const email = readEmail(body.email)
  refuseWeakPassword(body.password)
  const rateKey = `signup:${rateKeyOfIp(call.clientIp())}`
  await limitRate(deps, call.headers, rateKey, SIGN_UP_RATE)
  if (!deps.config.isSignupOpen) fail('signup_closed')

  const passwordHash = await passwords.hashPassword(body.password)
  const sellerName = body.sellerName ?? null
  const made = await withTransaction(deps.db, async (tx) => {
    const opened = await openAccount(tx, { email, passwordHash, sellerName })
    if (!opened) return fail('email_taken')
    const { accountId, store, keys } = opened
    await mailLink(tx, deps.keyring, { accountId, email, purpose: 'VERIFY_EMAIL' })
    return { account: await readAccount(tx, accountId), store, keys }
  })
  wakeMailer(deps)
  return {
    account: accountView(made.account, deps.config.planCapsUsd),
    store: storeView(made.store),
    keys: made.keys.map(keyView),
  }
}

/** Makes an account with a store and its four keys; undefined when the address has an account. */
export async function openAccount(
  tx: Tx,
  given: { email: string; passwordHash: string; sellerName: string | null },
) {
  const accountId = newId('acct')
  if (!(await insertAccount(tx, { accountId, ...given }))) return undefined
  const name = given.sellerName ?? STORE_NAME
  return { accountId, ...(await createStore(tx, { accountId, name })) }
}

export async function showAccount(deps: ApiDeps, accountId: string) {
  return accountView(await readAccount(deps.db, accountId), deps.config.planCapsUsd)
}

/** Error: mode_mismatch. */
export async function changeAccount(deps: ApiDeps, caller: Caller, patch: PatchAccountBody) {
  await guardLiveAccount(deps.db, caller)
  await updateAccount(deps.db, caller.accountId, patch)
  return showAccount(deps, caller.accountId)
}

/** One strict address in lower case. Error: invalid_request. */
export function readEmail(text: string): string {
  const message = 'This should be one mail address in ASCII, such as ann@shop.example.'
  return parseMailAddress(text) ?? fail('invalid_request', { message, param: 'email' })
}

/** Error: invalid_request. */
export function refuseWeakPassword(password: string): void {
  if (isAcceptablePassword(password)) return
  fail('invalid_request', {
    message: 'A password has 12 characters or more, and at most 1,024 bytes.',
    param: 'password',
  })
}
