import { Buffer } from 'node:buffer'
import { decrypt, encrypt, type Keyring, sha256Hex } from '#shared/crypto.ts'
import type { Db, Tx } from '#shared/db.ts'
import type { SubscriptionEventType } from '#shared/events.ts'
import { newId } from '#shared/ids.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { REQUESTS_CHANNEL } from '#shared/requests.ts'
import type { SubscriptionFacts } from '#shared/subscriptions/events.ts'

/** `requests.kind` of a mail. */
export const MAIL_KIND = 'mail'

/** The mails that carry a link with a token. */
export const LINK_MAIL_TEMPLATES = ['verify-email', 'reset-password'] as const
export type LinkMailTemplate = (typeof LINK_MAIL_TEMPLATES)[number]

/** The mails to a subscription's buyer. */
export const BUYER_MAIL_TEMPLATES = [
  'subscription-opened',
  'subscription-reminder',
  'subscription-past-due',
  'subscription-expired',
] as const
export type BuyerMailTemplate = (typeof BUYER_MAIL_TEMPLATES)[number]

/** The mails to a seller about what happened in a store; each gathers what happened in a stretch of time. */
export const STORE_MAIL_TEMPLATES = ['webhook-dead', 'unmatched-transfer'] as const
export type StoreMailTemplate = (typeof STORE_MAIL_TEMPLATES)[number]

/** `requests.body` of a mail that carries a link with a token. */
export type LinkMailBody = {
  template: LinkMailTemplate
  /** One strict address. */
  to: string
  /** The token, sealed; base64. Open it with {@link openMailToken}. */
  tokenCiphertext: string
  /** When the link ends: ISO 8601. A mail not sent by then is not worth sending. */
  expiresAt: string
}

/** `requests.body` of a mail to a subscription's buyer. */
export type BuyerMailBody = {
  template: BuyerMailTemplate
  subscriptionId: string
  /** The due date it tells, ISO 8601. */
  dueAt: string
  daysUntilDue?: number
}

/** `requests.body` of a mail about a store: what happened from one time (inclusive) to the other, ISO 8601. */
export type StoreMailBody = {
  template: StoreMailTemplate
  storeId: string
  mode: Mode
  from: string
  until: string
}

export type MailBody = LinkMailBody | BuyerMailBody | StoreMailBody

/**
 * The events that buyers get a mail about. The first one goes out with the first credited payment, not when a checkout
 * opens the subscription: anybody can call that, with anybody's address.
 */
const BUYER_MAILS: { readonly [T in SubscriptionEventType]?: BuyerMailTemplate } = {
  'subscription.activated': 'subscription-opened',
  'subscription.reminder': 'subscription-reminder',
  'subscription.past_due': 'subscription-past-due',
  'subscription.expired': 'subscription-expired',
}

/** Seconds of which a store's troubles go into one mail: nobody is written to more often about one kind of them. */
const GATHER_S: Record<StoreMailTemplate, number> = {
  'webhook-dead': 900,
  'unmatched-transfer': 300,
}
/** Seconds after that stretch until its mail is made: transactions that began in it have ended by then. */
const SETTLE_S = 10

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

/** An event of a subscription as its buyer may be written about it. */
export type SubscriptionNews = {
  subscription: SubscriptionFacts
  type: SubscriptionEventType
  eventId: string
  daysUntilDue?: number
}

/**
 * Asks the dispatcher to write to the buyers of subscriptions about events, in the transaction of the events, once for
 * each. Without a buyer's address, or of an event that buyers are not written about, nothing is asked.
 */
export async function requestSubscriptionMails(
  tx: Tx,
  news: readonly SubscriptionNews[],
): Promise<void> {
  const rows = news.flatMap(({ subscription, type, eventId, daysUntilDue }) => {
    const { subscriptionId, buyerEmail, nextDueAt } = subscription
    const template = BUYER_MAILS[type]
    if (template === undefined || buyerEmail === null || nextDueAt === null) return []
    const body: BuyerMailBody = {
      ...{ template, subscriptionId, dueAt: nextDueAt.toISOString() },
      ...(daysUntilDue === undefined ? {} : { daysUntilDue }),
    }
    return [{ request_id: newId('req'), subject: `${template}:${eventId}`, body }]
  })
  if (rows.length === 0) return
  await tx`
    insert into requests (request_id, kind, subject, body)
    select request_id, ${MAIL_KIND}, subject, body
    from jsonb_populate_recordset(null::requests, ${tx.json(rows)})
    order by subject
    on conflict do nothing`
}

/** Asks for a mail to the sellers of those of these deliveries that are dead. */
export async function requestDeadMail(tx: Tx, deliveryIds: readonly string[]): Promise<void> {
  if (deliveryIds.length === 0) return
  const stores = await tx<StoreAndMode[]>`
    select distinct store_id, mode
    from deliveries
    where delivery_id = any (${[...deliveryIds]}) and status = 'DEAD'`
  await requestStoreMails(tx, 'webhook-dead', stores)
}

/**
 * Asks for a mail to the sellers in whose inbox these transfers wait. Dust is listed, and not worth a mail: strangers send
 * it to every address.
 */
export async function requestUnmatchedMail(tx: Tx, transferIds: readonly string[]): Promise<void> {
  if (transferIds.length === 0) return
  const stores = await tx<StoreAndMode[]>`
    select distinct i.store_id, i.mode
    from inbox i
    join transfers t on t.transfer_id = i.transfer_id
    where i.transfer_id = any (${[...transferIds]}) and i.state = 'UNMATCHED' and t.reason <> 'DUST'`
  await requestStoreMails(tx, 'unmatched-transfer', stores)
}

type StoreAndMode = { storeId: string; mode: Mode }

async function requestStoreMails(
  tx: Tx,
  template: StoreMailTemplate,
  stores: readonly StoreAndMode[],
): Promise<void> {
  if (stores.length === 0) return
  await tx`
    insert into requests (request_id, kind, subject, body, next_attempt_at)
    select s.request_id, ${MAIL_KIND}, concat_ws(':', ${template}::text, s.store_id, s.mode, g.until_s),
      jsonb_build_object(
        'template', ${template}::text, 'storeId', s.store_id, 'mode', s.mode,
        'from', to_timestamp(g.until_s - ${GATHER_S[template]}::integer), 'until', to_timestamp(g.until_s)
      ),
      to_timestamp(g.until_s + ${SETTLE_S}::integer)
    from unnest(
      ${stores.map(() => newId('req'))}::text[],
      ${stores.map((store) => store.storeId)}::text[],
      ${stores.map((store) => store.mode)}::text[]
    ) s (request_id, store_id, mode)
    cross join (
      select (floor(extract(epoch from service_now()) / ${GATHER_S[template]}::integer) + 1)::bigint
        * ${GATHER_S[template]}::integer as until_s
    ) g
    order by s.store_id, s.mode
    on conflict do nothing`
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
