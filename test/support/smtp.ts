import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

/** A mail as a mail server got it. */
export type ReceivedMail = {
  /** The envelope: whom the server was told to deliver to, whatever the headers say. */
  from: string
  to: string[]
  /** The message, parsed by a library that knows nothing of ours. */
  mail: Email
  raw: string
}

export type SmtpReceiver = {
  /** `smtp://127.0.0.1:<port>` */
  url: string
  received: ReceivedMail[]
  /** The next so many messages are refused with this reply code. */
  refuse(count: number, code: number): void
  /** Refuses recipients for good (550) from now on, or no more. */
  refuseRecipients(isRefused: boolean): void
  /** Refuses our own address as a sender for good (553) from now on, or no more. */
  refuseSender(isRefused: boolean): void
  close(): Promise<void>
}

/** A real SMTP server on a free loopback port. */
export async function startSmtpReceiver(port = 0): Promise<SmtpReceiver> {
  const received: ReceivedMail[] = []
  let refusals = { count: 0, code: 0 }
  let refusesRecipients = false
  let refusesSender = false
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onMailFrom(_address, _session, done) {
      done(refusesSender ? replyError(553) : null)
    },
    onRcptTo(_address, _session, done) {
      done(refusesRecipients ? replyError(550) : null)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        if (refusals.count > 0) {
          refusals.count -= 1
          done(replyError(refusals.code))
          return
        }
        const raw = Buffer.concat(chunks).toString('utf8')
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          mail: await PostalMime.parse(raw),
          raw,
        })
        done()
      })
    },
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()))
  const address = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    received,
    refuse(count, code) {
      refusals = { count, code }
    },
    refuseRecipients(isRefused) {
      refusesRecipients = isRefused
    },
    refuseSender(isRefused) {
      refusesSender = isRefused
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

function replyError(responseCode: number): Error {
  return Object.assign(new Error('refused by the test'), { responseCode })
}
