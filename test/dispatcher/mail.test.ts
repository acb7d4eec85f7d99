import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import PostalMime from 'postal-mime'
import { newSecret } from '#shared/crypto.ts'
import { withTransaction } from '#shared/db.ts'
import { createLog } from '#shared/log.ts'
import { requestDeadMail, requestLinkMail, requestUnmatchedMail } from '#shared/mail-requests.ts'
import { mailRetryMs, sendMails } from '../../dispatcher/mail.ts'
import { createFileMailer, createSmtpMailer, type Mailer } from '../../dispatcher/mailer.ts'
import { seedTransfer } from '../support/chain-rows.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { TEST_KEYRING } from '../support/door.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { seedDelivery, seedEvent } from '../support/seller.ts'
import { type SmtpReceiver, startSmtpReceiver } from '../support/smtp.ts'
import { until } from '../support/until.ts'
import { dispatch } from './support.ts'

const FROM = 'payments@pay.example'
const PUBLIC_URL = 'https://pay.example'

describe('mail', () => {
  let database: TestDatabase
  let smtp: SmtpReceiver
  let mailer: Mailer
  let lines: string[] = []
  before(
    async () => {
      database = await createTestDatabase()
      smtp = await startSmtpReceiver()
      mailer = createSmtpMailer({ url: smtp.url, from: FROM })
    },
    { timeout: 60_000 },
  )
  after(async () => {
    mailer.close()
    await smtp.close()
    await database.drop()
  })
  beforeEach(async () => {
    smtp.received.length = 0
    lines = []
    await database.db`delete from requests`
  })

  const deps = (over: { mailer?: Mailer } = {}) => ({
    ...{ db: database.db, keyring: TEST_KEYRING, publicUrl: PUBLIC_URL, mailer },
    log: createLog({
      ...{ level: 'debug', format: 'json', name: 'dispatcher' },
      write: (line) => lines.push(line),
    }),
    ...over,
  })
  const send = (over: { mailer?: Mailer } = {}) =>
    sendMails(deps(over), new AbortController().signal)
  const askForLink = async (
    to: string,
    template: 'verify-email' | 'reset-password' = 'verify-email',
    expiresAt = new Date(Date.now() + 60_000),
  ) => {
    const token = newSecret(template === 'verify-email' ? 'verify' : 'reset')
    await withTransaction(database.db, (tx) =>
      requestLinkMail(tx, TEST_KEYRING, { template, to, token, expiresAt }),
    )
    return token
  }
  const skipWait = () => database.db`update requests set next_attempt_at = service_now()`
  const outcomes = async () => {
    const rows = await database.db<{ outcome: string | null }[]>`
      select result ->> 'outcome' as outcome from requests order by request_id`
    return rows.map((row) => row.outcome)
  }

  test('verification: text and HTML with the link, to one recipient, once', async () => {
    const token = await askForLink('ann@example.com')
    await send()
    await skipWait()
    assert.deepEqual(await send(), { rowCount: 0 })
    assert.equal(smtp.received.length, 1)
    const [{ mail, to, from } = assert.fail()] = smtp.received
    assert.deepEqual(to, ['ann@example.com'])
    assert.equal(from, FROM)
    assert.deepEqual(
      mail.to?.map((one) => one.address),
      ['ann@example.com'],
    )
    assert.equal(mail.subject, 'Verify your e-mail address')
    const link = `${PUBLIC_URL}/verify-email?token=${token}`
    assert.ok(mail.text?.includes(link))
    assert.ok(mail.html?.includes(`href="${link}"`))
    assert.equal(header(mail, 'auto-submitted'), 'auto-generated')
    assert.equal(header(mail, 'list-unsubscribe'), undefined)
    assert.deepEqual(await outcomes(), ['sent'])
  })

  test('password reset: the link, and what it does', async () => {
    const token = await askForLink('ann@example.com', 'reset-password')
    await send()
    const { mail } = smtp.received[0] ?? assert.fail()
    assert.ok(mail.text?.includes(`${PUBLIC_URL}/reset-password?token=${token}`))
  })

  test('a link that has ended is not sent', async () => {
    await askForLink('ann@example.com', 'reset-password', new Date(Date.now() - 1))
    await send()
    assert.equal(smtp.received.length, 0)
    assert.deepEqual(await outcomes(), ['skipped'])
  })

  test('nothing in an address becomes a second recipient or a header', async () => {
    const evil = [
      'ann@example.com\r\nBcc: evil@example.com',
      'ann@example.com, evil@example.com',
      'ann@example.com;evil@example.com',
      '<ann@example.com> evil@example.com',
      '"ann" <evil@example.com>',
      'ann@example.com\nSubject: hello',
      'ann @example.com',
      'ann@exämple.com',
    ]
    for (const to of evil) await askForLink(to)
    await send()
    assert.equal(smtp.received.length, 0)
    assert.deepEqual(
      await outcomes(),
      evil.map(() => 'refused'),
    )
  })

  test('a server that says "later", or is away, gets the mail later, and once', async () => {
    await askForLink('ann@example.com')
    smtp.refuse(1, 451)
    await send()
    assert.equal(smtp.received.length, 0)
    assert.deepEqual(await outcomes(), [null])
    const away = createSmtpMailer({ url: 'smtp://127.0.0.1:9', from: FROM })
    await skipWait()
    await send({ mailer: away })
    away.close()
    const [row] = await database.db<{ attemptCount: number; isLater: boolean }[]>`
      select attempt_count, next_attempt_at > service_now() + interval '50 seconds' as is_later from requests`
    assert.deepEqual({ ...row }, { attemptCount: 2, isLater: true })
    await skipWait()
    await send()
    assert.equal(smtp.received.length, 1)
    assert.deepEqual(await outcomes(), ['sent'])
  })

  test('a mailbox that does not exist is asked once', async () => {
    await askForLink('nobody@example.com')
    smtp.refuseRecipients(true)
    await send()
    smtp.refuseRecipients(false)
    assert.deepEqual(await outcomes(), ['refused'])
  })

  test('a sender that the server refuses is the operator’s to mend: its mails wait', async () => {
    await askForLink('ann@example.com')
    smtp.refuseSender(true)
    await send()
    smtp.refuseSender(false)
    assert.deepEqual(await outcomes(), [null])
    await skipWait()
    await send()
    assert.deepEqual(await outcomes(), ['sent'])
  })

  test('pauses double up to an hour', () => {
    assert.deepEqual(
      [1, 2, 3, 7, 8, 50].map(mailRetryMs),
      [30_000, 60_000, 120_000, 1_920_000, 3_600_000, 3_600_000],
    )
  })

  test('a mail that could not be sent for 72 hours is given up', async () => {
    await askForLink('ann@example.com', 'verify-email', new Date(Date.now() + 9e8))
    await database.db`update requests set created_at = service_now() - interval '72 hours'`
    smtp.refuse(1, 451)
    await send()
    assert.deepEqual(await outcomes(), ['given-up'])
  })

  test('several senders at once send each mail once', { timeout: 30_000 }, async () => {
    const addresses = Array.from({ length: 60 }, (_, index) => `buyer${index}@example.com`)
    for (const to of addresses) await askForLink(to)
    for (let round = 0; round < 3; round += 1) await Promise.all([send(), send(), send()])
    assert.deepEqual(smtp.received.flatMap(({ to }) => to).sort(), [...addresses].sort())
  })

  test('a mail in the hands of another sender is left to it, and waited for by nobody', async () => {
    await askForLink('ann@example.com')
    await askForLink('bob@example.com')
    await withTransaction(database.db, async (tx) => {
      await tx`select from requests where body ->> 'to' = 'ann@example.com' for update`
      assert.deepEqual(await send(), { rowCount: 1 })
    })
    assert.deepEqual(
      smtp.received.flatMap(({ to }) => to),
      ['bob@example.com'],
    )
  })

  test('no address, link or token is in the log, and none stays in the row of a sent mail', async () => {
    const token = await askForLink('ann@example.com')
    smtp.refuse(1, 451)
    await send()
    await skipWait()
    await send()
    assert.ok(lines.length > 0)
    for (const line of lines) {
      assert.ok(!line.includes(token) && !line.includes('ann@') && !line.includes('/verify-email'))
    }
    const [row] = await database.db`select body from requests`
    assert.equal(row?.['body'], null)
  })

  test('without SMTP a mail is a file of its owner alone, with its link in a header', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'mail-'))
    try {
      const token = await askForLink('ann@example.com')
      await send({ mailer: createFileMailer({ directory: join(directory, 'mail'), from: FROM }) })
      const names = await readdir(join(directory, 'mail'))
      assert.match(names.join(), /^req_[0-9a-z]+\.eml$/)
      const path = join(directory, 'mail', names[0] ?? '')
      assert.equal((await stat(path)).mode & 0o777, 0o600)
      const mail = await PostalMime.parse(await readFile(path))
      assert.equal(mail.to?.[0]?.address, 'ann@example.com')
      assert.equal(header(mail, 'x-service-link'), `${PUBLIC_URL}/verify-email?token=${token}`)
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  test('a running dispatcher sends what was asked for', { timeout: 20_000 }, async () => {
    const own = createSmtpMailer({ url: smtp.url, from: FROM })
    const dispatcher = dispatch(database, { mailer: own })
    await dispatcher.ready
    await askForLink('ann@example.com')
    await until(() => smtp.received.length === 1, { what: 'the mail to arrive' })
    await dispatcher.stop()
  })

  describe('to sellers', () => {
    let seller: SeededStore
    before(async () => {
      seller = await seedStore(database.db)
    })

    const killDelivery = async () => {
      const event = { ...seller.store, ...seller.account }
      const deliveryId = await seedDelivery(
        database.db,
        await seedEvent(database.db, event),
        'DEAD',
      )
      await withTransaction(database.db, (tx) => requestDeadMail(tx, [deliveryId]))
    }

    test('dead deliveries of a quarter of an hour are one mail', async () => {
      await killDelivery()
      await killDelivery()
      assert.deepEqual(await send(), { rowCount: 0 }, 'it gathers first')
      await skipWait()
      await send()
      const [{ mail, to } = assert.fail(), ...more] = smtp.received
      assert.deepEqual(more, [])
      assert.deepEqual(to, [seller.account.email])
      assert.equal(mail.subject, '[Test] Shop: 2 events were not delivered')
      assert.match(mail.text ?? '', /- pay_[0-9a-z]+:payment\.confirmed/)
      assert.match(mail.text ?? '', /webhook\/replay/)
    })

    test('transfers that match nothing are one mail in five minutes; dust is none', async () => {
      const dust = await seedTransfer(database.db, [seller], { mode: 'test', reason: 'DUST' })
      await withTransaction(database.db, (tx) => requestUnmatchedMail(tx, [dust.transferId]))
      const [count] = await database.db`select count(*)::integer as count from requests`
      assert.equal(count?.['count'], 0)
      for (let index = 0; index < 3; index += 1) {
        const { transferId } = await seedTransfer(database.db, [seller], {
          mode: 'test',
          reason: 'NO_SLOT',
        })
        await withTransaction(database.db, (tx) => requestUnmatchedMail(tx, [transferId]))
      }
      await skipWait()
      await send()
      const [{ mail, to } = assert.fail(), ...more] = smtp.received
      assert.deepEqual(more, [])
      assert.deepEqual(to, [seller.account.email])
      assert.equal(mail.text?.match(/NO_SLOT/g)?.length, 3)
      assert.doesNotMatch(mail.text ?? '', /DUST/)
    })
  })
})

function header(mail: { headers: { key: string; value: string }[] }, name: string) {
  return mail.headers.find(({ key }) => key === name)?.value
}
