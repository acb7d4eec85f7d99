import type { Db } from '#shared/db.ts'
import { MAIL_KIND, type MailBody } from '#shared/mail-requests.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Branding } from '#shared/payments/row.ts'
import type { SubscriptionRow } from '#shared/subscriptions/row.ts'

/** A mail that was asked for and is in hand now. */
export type MailRequest = {
  requestId: string
  subject: string
  body: MailBody
  /** This attempt included. */
  attemptCount: number
  createdAt: Date
  now: Date
}

/** Takes mails that are due; until `leaseMs` have passed nobody else does. */
export async function takeMails(
  db: Db,
  { countMax, leaseMs }: { countMax: number; leaseMs: number },
): Promise<MailRequest[]> {
  return db`
    update requests r set
      attempt_count = r.attempt_count + 1,
      next_attempt_at = service_now() + make_interval(secs => ${leaseMs / 1000})
    from (
      select request_id
      from requests
      where kind = ${MAIL_KIND} and done_at is null and next_attempt_at <= service_now()
      order by next_attempt_at
      limit ${countMax}
      for update skip locked
    ) due
    where r.request_id = due.request_id
    returning r.request_id, r.subject, r.body, r.attempt_count, r.created_at, service_now() as now`
}

/** What became of a mail that is tried no more. */
export type MailOutcome = 'sent' | 'skipped' | 'refused' | 'given-up'

/** Closes a request. Its body goes: it names people and holds their links. */
export async function closeMail(db: Db, requestId: string, outcome: MailOutcome): Promise<void> {
  await db`
    update requests set done_at = service_now(), body = null, result = ${db.json({ outcome })}
    where request_id = ${requestId} and done_at is null`
}

/** Gives a mail back, to be tried again after a while. */
export async function deferMail(db: Db, requestId: string, delayMs: number): Promise<void> {
  await db`
    update requests set next_attempt_at = service_now() + make_interval(secs => ${delayMs / 1000})
    where request_id = ${requestId} and done_at is null`
}

/** A subscription with what its buyer is told. */
export type BuyerFacts = Omit<SubscriptionRow, 'originHost'> & {
  /** A test subscription that was moved through time: its mails tell the past. */
  isOwnClock: boolean
  sellerName: string
  branding: Branding
  reminderDays: number[]
  isAccountActive: boolean
  productName: string
}

export async function readBuyerFacts(db: Db, id: string): Promise<BuyerFacts | undefined> {
  const rows = await db<BuyerFacts[]>`
    select s.*, s.clock_offset <> '0' as is_own_clock,
      coalesce(t.branding ->> 'displayName', a.seller_name, t.name) as seller_name, t.branding, t.reminder_days,
      a.status = 'ACTIVE' as is_account_active,
      p.name as product_name
    from subscriptions s
    join stores t on t.store_id = s.store_id
    join accounts a on a.account_id = s.account_id
    join prices r on r.price_id = s.price_id
    join products p on p.product_id = r.product_id
    where s.subscription_id = ${id}`
  return rows[0]
}

/** Seconds of a day, in which an account's mails of test mode are counted. */
const TEST_MAIL_WINDOW_S = 86_400

/** Counts one mail to a buyer of an account's test mode; answers how many there were within a day, this one included. */
export async function countTestMail(db: Db, accountId: string): Promise<number> {
  const rows = await db<{ requestCount: number }[]>`
    select request_count from count_request(${`test-mail:${accountId}`}, ${TEST_MAIL_WINDOW_S})`
  return rows[0]?.requestCount ?? 0
}

/** A store and the address of whoever runs it. */
export type StoreFacts = { storeName: string; to: string }

export async function readStoreFacts(db: Db, storeId: string): Promise<StoreFacts | undefined> {
  const rows = await db<StoreFacts[]>`
    select s.name as store_name, a.email as to
    from stores s
    join accounts a on a.account_id = s.account_id
    where s.store_id = ${storeId}`
  return rows[0]
}

/** A stretch of time of a store and mode. */
export type Stretch = { storeId: string; mode: Mode; from: string; until: string }

/** Deliveries counted at most for a mail; beyond it "more than" is said. */
export const COUNTED_MAX = 1_000

/** Deliveries that died in the stretch, counted up to {@link COUNTED_MAX} and one, and some of their events. */
export async function readDead(
  db: Db,
  { storeId, mode, from, until }: Stretch,
  sampleCountMax: number,
): Promise<{ count: number; eventIds: string[] }> {
  const [row] = await db<{ count: number; eventIds: string[] }[]>`
    with dead as (
      select event_id
      from deliveries
      where store_id = ${storeId} and mode = ${mode} and dead_at >= ${from}::timestamptz
        and dead_at < ${until}::timestamptz
      order by delivery_id desc
      limit ${COUNTED_MAX + 1}
    )
    select (select count(*)::integer from dead) as count,
      array(select event_id from dead limit ${sampleCountMax}) as event_ids`
  return row ?? { count: 0, eventIds: [] }
}

/** A transfer that waits for the seller. */
export type WaitingTransfer = {
  network: string
  token: string
  decimals: number
  amountBaseUnits: bigint
  reason: string
  txHash: string
}

/** The newest transfers that wait in a store's inbox, dust left out. */
export async function readWaiting(
  db: Db,
  { storeId, mode }: Stretch,
  countMax: number,
): Promise<WaitingTransfer[]> {
  return db`
    select t.network, t.token, t.decimals, t.amount_base_units, t.reason, t.tx_hash
    from inbox i
    join transfers t on t.transfer_id = i.transfer_id
    where i.store_id = ${storeId} and i.mode = ${mode} and i.state = 'UNMATCHED' and t.state = 'UNMATCHED'
      and t.reason <> 'DUST'
    order by i.transfer_id desc
    limit ${countMax}`
}
