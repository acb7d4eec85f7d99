import { hashSecret, newSecret, sha256Hex } from '#shared/crypto.ts'
import { withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import type { Caller } from '../auth.ts'
import { rateKeyOfIp } from '../client-ip.ts'
import type { ApiDeps } from '../deps.ts'
import { limitRate, rateHeaders } from '../rate-limit.ts'
import { refuseToken, takeToken } from './mailed-link.ts'
import { accountView } from './model.ts'
import {
  countAttempt,
  deleteLogin,
  deleteLogins,
  findAccountByEmail,
  findMailedToken,
  forgetWindow,
  insertLogin,
  markEmailVerified,
  readAccount,
  restartWindow,
  uncountAttempt,
  updatePassword,
} from './queries.ts'
import { passwords, readEmail, refuseWeakPassword } from './service.ts'

/** Contract section 2: failures of one account from one IP in 15 minutes, and how long they lock. */
const FAILURES_MAX = 5
const LOCK_SECONDS = 15 * 60
/** Attempts of one IP in a minute, whichever accounts: each one costs a hash. */
const IP_RATE = { limit: 120, windowSeconds: 60 }
/** Hours a login lasts. */
const LOGIN_HOURS = 7 * 24

/**
 * Opens a login. An unknown address costs the same work and gets the same answer as a wrong password.
 * Errors: invalid_request, rate_limited, invalid_credentials.
 */
export async function logIn(
  deps: ApiDeps,
  body: { email: string; password: string },
  call: { clientIp(): string; headers: Record<string, string> },
): Promise<{ sessionToken: string; expiresAt: string }> {
  const email = readEmail(body.email)
  const ip = rateKeyOfIp(call.clientIp())
  await limitRate(deps, call.headers, `login-ip:${ip}`, IP_RATE)
  const rateKey = `login:${sha256Hex(email)}:${ip}`
  // Counted before it is known to fail, so that guesses made at once are no more than guesses made in turn.
  const count = await countAttempt(deps.db, rateKey, LOCK_SECONDS)
  if (count.requestCount > FAILURES_MAX) refuseLocked(count.resetSeconds)

  const account = await findAccountByEmail(deps.db, email)
  const isRight = await verify(deps, rateKey, body.password, hashOf(account))
  if (account === undefined || !isRight) {
    if (count.requestCount === FAILURES_MAX) await restartWindow(deps.db, rateKey)
    fail('invalid_credentials')
  }
  await forgetWindow(deps.db, rateKey)
  const { accountId } = account
  const sessionToken = newSecret('sess')
  const hash = hashSecret(sessionToken)
  const expiresAt = await withTransaction(deps.db, (tx) =>
    insertLogin(tx, { hash, accountId, validHours: LOGIN_HOURS }),
  )
  return { sessionToken, expiresAt: expiresAt.toISOString() }
}

/** Ends the login that the request came with. Error: invalid_api_key, when it came with a key. */
export async function logOut(deps: ApiDeps, caller: Caller, request: Request): Promise<void> {
  if (caller.kind !== 'LOGIN') fail('invalid_api_key')
  const token = request.headers.get('authorization')?.slice('Bearer '.length) ?? ''
  await deleteLogin(deps.db, hashSecret(token), caller.accountId)
}

/** Error: invalid_request, for a token that is not good. */
export async function verifyEmail(deps: ApiDeps, token: string) {
  const row = await withTransaction(deps.db, async (tx) => {
    const accountId = await takeToken(tx, token, 'VERIFY_EMAIL')
    await markEmailVerified(tx, accountId)
    return readAccount(tx, accountId)
  })
  return { account: accountView(row, deps.config.planCapsUsd) }
}

/** Sets a new password and ends every login. Error: invalid_request, for a token that is not good or a weak password. */
export async function resetPassword(deps: ApiDeps, body: { token: string; password: string }) {
  refuseWeakPassword(body.password)
  // Hashing is dear: not for those who made their token up.
  const owner = await findMailedToken(deps.db, hashSecret(body.token), 'RESET_PASSWORD')
  if (owner === undefined) refuseToken()
  const passwordHash = await passwords.hashPassword(body.password)
  const row = await withTransaction(deps.db, async (tx) => {
    const accountId = await takeToken(tx, body.token, 'RESET_PASSWORD')
    await updatePassword(tx, accountId, passwordHash)
    await deleteLogins(tx, accountId)
    return readAccount(tx, accountId)
  })
  return { account: accountView(row, deps.config.planCapsUsd) }
}

/** A password that could not be looked at, because too many wait, was no failure of its sender. */
async function verify(
  deps: ApiDeps,
  rateKey: string,
  password: string,
  storedHash: string | undefined,
): Promise<boolean> {
  try {
    return await passwords.verifyPassword(password, storedHash)
  } catch (error) {
    await uncountAttempt(deps.db, rateKey)
    throw error
  }
}

/** Accounts made by an operator have no password, and a word in its place that no password hashes to. */
function hashOf(account: { passwordHash: string } | undefined): string | undefined {
  return account?.passwordHash.startsWith('$argon2id$') ? account.passwordHash : undefined
}

function refuseLocked(resetSeconds: number): never {
  return fail('rate_limited', {
    message: 'Too many failed logins. Wait as long as Retry-After says, or reset the password.',
    retryAfterSeconds: resetSeconds,
    headers: rateHeaders({ limit: FAILURES_MAX, requestCount: FAILURES_MAX, resetSeconds }),
  })
}
