import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeMail, watchMails } from '#shared/start/mail-watch.ts'
import { until } from '../support/until.ts'

const MAIL = [
  'From: Stablecoin payments <payments@localhost>',
  'To: ann@example.com',
  'Subject: Verify your e-mail',
  ' address',
  'X-Service-Link: http://127.0.0.1:3000/verify-email?token=verify_1',
  '',
  'Body: X-Service-Link: http://evil.example',
].join('\r\n')

test('a mail is described by recipient, subject and link, from its headers alone', () => {
  assert.equal(
    describeMail(MAIL),
    'mail to ann@example.com: Verify your e-mail address  http://127.0.0.1:3000/verify-email?token=verify_1',
  )
  assert.equal(describeMail('To: a@b\r\nSubject: =?UTF-8?Q?x?=\r\n\r\n'), 'mail to a@b')
})

test('mails that come are shown once, those that were there are not', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'mail-'))
  await writeFile(join(directory, 'old.eml'), MAIL)
  const lines: string[] = []
  const watch = await watchMails(directory, (line) => lines.push(line))
  await writeFile(join(directory, 'new.eml.part'), MAIL)
  await writeFile(join(directory, 'new.eml'), MAIL)
  await until(() => lines.length > 0, { what: 'the new mail to be shown' })
  await watch.stop()
  await watch.ended
  assert.equal(lines.length, 1)
  await rm(directory, { recursive: true })
})
