import { hashSecret, type Keyring, newSecret, sha256Hex } from '#shared/crypto.ts'
import { type Tx, withTransaction } from '#shared/db.ts'
import { fail } from '#shared/errors.ts'
import { announceMail, requestLinkMail } from '#shared/mail-requests.ts'
import { rateKeyOfIp } from '../client-ip.ts'
import type { ApiDeps } from '../deps.ts'
import { limitRate } from '../rate-limit.ts'
import {
  countAttempt,
  findAccountByEmail,
  insertMailedToken,
  type MailedPurpose,
  takeMailedToken,
} from './queries.ts'

/** What each purpose sends, and the hours its link is good for. */
const LINKS = {
  VERIFY_EMAIL: { template: 'verify-email', prefix: 'verify', validHours: 72 },
  RESET_PASSWORD: { template: 'reset-password', prefix: 'reset', validHours: 1 },
} as const

/** Requests for mails of one IP in an hour: a person who mistypes needs fewer. */
const IP_RATE = { limit: 30, windowSeconds: 3_600 }
/** Mails of one purpose to one address in an hour: nobody's mailbox is flooded through us. */
const ADDRESS_RATE = { limit: 5, windowSeconds: 3_600 }
/**
 * Milliseconds after which a request for a mail is answered, at the earliest: longer than the work takes, so that time
 * does not tell whether the address has an account.
 */
const ANSWER_AFTER_MS = 250

/** Makes a token and asks for its mail, in the caller's transaction. Wake the mailer after the commit. */
export async function mailLink(
  tx: Tx,
  keyring: Keyring,
  { accountId, email, purpose }: { accountId: string; email: string; purpose: MailedPurpose },
): Promise<void> {
  const { template, prefix, validHours } = LINKS[purpose]
  const token = newSecret(prefix)
  const hash = hashSecret(token)
  const expiresAt = await insertMailedToken(tx, { hash, accountId, purpose, validHours })
  await requestLinkMail(tx, keyring, { template, to: email, token, expiresAt })
}

/** Wakes the mailer without making the caller wait; should it fail, the mailer finds the row at its next poll. */
export function wakeMailer(deps: ApiDeps): void {
  announceMail(deps.db).catch((error: unknown) => {
    deps.log.debug('a wake-up was not sent', { cause: error })
  })
}

/**
 * Sends a link to an address, if it has an account that needs one. What it answers, and when, is the same if not.
 * Error: rate_limited (by IP, whatever the address).
 */
export async function requestLink(
  deps: ApiDeps,
  purpose: MailedPurpose,
  email: string,
  call: { clientIp(): string; headers: Record<string, string> },
): Promise<void> {
  await limitRate(deps, call.headers, `mail:${rateKeyOfIp(call.clientIp())}`, IP_RATE)
  const pause = new Promise((resolve) => setTimeout(resolve, ANSWER_AFTER_MS))
  await Promise.all([sendIfWanted(deps, purpose, email), pause])
}

/** Uses up a link's token. Answers whose it was. Error: invalid_request. */
export async function takeToken(tx: Tx, token: string, purpose: MailedPurpose): Promise<string> {
  return (await takeMailedToken(tx, hashSecret(token), purpose)) ?? refuseToken()
}

/** Error: invalid_request, whatever is wrong with the token. */
export function refuseToken(): never {
  return fail('invalid_request', {
    message: 'This link was used already or has ended. Ask for a new one.',
    param: 'token',
  })
}

async function sendIfWanted(deps: ApiDeps, purpose: MailedPurpose, email: string): Promise<void> {
  const rateKey = `mail-to:${purpose}:${sha256Hex(email)}`
  const { requestCount } = await countAttempt(deps.db, rateKey, ADDRESS_RATE.windowSeconds)
  const account = await findAccountByEmail(deps.db, email)
  if (account === undefined || requestCount > ADDRESS_RATE.limit) return
  if (purpose === 'VERIFY_EMAIL' && account.isVerified) return
  const { accountId } = account
  await withTransaction(deps.db, (tx) => mailLink(tx, deps.keyring, { accountId, email, purpose }))
  wakeMailer(deps)
}
