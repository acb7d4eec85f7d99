import type { BuyerMailBody, LinkMailTemplate, StoreMailBody } from '#shared/mail-requests.ts'
import { centsToDecimal, formatUnits } from '#shared/money.ts'
import type { Interval } from '#shared/subscriptions/events.ts'
import type { Letter } from './mail-letter.ts'
import {
  type BuyerFacts,
  COUNTED_MAX,
  type StoreFacts,
  type WaitingTransfer,
} from './mail-queries.ts'

const OURS = 'Stablecoin payments'
const DAY_MS = 86_400_000
/** Characters of a product's or store's name in a subject. */
const SUBJECT_NAME_MAX = 60

/** To whoever signed up, or forgot a password. */
export function linkLetter(template: LinkMailTemplate, publicUrl: string, token: string): Letter {
  const from = { name: OURS, isTest: false }
  const query = `?token=${encodeURIComponent(token)}`
  switch (template) {
    case 'verify-email':
      return {
        ...{ from, subject: 'Verify your e-mail address', title: 'Verify your e-mail address' },
        paragraphs: ['Open the link and press the button: your live keys can take payments then.'],
        action: { label: 'Verify my address', url: `${publicUrl}/verify-email${query}` },
        footer: 'Somebody signed up with this address. If it was not you, do nothing.',
      }
    case 'reset-password':
      return {
        ...{ from, subject: 'Set a new password', title: 'Set a new password' },
        paragraphs: ['The link is good for an hour, once. Every login ends with the new password.'],
        action: { label: 'Set a new password', url: `${publicUrl}/reset-password${query}` },
        footer:
          'Somebody asked for a new password for this address. If it was not you, do nothing.',
      }
  }
}

/** To a subscription's buyer. */
export function buyerLetter(
  body: BuyerMailBody,
  facts: BuyerFacts,
  { renewUrl, now }: { renewUrl: string; now: Date },
): Letter {
  const { sellerName, productName, branding } = facts
  const shortName = shorten(productName)
  const amount = `$${centsToDecimal(facts.amountCents)}`
  const every = everyText(facts.interval, facts.intervalCount)
  const dueDate = dateText(body.dueAt)
  const isTest = facts.mode === 'test'
  const mark = isTest ? '[Test] ' : ''
  const { color, logoUrl } = branding
  const common = {
    from: {
      ...{ name: sellerName, isTest },
      ...(color === undefined ? {} : { color }),
      ...(logoUrl === undefined ? {} : { logoUrl }),
    },
    footer: `You get this mail because you subscribed to ${productName} at ${sellerName}.`,
    end: { label: 'End the subscription and these mails', url: renewUrl },
  }
  const pay = { label: `Pay ${amount}`, url: renewUrl }
  switch (body.template) {
    case 'subscription-opened':
      return {
        ...common,
        subject: `${mark}Your subscription to ${shortName}`,
        title: 'Your subscription has begun',
        paragraphs: [
          `${productName}: ${amount} ${every}. The next payment is due on ${dueDate}.`,
          'Nothing is ever taken by itself: we write before each due date, and you pay or not. The link below pays early, or cancels.',
        ],
        action: { label: 'Manage the subscription', url: renewUrl },
      }
    case 'subscription-reminder': {
      const days = daysText(daysLeft(body, facts, now))
      return {
        ...common,
        subject: `${mark}${shortName}: ${amount} due ${days}`,
        title: `${amount} is due ${days}`,
        paragraphs: [`To keep ${productName}, pay ${amount} by ${dueDate}.`],
        action: pay,
      }
    }
    case 'subscription-past-due':
      return {
        ...common,
        subject: `${mark}${shortName}: payment of ${amount} is past due`,
        title: 'Your payment is past due',
        paragraphs: [
          `${amount} for ${productName} was due on ${dueDate}. Pay it soon, and the subscription goes on as if nothing had happened.`,
        ],
        action: pay,
      }
    case 'subscription-expired':
      return {
        from: common.from,
        subject: `${mark}Your subscription to ${shortName} has ended`,
        title: 'Your subscription has ended',
        paragraphs: [
          `${amount} for ${productName} was due on ${dueDate} and was not paid. To have it again, subscribe anew at ${sellerName}.`,
        ],
        footer: `You get this mail because you had subscribed to ${productName} at ${sellerName}. It is the last one.`,
      }
  }
}

/** To a seller whose endpoint did not take events for 72 hours. */
export function deadLetter(
  { mode, storeId }: StoreMailBody,
  { storeName }: StoreFacts,
  dead: { count: number; eventIds: readonly string[] },
): Letter {
  const count = dead.count > COUNTED_MAX ? `more than ${COUNTED_MAX}` : String(dead.count)
  const events = dead.count === 1 ? 'event was' : 'events were'
  return {
    from: { name: OURS, isTest: mode === 'test' },
    subject: `${mode === 'test' ? '[Test] ' : ''}${shorten(storeName)}: ${count} ${events} not delivered`,
    title: `${count} ${events} given up`,
    paragraphs: [
      `The webhook endpoint of ${storeName} did not take them for 72 hours. They are lost to it unless you send them again: when the endpoint answers, call POST /v1/stores/${storeId}/webhook/replay with the time they are from, or read GET /v1/stores/${storeId}/events.`,
    ],
    facts: dead.eventIds,
    footer: `You get this mail because ${storeName} is a store of your account.`,
  }
}

/** To a seller in whose inbox transfers wait that belong to no payment. */
export function unmatchedLetter(
  { mode, storeId }: StoreMailBody,
  { storeName }: StoreFacts,
  waiting: readonly WaitingTransfer[],
): Letter {
  return {
    from: { name: OURS, isTest: mode === 'test' },
    subject: `${mode === 'test' ? '[Test] ' : ''}${shorten(storeName)}: money arrived that matches no payment`,
    title: 'Money arrived that matches no payment',
    paragraphs: [
      `It is in your wallet; which payment it was meant for is for you to say. Attach it to a payment, or note what you did about it: GET /v1/stores/${storeId}/transfers?state=UNMATCHED lists what waits.`,
    ],
    facts: waiting.map(
      ({ amountBaseUnits, decimals, token, network, reason, txHash }) =>
        `${formatUnits(amountBaseUnits, decimals)} ${token.toUpperCase()} on ${network}: ${reason}, ${txHash}`,
    ),
    footer: `You get this mail because ${storeName} is a store of your account.`,
  }
}

/** Whether a buyer's mail still says what is so; one that waited long for its server may not. */
export function isStillSo(body: BuyerMailBody, facts: BuyerFacts, now: Date): boolean {
  // Who canceled was promised that nobody writes again; and a seller who was suspended or banned writes to nobody.
  if (facts.status === 'CANCELED' || !facts.isAccountActive) return false
  // A clock moved on request tells each thing at its time, however far it went on since.
  if (facts.isOwnClock) return true
  const isSameDue = facts.nextDueAt?.toISOString() === body.dueAt
  switch (body.template) {
    case 'subscription-opened':
      return facts.status === 'ACTIVE'
    case 'subscription-reminder':
      return (
        facts.status === 'ACTIVE' &&
        isSameDue &&
        now.getTime() < Date.parse(body.dueAt) &&
        !isOvertaken(body, facts, now)
      )
    case 'subscription-past-due':
      return facts.status === 'PAST_DUE' && isSameDue
    case 'subscription-expired':
      return true
  }
}

/** Whether a later reminder has fallen due meanwhile: of several that waited the latest is told. */
function isOvertaken(body: BuyerMailBody, { reminderDays }: BuyerFacts, now: Date): boolean {
  const msLeft = Date.parse(body.dueAt) - now.getTime()
  return reminderDays.some((days) => days < (body.daysUntilDue ?? 0) && msLeft <= days * DAY_MS)
}

/** The whole days that are really left, also when the mail waited; on a clock of its own those of its time. */
function daysLeft(body: BuyerMailBody, { isOwnClock }: BuyerFacts, now: Date): number {
  if (isOwnClock) return body.daysUntilDue ?? 0
  return Math.ceil((Date.parse(body.dueAt) - now.getTime()) / DAY_MS)
}

/** A name that leaves a subject room for what it says. */
function shorten(name: string): string {
  const characters = [...name]
  return characters.length <= SUBJECT_NAME_MAX
    ? name
    : `${characters.slice(0, SUBJECT_NAME_MAX - 1).join('')}…`
}

function everyText(interval: Interval, count: number): string {
  const unit = interval.toLowerCase()
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`
}

function daysText(days: number): string {
  if (days <= 0) return 'today'
  return days === 1 ? 'tomorrow' : `in ${days} days`
}

const MONTHS =
  'January February March April May June July August September October November December'.split(' ')

/** `31 January 2027 (UTC)`, without asking anybody's locale. */
function dateText(iso: string): string {
  const date = new Date(Math.floor(Date.parse(iso) / DAY_MS) * DAY_MS)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()} (UTC)`
}
