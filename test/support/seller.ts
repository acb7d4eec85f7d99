import { randomInt } from 'node:crypto'
import { BlockList } from 'node:net'
import { hashSecret, newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { API_VERSION, type EventType } from '#shared/events.ts'
import { newId, newOrderKey } from '#shared/ids.ts'
import { type LinkMailBody, openMailToken } from '#shared/mail-requests.ts'
import type { Mode } from '#shared/networks/registry.ts'
import type { Answer, TestApi } from './api.ts'

/** A login token of an account, good for an hour. */
export async function seedLogin(db: Db, accountId: string): Promise<string> {
  const token = newSecret('sess')
  await db`
    insert into login_sessions (token_hash, account_id, expires_at)
    values (${hashSecret(token)}, ${accountId}, service_now() + interval '1 hour')`
  return token
}

/** Trusts the loopback address as a proxy, so that tests may come from any IP. */
export function trustLoopback(): BlockList {
  const proxies = new BlockList()
  proxies.addAddress('127.0.0.1', 'ipv4')
  return proxies
}

/** The header with which a request comes from an address that no other test comes from. */
export function fromAnotherIp(): { 'X-Forwarded-For': string } {
  const part = () => randomInt(1, 255)
  return { 'X-Forwarded-For': `11.${part()}.${part()}.${part()}` }
}

/** Signs up over HTTP, from an address of its own. */
export async function signUp(
  api: TestApi,
  body: { email: string; password: string; sellerName?: string },
): Promise<Answer> {
  return api.call('POST', '/v1/accounts', { body, headers: fromAnotherIp() })
}

/** Tokens of the mails to this address that were asked for, oldest first. */
export async function mailedTokens(api: TestApi, to: string): Promise<string[]> {
  const rows = await api.database.db<{ subject: string; body: LinkMailBody }[]>`
    select subject, body from requests
    where kind = 'mail' and body ->> 'to' = ${to}
    order by created_at, request_id`
  return rows.map(({ subject, body }) => openMailToken(api.deps.keyring, subject, body))
}

export type SeedEvent = {
  storeId: string
  accountId: string
  mode?: Mode
  type?: EventType
  paymentId?: string
  /** Undefined: the relay has not seen it yet. */
  sequence?: number
  createdAt?: Date
}

/** An event as a status change and the relay leave it. */
export async function seedEvent(db: Db, event: SeedEvent): Promise<string> {
  const { storeId, accountId, mode = 'test', type = 'payment.confirmed', sequence } = event
  const paymentId = event.paymentId ?? newId('pay')
  const eventId = `${paymentId}:${type}`
  const createdAt = event.createdAt ?? new Date()
  const data = {
    ...{ paymentId, accountId, storeId, mode, network: 'base', token: 'usdc' },
    ...{ address: 'address', amount: '5.00', amountBaseUnits: '5000001', decimals: 6 },
    ...{ status: 'CONFIRMED', txHash: '0x1', blockNumber: 1, confirmations: 12 },
  }
  const body = JSON.stringify({
    ...{ id: eventId, type, createdAt: createdAt.toISOString(), apiVersion: API_VERSION, data },
  })
  await db`
    insert into events (event_id, order_key, store_id, account_id, mode, type, payment_id, body, created_at)
    values (${eventId}, ${newOrderKey()}, ${storeId}, ${accountId}, ${mode}, ${type}, ${paymentId}, ${body},
      ${createdAt})`
  if (sequence !== undefined) await numberEvents(db, [eventId], sequence)
  return eventId
}

/** Numbers waiting events as the relay would, in the order of their keys, from this sequence on. */
export async function numberEvents(
  db: Db,
  eventIds: readonly string[],
  sequence: number,
): Promise<void> {
  await db`
    with taken as (
      delete from waiting_events where event_id = any (${[...eventIds]})
      returning order_key, event_id, store_id, mode
    )
    insert into event_numbers (store_id, mode, sequence, event_id)
    select store_id, mode,
      ${sequence}::bigint - 1 + row_number() over (partition by store_id, mode order by order_key),
      event_id
    from taken`
}

/** A delivery of an event, as the dispatcher leaves it. */
export async function seedDelivery(
  db: Db,
  eventId: string,
  status: 'PENDING' | 'DELIVERED' | 'DEAD' = 'DELIVERED',
): Promise<string> {
  const deliveryId = newId('dlv')
  await db`
    insert into deliveries (delivery_id, event_id, store_id, mode, event_type, payment_id, url, status,
      attempt_count, next_attempt_at, deadline_at, delivered_at, dead_at, last_attempt_at, last_duration_ms,
      last_response_status, last_response_body)
    select ${deliveryId}, event_id, store_id, mode, type, payment_id, 'https://shop.example/hook', ${status},
      ${status === 'PENDING' ? 0 : 1},
      case when ${status} = 'PENDING' then service_now() + interval '1 hour' end,
      created_at + interval '72 hours',
      case when ${status} = 'DELIVERED' then service_now() end,
      case when ${status} = 'DEAD' then service_now() end,
      a.*
    from events
    left join (select service_now(), 12, case ${status} when 'DEAD' then 500 else 200 end, 'ok') a
      on ${status} <> 'PENDING'
    where event_id = ${eventId}`
  await db`update event_numbers set delivery_id = ${deliveryId} where event_id = ${eventId}`
  return deliveryId
}
