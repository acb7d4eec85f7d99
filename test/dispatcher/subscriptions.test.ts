import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '#shared/ids.ts'
import { createLog, silentLog } from '#shared/log.ts'
import { newRenewToken } from '#shared/subscriptions/renew-token.ts'
import { sendMails, TEST_MAILS_PER_DAY_MAX } from '../../dispatcher/mail.ts'
import { createSmtpMailer, type Mailer } from '../../dispatcher/mailer.ts'
import { REMIND_BATCH_MAX, remindSubscriptions } from '../../dispatcher/remind.ts'
import { createTestDatabase, type TestDatabase, travel } from '../support/database.ts'
import { TEST_DOOR, TEST_KEYRING } from '../support/door.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import { type SmtpReceiver, startSmtpReceiver } from '../support/smtp.ts'

type Options = {
  /** SQL intervals from now. */
  dueIn: string
  actionIn: string
  status?: 'ACTIVE' | 'PAST_DUE'
  clockOffset?: string
  seller?: SeededStore
}

describe('what falls due in subscriptions', () => {
  let database: TestDatabase
  let seller: SeededStore
  let smtp: SmtpReceiver
  let mailer: Mailer
  before(
    async () => {
      database = await createTestDatabase()
      const branding = { displayName: 'Müller & <Söhne>', color: '#aa3300' }
      seller = await seedStore(database.db, { price: { interval: 'MONTH' }, branding })
      smtp = await startSmtpReceiver()
      mailer = createSmtpMailer({ url: smtp.url, from: 'payments@pay.example' })
    },
    { timeout: 60_000 },
  )
  after(async () => {
    mailer.close()
    await smtp.close()
    await database.drop()
  })

  const deps = () => ({ db: database.db, door: TEST_DOOR, log: silentLog })
  const run = () => remindSubscriptions(deps())
  const subscription = async (options: Options): Promise<string> => {
    const { dueIn, actionIn, status = 'ACTIVE', clockOffset = '0', seller: of = seller } = options
    const id = newId('sub')
    const token = newRenewToken(TEST_KEYRING, id)
    await database.db`
      insert into subscriptions (subscription_id, store_id, account_id, mode, price_id, status, network, token,
        amount_cents, interval, interval_count, buyer_email, metadata, renew_token_hash, renew_token_ciphertext,
        anchor_at, period_count, next_due_at, next_action_at, clock_offset)
      values (${id}, ${of.store.storeId}, ${of.account.accountId}, 'test', ${of.price.priceId}, ${status}, 'base',
        'usdc', 1050, 'MONTH', 1, 'ann@example.com', ${database.db.json({ plan: 'gold' })}, ${token.hash},
        ${token.ciphertext}, service_now(), 1, date_trunc('milliseconds', service_now() + ${dueIn}::interval),
        date_trunc('milliseconds', service_now() + ${actionIn}::interval), ${clockOffset}::interval)`
    return id
  }
  const told = async (id: string) => {
    const rows = await database.db<{ eventId: string; body: string }[]>`
      select event_id, body from events where subscription_id = ${id} order by order_key`
    return rows.map(({ eventId, body }) => {
      const { data } = JSON.parse(body)
      const [, type = '', , days = ''] = eventId.split(':')
      assert.equal(String(data.daysUntilDue ?? ''), days)
      return `${type}${days}`
    })
  }
  const row = async (id: string) => {
    const [found] = await database.db<{ status: string; wait: string | null }[]>`
      select status, (extract(epoch from next_action_at - service_now()) / 86400)::numeric(9, 2)::text as wait
      from subscriptions where subscription_id = ${id}`
    return found
  }
  const mails = async () => {
    smtp.received.length = 0
    const { publicUrl } = TEST_DOOR.subscriptions
    const mailDeps = { ...deps(), keyring: TEST_KEYRING, publicUrl, mailer }
    while ((await sendMails(mailDeps, new AbortController().signal)).rowCount > 0);
    return smtp.received.map(({ mail }) => mail)
  }

  test('a reminder on its day: the event with daysUntilDue, a mail with the renew link, then the next one', async () => {
    const id = await subscription({ dueIn: '7 days', actionIn: '-1 second' })
    assert.deepEqual(await run(), { rowCount: 1 })
    assert.deepEqual(await told(id), ['subscription.reminder7'])
    assert.deepEqual({ ...(await row(id)) }, { status: 'ACTIVE', wait: '4.00' })
    const [mail, ...more] = await mails()
    assert.deepEqual(more, [])
    const [event] = await database.db<{ body: string }[]>`
      select body from events where subscription_id = ${id}`
    const { renewUrl } = JSON.parse(event?.body ?? '').data
    assert.match(renewUrl, /^https:\/\/pay\.example\/renew\/renew_[0-9a-f]{64}$/)
    assert.equal(mail?.subject, '[Test] Thing: $10.50 due in 7 days')
    assert.equal(mail?.from?.name, 'Müller & <Söhne>')
    assert.ok(mail?.text?.includes(renewUrl))
    assert.ok(mail?.html?.includes(`href="${renewUrl}"`))
    assert.ok(mail?.html?.includes('Müller &amp; &lt;Söhne&gt;') && mail.html.includes('#aa3300'))
    const unsubscribe = mail?.headers.find(({ key }) => key === 'list-unsubscribe')?.value
    assert.equal(unsubscribe, `<${renewUrl}>`)
    assert.deepEqual(await run(), { rowCount: 0 })
  })

  test('after downtime the latest missed reminder alone is told, with the days that are left', async () => {
    const id = await subscription({ dueIn: '12 hours', actionIn: '-156 hours' })
    await run()
    assert.deepEqual(await told(id), ['subscription.reminder1'])
    const [mail, ...more] = await mails()
    assert.deepEqual(more, [])
    assert.equal(mail?.subject, '[Test] Thing: $10.50 due tomorrow')
    assert.equal((await row(id))?.wait, '0.50')
  })

  test('after downtime beyond the due date no reminder is told, but what is so: past due', async () => {
    const id = await subscription({ dueIn: '-1 hour', actionIn: '-7 days' })
    await run()
    assert.deepEqual(await told(id), ['subscription.past_due'])
    assert.equal((await row(id))?.status, 'PAST_DUE')
    const [mail] = await mails()
    assert.equal(mail?.subject, '[Test] Thing: payment of $10.50 is past due')
  })

  test('after downtime beyond grace both ends are told, in order, and the buyer hears the last', async () => {
    const id = await subscription({ dueIn: '-8 days', actionIn: '-8 days' })
    await run()
    assert.deepEqual(await told(id), ['subscription.past_due', 'subscription.expired'])
    assert.deepEqual({ ...(await row(id)) }, { status: 'EXPIRED', wait: null })
    assert.deepEqual(
      (await mails()).map(({ subject }) => subject),
      ['[Test] Your subscription to Thing has ended'],
    )
  })

  test('the store’s own reminder and grace days count, also when changed meanwhile', async () => {
    const own = await seedStore(database.db, { price: { interval: 'MONTH' } })
    await database.db`
      update stores set reminder_days = '{2}', grace_days = 1 where store_id = ${own.store.storeId}`
    const id = await subscription({ dueIn: '7 days', actionIn: '0', seller: own })
    await run()
    assert.deepEqual(await told(id), [])
    assert.equal((await row(id))?.wait, '5.00')
    const late = await subscription({
      dueIn: '-30 hours',
      actionIn: '-6 hours',
      status: 'PAST_DUE',
      seller: own,
    })
    await run()
    assert.deepEqual(await told(late), ['subscription.expired'])
  })

  test('a test subscription’s own clock decides for it alone', async () => {
    const ahead = await subscription({
      dueIn: '107 days',
      actionIn: '0',
      clockOffset: '2400 hours',
    })
    const behind = await subscription({ dueIn: '107 days', actionIn: '100 days' })
    await run()
    assert.deepEqual(await told(ahead), ['subscription.reminder7'])
    assert.deepEqual(await told(behind), [])
    await mails()
  })

  test('a reminder that waited for its mail server is dropped once it is untrue', async () => {
    const id = await subscription({ dueIn: '7 days', actionIn: '0' })
    await run()
    await database.db`update subscriptions set status = 'CANCELED' where subscription_id = ${id}`
    assert.deepEqual(await mails(), [])
    await database.db`update subscriptions set next_action_at = null where subscription_id = ${id}`
  })

  test('test mode writes to so many buyers a day, then to none until the next', async () => {
    const many = await seedStore(database.db, { price: { interval: 'MONTH' } })
    const remind = async () => {
      await subscription({ dueIn: '7 days', actionIn: '0', seller: many })
      await run()
      return (await mails()).length
    }
    assert.equal(await remind(), 1)
    smtp.refuse(1, 451)
    assert.equal(await remind(), 0)
    await database.db`update requests set next_attempt_at = service_now() where done_at is null`
    assert.equal((await mails()).length, 1)
    const [row] = await database.db`
      select request_count from rate_windows
      where rate_key = ${`test-mail:${many.account.accountId}`}`
    assert.equal(row?.['requestCount'], 2, 'one that is tried twice counts once')
    await database.db`
      update rate_windows set request_count = ${TEST_MAILS_PER_DAY_MAX - 1}
      where rate_key = ${`test-mail:${many.account.accountId}`}`
    assert.equal(await remind(), 1)
    assert.equal(await remind(), 0)
    await database.db`update rate_windows set started_at = started_at - interval '25 hours'`
    assert.equal(await remind(), 1)
  })

  test('one that cannot be moved is logged and put off, and holds up nobody', async () => {
    const broken = await subscription({ dueIn: '7 days', actionIn: '-1 hour' })
    await database.db.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$;
      create trigger refuse before insert on events for each row
      when (new.subscription_id = '${broken}') execute function refuse();`)
    const fine = await subscription({ dueIn: '7 days', actionIn: '0' })
    const lines: string[] = []
    const log = createLog({
      ...{ level: 'error', format: 'json', name: 'dispatcher' },
      write: (line) => lines.push(line),
    })
    assert.deepEqual(await remindSubscriptions({ ...deps(), log }), { rowCount: 2 })
    assert.deepEqual(await told(fine), ['subscription.reminder7'])
    assert.deepEqual(await told(broken), [])
    assert.equal(lines.length, 1)
    assert.deepEqual(await run(), { rowCount: 0 })
    await mails()
  })

  test('several dispatchers at once tell each thing once, in bounded batches', {
    timeout: 60_000,
  }, async () => {
    const ids: string[] = []
    for (let index = 0; index < 130; index += 1) {
      ids.push(await subscription({ dueIn: '7 days', actionIn: '0' }))
    }
    let count = 0
    for (let round = 0; round < 5; round += 1) {
      const rounds = await Promise.all([run(), run(), run()])
      assert.ok(rounds.every(({ rowCount }) => rowCount <= REMIND_BATCH_MAX))
      count += rounds.reduce((sum, { rowCount }) => sum + rowCount, 0)
    }
    assert.equal(count, 130)
    const [counts] = await database.db<{ events: number; mails: number }[]>`
      select (select count(*)::integer from events where subscription_id = any (${ids})) as events,
        (select count(*)::integer from requests where body ->> 'subscriptionId' = any (${ids})) as mails`
    assert.deepEqual({ ...counts }, { events: 130, mails: 130 })
  })

  test('a name that fills a line leaves the subject room for what is due', async () => {
    await mails()
    const own = await seedStore(database.db, { price: { interval: 'MONTH' } })
    await database.db`
      update products set name = ${`${'Tea '.repeat(40)}!`} where store_id = ${own.store.storeId}`
    await subscription({ dueIn: '7 days', actionIn: '0', seller: own })
    await run()
    const [mail] = await mails()
    const subject = mail?.subject ?? ''
    assert.match(subject, /^\[Test\] Tea Tea .*…: \$10\.50 due in 7 days$/)
    assert.ok(subject.length < 100)
    assert.ok(mail?.text?.includes(`${'Tea '.repeat(40)}!`))
  })

  test('of reminders that waited for their mail server the latest is mailed, with the days that are left', {
    timeout: 30_000,
  }, async () => {
    await mails()
    await database.db`update subscriptions set next_action_at = null`
    const early = await subscription({ dueIn: '7 days', actionIn: '0' })
    const late = await subscription({ dueIn: '12 days', actionIn: '5 days' })
    await run()
    await travel(database, '5 days')
    await run()
    assert.deepEqual(await told(early), ['subscription.reminder7', 'subscription.reminder2'])
    assert.deepEqual(await told(late), ['subscription.reminder7'])
    await travel(database, '8 days')
    assert.deepEqual(
      (await mails()).map(({ subject }) => subject),
      ['[Test] Thing: $10.50 due in 4 days'],
    )
  })
})
