import { newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { type EventDraft, insertEvent } from '#shared/events.ts'
import { newId, newOrderKey } from '#shared/ids.ts'
import { silentLog } from '#shared/log.ts'
import { sealWebhookSecret } from '#shared/webhook-secret.ts'
import {
  type Dispatcher,
  type DispatcherDeps,
  startDispatcher,
} from '../../dispatcher/dispatcher.ts'
import type { TestDatabase } from '../support/database.ts'
import { TEST_DOOR, TEST_KEYRING } from '../support/door.ts'
import { seedStore } from '../support/seed.ts'

/** A store with an endpoint and the secret that signs for it. */
export type Shop = { storeId: string; accountId: string; secret: string }

/** Seeds a store whose webhooks go to `url`; null for none. */
export async function seedShop(db: Db, url: string | null): Promise<Shop> {
  const { store, account } = await seedStore(db, url === null ? {} : { webhookUrl: url })
  const secret = await addSecret(db, store.storeId)
  return { storeId: store.storeId, accountId: account.accountId, secret }
}

/** Gives a store one more active signing secret. */
export async function addSecret(db: Db, storeId: string): Promise<string> {
  const secret = newSecret('whsec')
  await db`
    insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
    values (${newId('whs')}, ${storeId}, ${sealWebhookSecret(TEST_KEYRING, storeId, secret)})`
  return secret
}

/** Commits events of a shop in one transaction, as a status change would; answers their ids. */
export async function emit(db: Db, shop: Shop, count = 1): Promise<string[]> {
  const drafts = Array.from({ length: count }, (): EventDraft => {
    const paymentId = newId('pay')
    return {
      eventId: `${paymentId}:payment.confirmed`,
      type: 'payment.confirmed',
      storeId: shop.storeId,
      accountId: shop.accountId,
      mode: 'test',
      paymentId,
      createdAt: new Date(),
      data: { paymentId, note: 'Grüße 🚀' },
    }
  })
  await db.begin(async (tx) => {
    for (const draft of drafts) await insertEvent(tx, draft)
  })
  return drafts.map((draft) => draft.eventId)
}

/** Gives a shop so many deliveries that have failed, with their next attempts from a time on, as an SQL interval from now. */
export async function seedArrears(
  db: Db,
  shop: Shop,
  count: number,
  dueIn = '1 hour',
): Promise<void> {
  await db.begin(async (tx) => {
    await tx`
      with seeded as (
        insert into events (event_id, order_key, store_id, account_id, mode, type, body)
        select concat(${shop.storeId}::text, ':', n), ${newOrderKey()}, ${shop.storeId}, ${shop.accountId}, 'test',
          'payment.confirmed', '{}'
        from generate_series(1, ${count}::integer) n
        returning event_id, store_id, mode, type
      )
      insert into deliveries
        (delivery_id, event_id, store_id, mode, event_type, url, attempt_count, last_attempt_at, last_duration_ms,
          last_error, next_attempt_at, deadline_at)
      select concat('dlv_', event_id), event_id, store_id, mode, type, 'http://127.0.0.1:1/hook', 1, service_now(), 5, 'refused',
        service_now() + ${dueIn}::interval + row_number() over () * interval '1 microsecond',
        service_now() + interval '72 hours'
      from seeded`
    // They have their deliveries: the relay is not to make more.
    await tx`delete from waiting_events where store_id = ${shop.storeId}`
  })
}

/** A dispatcher on this database that may reach loopback, with a short clockwork. */
export function dispatch(
  database: TestDatabase,
  options: Partial<DispatcherDeps> = {},
): Dispatcher {
  return startDispatcher({
    db: database.db,
    databaseUrl: database.url,
    listenUrl: database.url,
    prepare: true,
    keyring: TEST_KEYRING,
    door: TEST_DOOR,
    outbound: { allowPrivate: true },
    log: silentLog,
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    random: () => 0.5,
    ...options,
    timing: { attemptTimeoutMs: 1_000, ...options.timing },
  })
}

export type DeliveryRow = {
  deliveryId: string
  eventId: string
  status: string
  attemptCount: number
  nextAttemptAt: Date | null
  deliveredAt: Date | null
}

/** Deliveries of a store, in the order of their events. */
export async function readDeliveries(db: Db, storeId: string): Promise<DeliveryRow[]> {
  return db`
    select d.delivery_id, d.event_id, d.status, d.attempt_count, d.next_attempt_at, d.delivered_at
    from deliveries d
    join event_numbers n using (event_id)
    where d.store_id = ${storeId}
    order by n.sequence`
}

/** Makes what waits for its next attempt due now. */
export async function skipWait(db: Db, storeId: string): Promise<void> {
  await db`
    update deliveries set next_attempt_at = service_now()
    where store_id = ${storeId} and status = 'PENDING'`
}
