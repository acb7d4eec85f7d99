import { Buffer } from 'node:buffer'
import { decrypt, encrypt, type Keyring, sha256Hex } from '#shared/crypto.ts'
import type { Db, Tx } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { REQUESTS_CHANNEL } from '#shared/requests.ts'

/** `requests.kind` of a mail. */
export const MAIL_KIND = 'mail'

/** The mails that carry a link with a token. */
export const LINK_MAIL_TEMPLATES = ['verify-email', 'reset-password'] as const
export type LinkMailTemplate = (typeof LINK_MAIL_TEMPLATES)[number]

/** `requests.body` of such a mail. */
export type LinkMailBody = {
  template: LinkMailTemplate
  /** One strict address. */
  to: string
  /** The token, sealed; base64. Open it with {@link openMailToken}. */
  tokenCiphertext: string
  /** When the link ends: ISO 8601. A mail not sent by then is not worth sending. */
  expiresAt: string
}

/**
 * Asks the dispatcher to mail a link, in the transaction that makes its token. Nowhere is the token stored in clear: its
 * hash names the request, which is unique by it.
 */
export async function requestLinkMail(
  tx: Tx,
  keyring: Keyring,
  mail: { template: LinkMailTemplate; to: string; token: string; expiresAt: Date },
): Promise<void> {
  const subject = `${mail.template}:${sha256Hex(mail.token)}`
  const body: LinkMailBody = {
    template: mail.template,
    to: mail.to,
    tokenCiphertext: Buffer.from(encrypt(keyring, mail.token, contextOf(subject))).toString(
      'base64',
    ),
    expiresAt: mail.expiresAt.toISOString(),
  }
  await tx`
    insert into requests (request_id, kind, subject, body)
    values (${newId('req')}, ${MAIL_KIND}, ${subject}, ${tx.json(body)})`
}

/** The token of a request's mail. Throws `DecryptError` when the row was changed or sealed with another key. */
export function openMailToken(keyring: Keyring, subject: string, body: LinkMailBody): string {
  return decrypt(keyring, Buffer.from(body.tokenCiphertext, 'base64'), contextOf(subject))
}

/** Tells the dispatcher, after a commit, that a mail waits. Only a wake-up: a poll finds it too. */
export async function announceMail(db: Db): Promise<void> {
  await db`select pg_notify(${REQUESTS_CHANNEL}, ${MAIL_KIND})`
}

function contextOf(subject: string): string {
  return `mail ${subject}`
}
