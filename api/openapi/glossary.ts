import type { JsonObject } from './schema.ts'

/**
 * What each field means and how it looks. A name means one thing wherever it stands, so that it is explained once; what
 * a schema says of its own field is said besides. An absent example is made from the schema.
 */
export const FIELDS: Readonly<Record<string, readonly [meaning: string, example?: unknown]>> = {
  account: ['The seller’s account.'],
  accountId: ['The account’s id.', 'acct_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  active: ['Whether it can be bought; false is archived.', true],
  address: ['An address on the network.', '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'],
  after: ['A sequence: what came after it, oldest first.', 41],
  amount: ['US dollars as a decimal text; stablecoins count one to one.', '10.50'],
  amountBaseUnits: ['The exact integer on-chain amount, in base units of the token.', '10501234'],
  amountCents: ['US cents.', 1050],
  apiVersion: ['The payload schema’s version.', '2026-07-02'],
  at: ['When it happened.', '2026-07-02T15:04:05.000Z'],
  attemptCount: ['POSTs made so far.', 1],
  attempts: ['Every POST made, oldest first.'],
  blockNumber: ['Height of the block; 0 when simulated.', 35_112_907],
  blocksBehind: ['Blocks between the chain’s head and the last one read; null when unknown.', 0],
  branding: ['How the seller is shown; empty when unset.'],
  buyerEmail: ['The buyer’s mail address.', 'buyer@example.com'],
  cancelUrl: ['Where a buyer who gives up is sent.', 'https://shop.example/cart'],
  candidates: ['Payments that a transfer may have been meant for.', []],
  capUsd: ['The plan’s monthly ceiling, in US dollars.', '2000.00'],
  checkoutUrl: [
    'The hosted payment page.',
    'https://pay.example/pay/pay_01k2m4x8y0q3z5w7v9t1r6p8n2',
  ],
  claimedAt: ['When the slot was claimed.', '2026-07-02T15:04:05.000Z'],
  clock: [
    'Whose time closes the window: the chain’s, or this service’s where no chain is followed.',
  ],
  code: ['What went wrong, for programs.', 'no_wallet'],
  color: ['Accent colour, #rrggbb.', '#1a2b3c'],
  confirmations: [
    'Blocks on top of the transfer’s, its own counted (head − block + 1); on a network, how many it takes.',
    3,
  ],
  confirmationsRequired: ['Confirmations at which the payment settles.', 12],
  contract: [
    'The token’s contract, or mint on Solana.',
    '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  ],
  createdAt: ['When it was made.', '2026-07-02T15:04:05.000Z'],
  createdFrom: ['Payments made at this time or later.', '2026-07-01T00:00:00Z'],
  createdTo: ['Payments made at this time or earlier.', '2026-07-31T23:59:59Z'],
  currency: ['The currency of amounts.', 'usd'],
  cursor: ['The `nextCursor` of the page before; good for the same filters only.'],
  data: ['The items of the page, or what the event tells.'],
  daysUntilDue: ['Whole days until `nextDueAt`.', 3],
  decimals: ['Decimals of the token: what `amountBaseUnits` is to be read with.', 6],
  deliveredAt: ['When the endpoint answered with 2xx.', '2026-07-02T15:04:06.000Z'],
  deployment: ['A network in a mode.', 'base:test'],
  deliveries: ['Deliveries of the payment’s events.'],
  deliveryId: ['The delivery’s id.', 'dlv_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  description: ['A text for people.', 'Roasted in small batches'],
  detectedAt: ['When the first transfer was seen.', '2026-07-02T15:05:11.000Z'],
  displayName: ['The seller’s name as buyers see it.', 'Bean & Leaf'],
  durationMs: ['Milliseconds until the answer was read, or until it was given up.', 87],
  email: ['One mail address.', 'seller@example.com'],
  emailVerified: ['Whether the address was verified: live publishable keys need it.', true],
  endedAt: ['When it ended.', '2026-07-02T16:04:05.000Z'],
  error: ['What went wrong.', null],
  eventId: [
    'The event’s id, the same on every attempt.',
    'pay_01k2m4x8y0q3z5w7v9t1r6p8n2:payment.confirmed',
  ],
  eventType: ['The event’s type.', 'payment.confirmed'],
  expectedAmount: ['What was due, in exact token decimals, tail included.', '10.501234'],
  expiresAt: ['When it ends.', '2026-07-02T16:04:05.000Z'],
  expiresInMinutes: ['Minutes until the session expires; default 1,440.', 1440],
  explanation: ['The same in a sentence.', 'The window closed with nothing received.'],
  family: ['How the chain behaves.', 'evm'],
  firstConfirmedAt: ['When its first live payment was confirmed; null when none was.', null],
  from: ['Where it begins: a time, a sender’s address, or a status.', '2026-07-01T00:00:00Z'],
  graceDays: ['Days a subscription stays PAST_DUE before it expires.', 7],
  guessOnSharedAddress: [
    'Whether a transfer of an inexact amount may be matched when only one payment fits.',
    true,
  ],
  hasMore: ['Whether there is another page.', false],
  headNumber: ['Height of the chain’s head as last seen; null when unknown.', 35_112_910],
  host: ['A web host.', 'shop.example'],
  id: [
    'The event’s id, the same on every attempt: deduplicate by it.',
    'pay_01k2m4x8y0q3z5w7v9t1r6p8n2:payment.confirmed',
  ],
  imageUrl: ['A picture.', 'https://shop.example/beans.png'],
  interval: ['The unit of a period.', 'MONTH'],
  intervalCount: ['Intervals in a period.', 1],
  isExclusive: ['Whether the address is this payment’s alone.', false],
  isFinal: ['Whether it counts for good.', true],
  isHeld: ['Whether it is held.', false],
  isOn: ['Whether it is followed; a test network that is off settles by simulate.', true],
  isReused: ['Whether the slot was taken over.', false],
  key: [
    'The API key: in plain when it was just made or is publishable, masked otherwise.',
    'sk_test_…1a2b',
  ],
  keyId: ['The key’s id; not the key.', 'key_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  keys: ['API keys.'],
  kind: ['Secret keys are for servers, publishable ones for web pages.', 'SECRET'],
  lastError: ['Why the last attempt failed.'],
  lastResponseStatus: ['The HTTP status of the last answer.', 200],
  limit: ['Items of the page; default 20.', 20],
  logIndex: ['Position within the transaction.', 7],
  logoUrl: ['The seller’s logo, https.', 'https://shop.example/logo.png'],
  message: [
    'A text for people.',
    'The seller has no wallet for that network. Choose another network.',
  ],
  metadata: [
    'The seller’s own texts: at most 20 keys, and 2,048 bytes of JSON.',
    { orderId: '1042' },
  ],
  mode: ['`test` or `live`: test and live data never mix.', 'test'],
  month: ['A calendar month.', '2026-07'],
  moves: ['Every change of status, oldest first.'],
  name: ['A name for people.', 'Bean & Leaf'],
  network: ['A chain, as `GET /v1/networks` lists them.', 'base'],
  networks: [
    'Chains that are accepted; absent means every one the store has a wallet for.',
    ['base'],
  ],
  nextAttemptAt: ['When the next attempt is due.', '2026-07-02T15:04:15.000Z'],
  nextCursor: ['Send it as `cursor` for the next page; null at the end.', null],
  nextDueAt: ['When the next period begins and is due.', '2026-08-02T15:04:05.000Z'],
  note: ['What was done about a transfer.', 'Sent back in 0x5f…'],
  openAmountEnabled: ['Whether a browser may set the amount (`amount` at checkout).', false],
  options: ['What can be paid with.'],
  originHost: [
    'The host of the page that opened the checkout, in lower case, without port.',
    'shop.example',
  ],
  outcome: ['What the payment ends as; default CONFIRMED.', 'CONFIRMED'],
  overlapHours: ['Hours that the old secret signs beside the new one.', 24],
  param: ['The field at fault.', 'network'],
  password: ['At least 12 characters.', 'correct horse battery staple'],
  payTo: ['The receiving address of this payment.', '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'],
  paymentId: [
    'The payment’s id. Whoever knows it may read and cancel the payment.',
    'pay_01k2m4x8y0q3z5w7v9t1r6p8n2',
  ],
  paymentLinkId: ['The payment link’s id.', 'plink_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  paymentUri: [
    'What wallets open: EIP-681 or Solana Pay.',
    'ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045&uint256=10501234',
  ],
  plan: ['What decides the monthly ceiling.', 'FREE'],
  positionBlock: [
    'The last block read when the slot was claimed: none up to it can pay.',
    35_112_900,
  ],
  priceId: ['The price’s id.', 'price_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  productId: ['The product’s id.', 'prod_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  productName: ['What is sold.', 'Coffee every month'],
  publishableKey: ['The store’s publishable key; safe to expose.', 'pk_test_4f1c9a'],
  reason: ['Why a transfer belongs to nobody.', 'LATE'],
  receivedAmount: ['What came, in exact token decimals.', '10.501234'],
  receivedAmountBaseUnits: ['What came, in base units of the token.', '10501234'],
  receivedUsd: ['Received in the month, in US dollars.', '125.50'],
  releaseAt: ['When the slot is free for others.', '2026-07-03T16:04:05.000Z'],
  reminderDays: [
    'Days before each due date on which the buyer is reminded. A change counts at once, for every subscription; a day that has passed is not made up for.',
    [7, 3, 1],
  ],
  renewUrl: [
    'The hosted page that pays the next period or cancels.',
    'https://pay.example/renew/renew_4f1c9a',
  ],
  replayedCount: ['Events that will be delivered again.', 12],
  requestId: [
    'The request’s id, also in X-Request-Id: name it when you ask for help.',
    'req_01k2m4x8y0q3z5w7v9t1r6p8n2',
  ],
  resolvedAt: ['When it was resolved.', '2026-07-03T09:00:00.000Z'],
  responseBody: ['The first 1,024 bytes of the endpoint’s answer; null without one.', 'ok'],
  responseStatus: ['The HTTP status of the endpoint’s answer; null without one.', 200],
  rule: ['The rule that took or refused the transfer.', 'exact'],
  secondsToCatchUp: ['Estimated seconds until the chain’s head is reached; null when unknown.', 0],
  secret: ['A webhook signing secret: in plain only in the answer that made it.', 'whsec_…1a2b'],
  secrets: ['The secrets that sign, newest first, masked.'],
  seenAt: ['When the service saw it.', '2026-07-02T15:05:11.000Z'],
  sellerName: ['Who the buyer pays.', 'Bean & Leaf'],
  sequence: ['Where the event stands among its store’s of this mode: 1, 2, 3 without gaps.', 42],
  serverTime: ['The service’s clock, to count down by.', '2026-07-02T15:04:05.000Z'],
  sessionId: ['The checkout session’s id.', 'cs_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  sessionToken: ['A login token: send it as `Authorization: Bearer sess_…`.', 'sess_4f1c9a'],
  settledAt: ['When the payment reached a terminal status.', '2026-07-02T15:06:02.000Z'],
  slot: ['The exact amount held at an address for this payment.'],
  state: ['What it is doing.'],
  status: ['Where it stands.'],
  store: ['The seller’s shop.'],
  storeId: ['The store’s id.', 'store_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  subscriptionId: ['The subscription’s id.', 'sub_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  successUrl: ['Where the buyer is sent after paying.', 'https://shop.example/thanks'],
  to: ['Where it ends: a time, or a status.', '2026-07-02T00:00:00Z'],
  token: ['A stablecoin; where a mail is answered, the token of its link.', 'usdc'],
  tokens: ['Stablecoins.', ['usdc']],
  topUpUntilExpiry: ['Whether a short payment waits for more until its window closes.', false],
  transferId: ['The transfer’s id.', 'trf_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  transfers: ['Transfers seen.', []],
  trigger: ['Why the status changed.'],
  ttlMinutes: ['Minutes until an unpaid payment expires; default 60.', 60],
  txHash: [
    'The settling transaction; `simulated:<paymentId>` when simulated.',
    '0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b',
  ],
  type: ['The event’s type.', 'payment.confirmed'],
  types: ['Event types; absent means all.', ['payment.confirmed']],
  url: ['A URL.', 'https://shop.example/hook'],
  volume: ['What the account received this month in live mode.'],
  walletId: ['The wallet’s id.', 'wal_01k2m4x8y0q3z5w7v9t1r6p8n2'],
  xpub: ['An extended public key: every payment gets an address of its own.'],
}

/** Schemas whose own description says no more than the glossary does. */
const TIME = 'RFC 3339, UTC'

/** A field's schema with what its name means, and an example where the schema does not name its words itself. */
export function explainField(name: string, schema: JsonObject): JsonObject {
  const [meaning, example] = FIELDS[name] ?? []
  const own = typeof schema['description'] === 'string' ? schema['description'] : undefined
  // A field of another type than the glossary has in mind is another thing: its own words are enough.
  const isOther = own !== undefined && example !== undefined && !isPlain(schema, example)
  const description =
    own === undefined || own === meaning
      ? meaning
      : describeBoth(isOther ? undefined : meaning, own)
  return {
    ...schema,
    ...(description === undefined ? {} : { description }),
    ...(example === undefined || !isPlain(schema, example) ? {} : { examples: [example] }),
  }
}

function describeBoth(meaning: string | undefined, own: string): string {
  if (meaning === undefined) return own
  if (own === TIME) return `${meaning} ${TIME}.`
  return `${meaning} ${own}${own.endsWith('.') ? '' : '.'}`
}

/** Whether the example has the field's type: one name may stand for a text here and for an object there. */
function isPlain(schema: JsonObject, example: unknown): boolean {
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(example)
  if (Array.isArray(schema['anyOf'])) return schema['anyOf'].some((one) => isPlain(one, example))
  switch (schema['type']) {
    case 'integer':
      return Number.isSafeInteger(example)
    case 'array':
      return (
        Array.isArray(example) &&
        example.every((one) => isPlain(schema['items'] as JsonObject, one))
      )
    case 'object':
      return typeof example === 'object' && example !== null && !('properties' in schema)
    case 'null':
      return example === null
    case 'string':
      return typeof example === 'string' && 'const' in schema === false
    case 'boolean':
      return typeof example === 'boolean'
    default:
      return schema['$ref'] === '#/components/schemas/Metadata' && typeof example === 'object'
  }
}
