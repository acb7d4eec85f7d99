import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { parseMailAddress } from '#shared/mail-address.ts'

/** A mail, ready to go. */
export type Mail = {
  /** Names the mail for ever: a copy sent after a crash has the same Message-ID. */
  id: string
  /** One strict address. */
  to: string
  /** Whose mail it is, shown beside our address. */
  fromName: string
  subject: string
  text: string
  html: string
  /** Where its reader ends such mails. */
  unsubscribeUrl?: string
  /** The link it is about. */
  link?: string
}

/** Hands mails on; a promise that resolves means that somebody has taken the mail over. */
export type Mailer = {
  /** @throws MailRefusedError when trying again would not help; any other error when it may */
  send(mail: Mail, signal: AbortSignal): Promise<void>
  close(): void
}

/** The receiving side will never take this mail: no such mailbox, say. `cause` is for the log. */
export class MailRefusedError extends Error {
  override readonly name = 'MailRefusedError'
}

/** SMTP connections at once, a count; and mails over one of them. */
const CONNECTIONS_MAX = 4
const MAILS_PER_CONNECTION_MAX = 100
/** Milliseconds for TCP and TLS, for the server's first line, and for any silence after that. */
const CONNECT_TIMEOUT_MS = 10_000
const GREETING_TIMEOUT_MS = 10_000
const SILENCE_TIMEOUT_MS = 20_000
/** Characters of a name or subject; a mail's header is no place for more. */
const LINE_CHARACTERS_MAX = 150

/** Sends over SMTP (`SMTP_URL`), from `MAIL_FROM`. */
export function createSmtpMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport({
    ...{ url, pool: true, maxConnections: CONNECTIONS_MAX, maxMessages: MAILS_PER_CONNECTION_MAX },
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: GREETING_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
  })
  return {
    async send(mail, signal) {
      try {
        await transport.sendMail({ ...toMessage(mail, from), signal })
      } catch (cause) {
        throw isRefusal(cause)
          ? new MailRefusedError('the server refused a mail', { cause })
          : cause
      }
    },
    close: () => transport.close(),
  }
}

/**
 * Without SMTP: writes each mail as `<id>.eml` into a directory that only its owner may enter. A header names the link, so
 * that whoever started the service can show it; links are capabilities and belong in no log.
 */
export function createFileMailer({ directory, from }: { directory: string; from: string }): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(mail) {
      const message = toMessage(mail, from)
      const { link } = mail
      const headers = {
        ...message.headers,
        ...(link === undefined ? {} : { 'X-Service-Link': { prepared: true, value: link } }),
      }
      const { message: bytes } = await transport.sendMail({ ...message, headers })
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const path = join(directory, `${mail.id}.eml`)
      await writeFile(`${path}.part`, bytes as Uint8Array, { mode: 0o600 })
      await rename(`${path}.part`, path)
    },
    close: () => transport.close(),
  }
}

/**
 * What the library is given. It would read commas, brackets and line ends in an address as more recipients and headers:
 * so the address is checked once more, goes in as an object, and the envelope is ours.
 */
function toMessage(mail: Mail, from: string) {
  const to = parseMailAddress(mail.to)
  if (to === undefined) throw new MailRefusedError('this is not one mail address')
  const { unsubscribeUrl } = mail
  return {
    messageId: `<${mail.id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    from: { name: oneLine(mail.fromName), address: from },
    to: { name: '', address: to },
    envelope: { from, to: [to] },
    subject: oneLine(mail.subject),
    text: mail.text,
    html: mail.html,
    headers: {
      // RFC 3834: no holiday answers, please.
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl === undefined
        ? {}
        : { 'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` } }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, LINE_CHARACTERS_MAX)
    .toWellFormed()
}

type Refusal = { responseCode?: unknown; code?: unknown; command?: unknown }

/** RFC 5321 section 4.2.1: 5yz is for good. A refused login or sender is the operator's to mend, and no fault of the mail. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { responseCode, code, command } = error as Error & Refusal
  const isForGood = typeof responseCode === 'number' && responseCode >= 500 && responseCode < 600
  return isForGood && (code === 'EENVELOPE' || code === 'EMESSAGE') && command !== 'MAIL FROM'
}
