import assert from 'node:assert/strict'
import type { Db } from '#shared/db.ts'

/**
 * An independent judge, written from the specification and the contract: do a database and its chains tell one story?
 * It shares no rule with the code it judges, only the schema's names.
 */
export type Evidence = {
  db: Db
  /** JSON-RPC endpoints by deployment; a deployment without one is judged by the database alone. */
  chains?: Record<string, { httpUrl: string; contracts: string[] } | { read: ReadTransfers }>
  /** Ids of the events a receiver accepted, in any order and number; absent when the receiver is not judged. */
  receivedEventIds?: string[]
}

/** What a chain that is no EVM holds within an inclusive range of heights. */
type ReadTransfers = (from: number, to: number) => Promise<OnChain[]>
export type OnChain = {
  blockHash: string
  txHash: string
  index: number
  amount: bigint
  to: string
}

type Payment = {
  paymentId: string
  status: string
  mode: string
  deployment: string
  isSimulated: boolean
  priceBaseUnits: bigint
  amountBaseUnits: bigint
  receivedBaseUnits: bigint
  detectedAt: Date | null
  storeId: string
}
type Transfer = {
  transferId: string
  deployment: string
  blockHash: string
  txHash: string
  logIndex: number
  blockNumber: number
  address: string
  amountBaseUnits: bigint
  state: string
  paymentId: string | null
  seenAt: Date
}
type Event = {
  eventId: string
  paymentId: string | null
  type: string
  body: string
  storeId: string
}

/** `Transfer(address,address,uint256)`, EIP-20. */
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Faults that an error lists: the first tell the story. */
const FAULTS_SHOWN_MAX = 50
const TERMINAL = ['CONFIRMED', 'UNDERPAID', 'OVERPAID', 'EXPIRED', 'CANCELED']
const SETTLED_EVENT: Record<string, string> = {
  CONFIRMED: 'payment.confirmed',
  UNDERPAID: 'payment.underpaid',
  OVERPAID: 'payment.overpaid',
  EXPIRED: 'payment.expired',
  CANCELED: 'payment.canceled',
}

/** Throws an error that lists everything that does not fit. */
export async function assertOneStory(evidence: Evidence): Promise<void> {
  const { db } = evidence
  const payments = await db<Payment[]>`select * from payments`
  const transfers = await db<Transfer[]>`select * from transfers where state <> 'RETRACTED'`
  const events = await db<Event[]>`select * from events`
  const faults = [
    ...judgePayments(payments, transfers),
    ...(await judgeMoney(db)),
    ...judgeEvents(payments, events),
    ...(await judgeInbox(db, transfers)),
    ...(await judgeParents(db)),
    ...(await judgeSlots(db, payments)),
    ...(await judgeSequences(db)),
    ...(await judgeSchedule(db)),
    ...(await judgeAttempts(db)),
    ...(await judgeChains(evidence, transfers)),
    ...judgeReceived(evidence, events),
  ]
  assert.deepEqual(
    faults.slice(0, FAULTS_SHOWN_MAX),
    [],
    'the database and the chain do not tell one story',
  )
}

function groupBy<T, K>(rows: readonly T[], keyOf: (row: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const row of rows) {
    const group = groups.get(keyOf(row))
    if (group) group.push(row)
    else groups.set(keyOf(row), [row])
  }
  return groups
}

/** Each status is explained by what is attributed to the payment. */
function judgePayments(payments: Payment[], transfers: Transfer[]): string[] {
  const attributed = groupBy(transfers, ({ paymentId }) => paymentId)
  return payments
    .filter((payment) => !payment.isSimulated)
    .flatMap((payment) => {
      const sum = (attributed.get(payment.paymentId) ?? []).reduce(
        (total, transfer) => total + transfer.amountBaseUnits,
        0n,
      )
      const { status, amountBaseUnits: due, priceBaseUnits: price } = payment
      const name = `${payment.paymentId} ${status} with ${sum} of ${due}`
      const isExplained =
        (status === 'PENDING' && sum * 10n < due) ||
        (status === 'DETECTED' && sum * 10n >= due) ||
        (status === 'CONFIRMED' && sum >= price && sum <= due) ||
        (status === 'OVERPAID' && sum > due) ||
        (status === 'UNDERPAID' && sum < price && sum * 10n >= due) ||
        ((status === 'EXPIRED' || status === 'CANCELED') && sum === 0n)
      const isTold = payment.receivedBaseUnits === sum
      return [
        ...(isExplained ? [] : [`unexplained: ${name}`]),
        ...(isTold ? [] : [`says it received ${payment.receivedBaseUnits}: ${name}`]),
      ]
    })
}

/** What is attributed to a payment is of the chain and the contract that it names. */
async function judgeMoney(db: Db): Promise<string[]> {
  const rows = await db<{ transferId: string; paymentId: string }[]>`
    select t.transfer_id, t.payment_id
    from transfers t
    join payments p on p.payment_id = t.payment_id
    where t.state = 'MATCHED'
      and (t.deployment, t.token, t.contract) <> (p.deployment, p.token, p.contract)`
  return rows.map(({ transferId, paymentId }) => `${transferId} is other money than ${paymentId}’s`)
}

/** Each change is told once, and nothing else is. */
function judgeEvents(payments: Payment[], events: Event[]): string[] {
  const faults: string[] = []
  const byPayment = groupBy(events, ({ paymentId }) => paymentId)
  for (const payment of payments) {
    const told = byPayment.get(payment.paymentId) ?? []
    const settled = told.map(({ type }) => type).filter((type) => type !== 'payment.detected')
    const expected = TERMINAL.includes(payment.status) ? [SETTLED_EVENT[payment.status]] : []
    const isDetectedTold = told.some(({ type }) => type === 'payment.detected')
    if (JSON.stringify(settled) !== JSON.stringify(expected)) {
      faults.push(
        `${payment.paymentId} is ${payment.status} but told ${settled.join(', ') || 'nothing'}`,
      )
    }
    if (payment.detectedAt !== null && !payment.isSimulated && !isDetectedTold) {
      faults.push(`${payment.paymentId} was detected and nobody was told`)
    }
  }
  for (const event of events) {
    const body = JSON.parse(event.body)
    if (body.id !== event.eventId || body.type !== event.type) {
      faults.push(`${event.eventId} says it is ${body.id} of ${body.type}`)
    }
    if (event.paymentId !== null && event.eventId !== `${event.paymentId}:${event.type}`) {
      faults.push(`${event.eventId} should be ${event.paymentId}:${event.type}`)
    }
    if (body.data.storeId !== event.storeId) faults.push(`${event.eventId} names another store`)
  }
  return faults
}

/** Each transfer is attributed to one payment, or lies in the inbox of each store that has the address. */
async function judgeInbox(db: Db, transfers: Transfer[]): Promise<string[]> {
  const inbox = await db<{ transferId: string; storeId: string; state: string }[]>`
    select transfer_id, store_id, state from inbox`
  const owners = await db<Owner[]>`
    select address, store_id, mode, created_at from wallets where address is not null
    union
    select x.address, w.store_id, w.mode, w.created_at
    from xpub_addresses x join wallets w on w.xpub = x.xpub`
  const byTransfer = groupBy(inbox, ({ transferId }) => transferId)
  return transfers.flatMap((transfer) => {
    const listed = byTransfer.get(transfer.transferId) ?? []
    const isAttributed = transfer.state === 'MATCHED'
    const isWrong = listed.some(({ state }) => (state === 'MATCHED') !== isAttributed)
    if (isWrong || isAttributed !== (transfer.paymentId !== null)) {
      return [`${transfer.transferId} is ${transfer.state} of ${transfer.paymentId}`]
    }
    const stores = listed.map(({ storeId }) => storeId)
    if (isAttributed) return stores.length === 1 ? [] : [`${transfer.transferId} is in ${stores}`]
    const entitled = owners.filter((owner) => isOwner(owner, transfer))
    const missing = entitled.filter(
      (owner) => owner.createdAt <= transfer.seenAt && !stores.includes(owner.storeId),
    )
    const strangers = stores.filter((id) => !entitled.some(({ storeId }) => storeId === id))
    return missing.length + strangers.length > 0 || stores.length === 0
      ? [`${transfer.transferId} lies in the inboxes of ${stores}`]
      : []
  })
}

/** Rows that hang on others without a foreign key hang on something. */
async function judgeParents(db: Db): Promise<string[]> {
  const rows = await db<{ fault: string }[]>`
    select 'inbox of an unknown transfer: ' || i.transfer_id as fault
    from inbox i where not exists (select from transfers t where t.transfer_id = i.transfer_id)
    union all
    select 'inbox of an unknown store: ' || i.store_id
    from inbox i where not exists (select from stores s where s.store_id = i.store_id)
    union all
    select 'move of an unknown payment: ' || m.payment_id
    from payment_moves m where not exists (select from payments p where p.payment_id = m.payment_id)`
  return rows.map(({ fault }) => fault)
}

type Owner = { address: string; storeId: string; mode: string; createdAt: Date }

function isOwner(owner: Owner, transfer: Transfer): boolean {
  return owner.address === transfer.address && owner.mode === transfer.deployment.split(':')[1]
}

/** An open payment holds its slot; an ended one does not hold it open. No slot is held twice. */
async function judgeSlots(db: Db, payments: Payment[]): Promise<string[]> {
  const slots = await db<
    {
      paymentId: string
      isOpen: boolean
      address: string
      amountBaseUnits: bigint
      token: string
      deployment: string
    }[]
  >`select * from slots`
  const keys = slots.map((slot) =>
    [slot.address, slot.amountBaseUnits, slot.token, slot.deployment].join(' '),
  )
  const twice = [...groupBy(keys, (key) => key)].flatMap(([key, { length }]) =>
    length > 1 ? [key] : [],
  )
  const byPayment = new Map(slots.map((slot) => [slot.paymentId, slot]))
  return [
    ...twice.map((key) => `slot held twice: ${key}`),
    ...payments.flatMap((payment) => {
      const slot = byPayment.get(payment.paymentId)
      const isOpen = !TERMINAL.includes(payment.status)
      if (isOpen && !slot?.isOpen) return [`${payment.paymentId} is open and holds no slot`]
      if (!isOpen && slot?.isOpen) return [`${payment.paymentId} ended and holds its slot open`]
      return []
    }),
  ]
}

/** Sequences that were given have no gaps and no doubles, per store and mode. */
async function judgeSequences(db: Db): Promise<string[]> {
  const rows = await db<{ storeId: string; mode: string; highest: number; count: number }[]>`
    select store_id, mode, max(sequence) as highest, count(distinct sequence)::int as count
    from event_numbers group by store_id, mode`
  return rows
    .filter(({ highest, count }) => highest !== count)
    .map(
      ({ storeId, mode, highest, count }) => `${storeId} ${mode}: ${count} events up to ${highest}`,
    )
}

/**
 * Whatever is pending will be found again: it is on the schedule, with its time, or named by a bundle that was queued as it
 * was made. Nothing else is on the schedule.
 */
export async function judgeSchedule(db: Db): Promise<string[]> {
  const rows = await db<{ deliveryId: string; fault: string }[]>`
    select d.delivery_id, case
        when d.status <> 'PENDING' then 'has ended and is on the schedule'
        when s.delivery_id is null then 'is pending and would never be found'
        else 'is on the schedule at another time'
      end as fault
    from deliveries d
    left join scheduled_deliveries s using (delivery_id)
    where case
      when d.status <> 'PENDING' then s.delivery_id is not null
      when s.delivery_id is null then not exists (
        select from fresh_bundles b
        where d.delivery_id = any (b.delivery_ids) and d.queued_until = b.queued_until
      )
      else (s.store_id, s.next_attempt_at, s.queued_until, s.deadline_at, s.has_failed)
        <> (d.store_id, d.next_attempt_at, d.queued_until, d.deadline_at, d.attempt_count > 0)
    end`
  return rows.map(({ deliveryId, fault }) => `${deliveryId} ${fault}`)
}

/** Every delivery has as many attempts as it says: the last one with itself, all before it apart. */
export async function judgeAttempts(db: Db): Promise<string[]> {
  const rows = await db<{ deliveryId: string; attemptCount: number; numbers: number[] }[]>`
    select d.delivery_id, d.attempt_count, a.numbers
    from deliveries d
    cross join lateral (
      select array_agg(attempt_number order by attempt_number) as numbers
      from attempts
      where delivery_id = d.delivery_id
    ) a
    where coalesce(a.numbers, '{}') <> array(select generate_series(1, d.attempt_count - 1))`
  return rows.map(
    ({ deliveryId, attemptCount, numbers }) =>
      `${deliveryId} says ${attemptCount} attempts, and those before the last are ${numbers}`,
  )
}

/** What the chain says now is what the database holds: nothing lost, nothing twice, nothing invented. */
async function judgeChains(evidence: Evidence, transfers: Transfer[]): Promise<string[]> {
  const faults: string[] = []
  const owned = await evidence.db<{ address: string }[]>`
    select address from wallets where address is not null
    union select address from xpub_addresses`
  const known = new Set(owned.map(({ address }) => address.toLowerCase()))
  for (const [deployment, chain] of Object.entries(evidence.chains ?? {})) {
    const [cursor] = await evidence.db<{ blockNumber: number | null; first: number | null }[]>`
      select d.block_number, min(b.block_number) as first
      from deployments d left join blocks b on b.deployment = d.deployment
      where d.deployment = ${deployment} group by d.block_number`
    if (!cursor || cursor.blockNumber === null || cursor.first === null) continue
    // Of a long run only the newest blocks are kept: then from the first transfer on.
    const heights = transfers.flatMap((one) =>
      one.deployment === deployment ? [one.blockNumber] : [],
    )
    const first = heights.reduce((lowest, height) => Math.min(lowest, height), cursor.first + 1)
    const range = [first, cursor.blockNumber] as const
    const found =
      'read' in chain
        ? await chain.read(...range)
        : await readLogs(chain.httpUrl, chain.contracts, ...range)
    const onChain = found
      .filter((log) => known.has(log.to.toLowerCase()) && log.amount > 0n)
      .map((log) => `${deployment} ${log.blockHash} ${log.txHash} ${log.index} ${log.amount}`)
    const stored = transfers
      .filter((transfer) => transfer.deployment === deployment)
      .map(
        ({ blockHash, txHash, logIndex, amountBaseUnits }) =>
          `${deployment} ${blockHash} ${txHash} ${logIndex} ${amountBaseUnits}`,
      )
    const [kept, told] = [new Set(stored), new Set(onChain)]
    faults.push(
      ...onChain.filter((key) => !kept.has(key)).map((key) => `lost: ${key}`),
      ...stored.filter((key) => !told.has(key)).map((key) => `invented: ${key}`),
    )
  }
  return faults
}

async function readLogs(
  httpUrl: string,
  contracts: string[],
  from: number,
  to: number,
): Promise<OnChain[]> {
  if (to < from) return []
  const response = await fetch(httpUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_getLogs',
      params: [
        {
          fromBlock: `0x${from.toString(16)}`,
          toBlock: `0x${to.toString(16)}`,
          address: contracts,
          topics: [TRANSFER_TOPIC],
        },
      ],
    }),
  })
  const { result } = (await response.json()) as {
    result: {
      blockHash: string
      transactionHash: string
      logIndex: string
      data: string
      topics: string[]
    }[]
  }
  return result.map((log) => ({
    blockHash: log.blockHash,
    txHash: log.transactionHash,
    index: Number(log.logIndex),
    amount: BigInt(log.data),
    to: `0x${(log.topics[2] ?? '').slice(-40)}`,
  }))
}

/** Every event reached the receiver at least once, and nothing reached it that was not an event. */
function judgeReceived({ receivedEventIds }: Evidence, events: Event[]): string[] {
  if (!receivedEventIds) return []
  const received = new Set(receivedEventIds)
  const owed = new Set(events.map(({ eventId }) => eventId))
  return [
    ...[...owed].filter((id) => !received.has(id)).map((id) => `never delivered: ${id}`),
    ...[...received].filter((id) => !owed.has(id)).map((id) => `delivered and unknown: ${id}`),
  ]
}
