import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { sealWebhookSecret } from '#shared/webhook-secret.ts'
import { type Dispatcher, startDispatcher } from '../../dispatcher/dispatcher.ts'
import { TEST_DOOR, TEST_KEYRING } from '../support/door.ts'

export type BenchStore = { storeId: string; accountId: string; secret: string; url: string }

const DELIVERED_TIMEOUT_MS = 120_000
const ARRIVAL_TIMEOUT_MS = 5_000
/** Between two looks at a dispatcher's numbers, in milliseconds. */
const LOOK_MS = 50

/** The signing secret of every bench store. */
const SECRET = `whsec_${'5'.repeat(64)}`

/** Makes stores in bulk, each with an account, a URL and a secret. */
export async function insertStores(db: Db, urls: readonly string[]): Promise<BenchStore[]> {
  const stores = urls.map((url) => ({
    storeId: newId('store'),
    accountId: newId('acct'),
    secret: SECRET,
    url,
  }))
  const accountIds = stores.map((store) => store.accountId)
  const storeIds = stores.map((store) => store.storeId)
  await db`
    insert into accounts (account_id, email, password_hash)
    select id, id || '@shop.test', 'none' from unnest(${accountIds}::text[]) id`
  await db`
    insert into stores (store_id, account_id, name, webhook_url)
    select * from unnest(${storeIds}::text[], ${accountIds}::text[],
      ${stores.map(() => 'Shop')}::text[], ${[...urls]}::text[])`
  await db`
    insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
    select * from unnest(${stores.map(() => newId('whs'))}::text[], ${storeIds}::text[],
      ${stores.map((store) => Buffer.from(sealWebhookSecret(TEST_KEYRING, store.storeId, SECRET)))}::bytea[])`
  return stores
}

/** Gives a store a URL and a secret of its own. */
export async function giveEndpoint(db: Db, storeId: string, url: string): Promise<void> {
  await db`update stores set webhook_url = ${url} where store_id = ${storeId}`
  await db`
    insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
    values (${newId('whs')}, ${storeId}, ${Buffer.from(sealWebhookSecret(TEST_KEYRING, storeId, SECRET))})`
}

/** An event's body of the usual size. */
export function bodyOf(eventId: string): string {
  return JSON.stringify({
    id: eventId,
    type: 'payment.confirmed',
    createdAt: '2026-07-02T00:00:00.000Z',
    apiVersion: '2026-07-02',
    data: { paymentId: eventId, note: 'x'.repeat(500) },
  })
}

/** Commits one event for each of these stores in one statement; answers their ids. */
export async function insertEvents(
  db: Db,
  stores: readonly Pick<BenchStore, 'storeId' | 'accountId'>[],
): Promise<string[]> {
  const ids = stores.map(() => `${newId('pay')}:payment.confirmed`)
  await db`
    insert into events (event_id, order_key, store_id, account_id, mode, type, body)
    select *  from unnest(${ids}::text[], ${ids}::text[], ${stores.map((store) => store.storeId)}::text[],
      ${stores.map((store) => store.accountId)}::text[], ${stores.map(() => 'test')}::text[],
      ${stores.map(() => 'payment.confirmed')}::text[], ${ids.map(bodyOf)}::text[])`
  return ids
}

/** A dispatcher as an operator runs it, in this process. */
export function startBenchDispatcher(db: Db, databaseUrl: string): Dispatcher {
  return startDispatcher({
    db,
    databaseUrl,
    listenUrl: databaseUrl,
    prepare: true,
    keyring: TEST_KEYRING,
    door: TEST_DOOR,
    outbound: { allowPrivate: true },
    log: silentLog,
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    random: () => Math.random(),
  })
}

/** When each event id arrived first, by the receiver's clock, in milliseconds since 1970. */
export async function arrivals(port: number): Promise<Map<string, number>> {
  const answer = await fetch(`http://127.0.0.1:${port}/times`)
  return new Map((await answer.json()) as [string, number][])
}

/** Waits until so many ids have arrived; gives up after a while. */
export async function waitForArrivals(
  port: number,
  count: number,
  timeoutMs: number,
): Promise<Map<string, number>> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const times = await arrivals(port)
    if (times.size >= count) return times
    if (performance.now() > deadline) {
      throw new Error(`${times.size} of ${count} arrived in ${timeoutMs} ms`)
    }
    await new Promise((done) => setTimeout(done, 100))
  }
}

/** Waits until a dispatcher has posted so many events with success; gives up after a while. */
export async function untilDelivered(dispatcher: Dispatcher, count: number): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    const done = Number(/outcome="2xx"\} (\d+)/.exec(dispatcher.renderMetrics())?.[1] ?? 0)
    if (done >= count) return
    if (performance.now() - startedAt > DELIVERED_TIMEOUT_MS) {
      throw new Error(`${done} of ${count} delivered`)
    }
    await new Promise((next) => setTimeout(next, LOOK_MS))
  }
}

/** When an event arrived, in milliseconds since 1970; looks so often, and gives up after a while. */
export async function arrivalOf(port: number, id: string, pauseMs: number): Promise<number> {
  const deadline = performance.now() + ARRIVAL_TIMEOUT_MS
  while (performance.now() < deadline) {
    await new Promise((next) => setTimeout(next, pauseMs))
    const at = (await arrivals(port)).get(id)
    if (at !== undefined) return at
  }
  throw new Error(`${id} did not arrive`)
}
