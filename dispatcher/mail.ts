import { DecryptError, type Keyring } from '#shared/crypto.ts'
import { type Db, isUnavailable } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import {
  type BuyerMailBody,
  type LinkMailBody,
  openMailToken,
  type StoreMailBody,
} from '#shared/mail-requests.ts'
import { openRenewToken, renewUrl } from '#shared/subscriptions/renew-token.ts'
import { type Letter, letterHtml, letterText } from './mail-letter.ts'
import { buyerLetter, deadLetter, isStillSo, linkLetter, unmatchedLetter } from './mail-letters.ts'
import {
  closeMail,
  countTestMail,
  deferMail,
  type MailOutcome,
  type MailRequest,
  readBuyerFacts,
  readDead,
  readStoreFacts,
  readWaiting,
  takeMails,
} from './mail-queries.ts'
import { type Mail, type Mailer, MailRefusedError } from './mailer.ts'

/** Mails in hand at once, a count. */
const BATCH_MAX = 20
/** A mail whose process died is taken by another after this, in milliseconds: far more than a batch may take. */
const LEASE_MS = 300_000
/** One mail, whole, in milliseconds. */
const SEND_TIMEOUT_MS = 60_000
/** Wait after a failure, in milliseconds; doubles up to the second. */
const RETRY_MS = 30_000
const RETRY_MS_MAX = 3_600_000
/** A mail that could not be sent for so long is given up, in milliseconds: what it says is old by then. */
const AGE_MS_MAX = 72 * 3_600_000
/**
 * Mails to buyers that one account's test mode sends in a day, a count: with years of several subscriptions to try. Whoever
 * signs up can write a product's name and a buyer's address, and pays for nothing in test mode.
 */
export const TEST_MAILS_PER_DAY_MAX = 500
/** Events and transfers that a seller's mail lists, a count. */
const LISTED_MAX = 10

/** What mails are made and sent with. */
export type MailDeps = {
  readonly db: Db
  readonly keyring: Keyring
  readonly publicUrl: string
  readonly mailer: Mailer
  readonly log: Log
}

/**
 * Sends mails that are due, up to a batch, each once; answers how many it took. A server that is away is tried again with
 * growing pauses; one that says no for good is believed. Only a crash between the server's "taken" and our commit sends a
 * mail twice, with the same Message-ID.
 */
export async function sendMails(
  deps: MailDeps,
  signal: AbortSignal,
): Promise<{ rowCount: number }> {
  const requests = await takeMails(deps.db, { countMax: BATCH_MAX, leaseMs: LEASE_MS })
  await Promise.all(requests.map((request) => attempt(deps, request, signal)))
  return { rowCount: requests.length }
}

/** The pause after so many failures, in milliseconds. */
export function mailRetryMs(attemptCount: number): number {
  return Math.min(RETRY_MS * 2 ** (attemptCount - 1), RETRY_MS_MAX)
}

async function attempt(deps: MailDeps, request: MailRequest, signal: AbortSignal): Promise<void> {
  const { requestId, attemptCount, now, createdAt } = request
  try {
    await closeMail(deps.db, requestId, await deliver(deps, request, signal))
  } catch (error) {
    if (isUnavailable(error)) throw error
    const template = request.body.template
    if (signal.aborted) return deferMail(deps.db, requestId, 0)
    if (error instanceof MailRefusedError || error instanceof DecryptError) {
      deps.log.warn('a mail was refused', { requestId, template, error })
      return closeMail(deps.db, requestId, 'refused')
    }
    const delayMs = mailRetryMs(attemptCount)
    if (now.getTime() + delayMs - createdAt.getTime() > AGE_MS_MAX) {
      deps.log.error('a mail is given up', { requestId, template, attemptCount, error })
      return closeMail(deps.db, requestId, 'given-up')
    }
    deps.log.warn('a mail was not sent, trying again', { requestId, template, attemptCount, error })
    await deferMail(deps.db, requestId, delayMs)
  }
}

async function deliver(
  deps: MailDeps,
  request: MailRequest,
  signal: AbortSignal,
): Promise<MailOutcome> {
  const made = await compose(deps, request)
  if (made === undefined) return 'skipped'
  const { letter, to, unsubscribeUrl } = made
  const mail: Mail = {
    ...{ id: request.requestId, to, fromName: letter.from.name, subject: letter.subject },
    ...{ text: letterText(letter), html: letterHtml(letter) },
    ...(letter.action === undefined ? {} : { link: letter.action.url }),
    ...(unsubscribeUrl === undefined ? {} : { unsubscribeUrl }),
  }
  await deps.mailer.send(mail, AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]))
  return 'sent'
}

type Made = { letter: Letter; to: string; unsubscribeUrl?: string }

/** The mail as it is now, or undefined when there is nothing to say any more. */
async function compose(deps: MailDeps, request: MailRequest): Promise<Made | undefined> {
  const { body } = request
  switch (body.template) {
    case 'verify-email':
    case 'reset-password':
      return composeLink(deps, request, body)
    case 'subscription-opened':
    case 'subscription-reminder':
    case 'subscription-past-due':
    case 'subscription-expired':
      return composeForBuyer(deps, request, body)
    case 'webhook-dead':
    case 'unmatched-transfer':
      return composeForStore(deps, body)
  }
}

function composeLink(
  { keyring, publicUrl }: MailDeps,
  { subject, now }: MailRequest,
  body: LinkMailBody,
): Made | undefined {
  if (Date.parse(body.expiresAt) <= now.getTime()) return undefined
  const token = openMailToken(keyring, subject, body)
  return { letter: linkLetter(body.template, publicUrl, token), to: body.to }
}

async function composeForBuyer(
  { db, keyring, publicUrl, log }: MailDeps,
  { now, attemptCount }: MailRequest,
  body: BuyerMailBody,
): Promise<Made | undefined> {
  const facts = await readBuyerFacts(db, body.subscriptionId)
  if (facts === undefined || facts.buyerEmail === null || !isStillSo(body, facts, now)) {
    return undefined
  }
  // Counted once, however often it is tried.
  if (facts.mode === 'test' && attemptCount === 1) {
    if ((await countTestMail(db, facts.accountId)) > TEST_MAILS_PER_DAY_MAX) {
      log.warn('a mail of test mode is left out: the account sent many today', {
        accountId: facts.accountId,
      })
      return undefined
    }
  }
  const token = openRenewToken(keyring, facts.subscriptionId, facts.renewTokenCiphertext)
  const url = renewUrl(publicUrl, token)
  const letter = buyerLetter(body, facts, { renewUrl: url, now })
  // The last mail has nothing left to unsubscribe from.
  const isLast = body.template === 'subscription-expired'
  return { letter, to: facts.buyerEmail, ...(isLast ? {} : { unsubscribeUrl: url }) }
}

async function composeForStore({ db }: MailDeps, body: StoreMailBody): Promise<Made | undefined> {
  const store = await readStoreFacts(db, body.storeId)
  if (store === undefined) return undefined
  if (body.template === 'webhook-dead') {
    const dead = await readDead(db, body, LISTED_MAX)
    return dead.count === 0 ? undefined : { letter: deadLetter(body, store, dead), to: store.to }
  }
  const waiting = await readWaiting(db, body, LISTED_MAX)
  if (waiting.length === 0) return undefined
  return { letter: unmatchedLetter(body, store, waiting), to: store.to }
}
