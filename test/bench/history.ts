import { randomBytes } from 'node:crypto'
import { newSecret } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'
import { closeDb, openDb } from '#shared/db.ts'
import { sealWebhookSecret } from '#shared/webhook-secret.ts'
import { TEST_KEYRING } from '../support/door.ts'
import type { Shop } from './shops.ts'

/** Payments made in one insert: each stays within the deadline of a statement. */
const PART = 20_000
const CLOSE_TIMEOUT_MS = 1_000
/** The contract that all payments of a history name. */
export const CONTRACT = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

/** The id of the n-th payment of a history. */
export function historicId(n: number): string {
  return `pay_0${String(n).padStart(37, '0')}`
}

/**
 * What a service that has run for long holds of payments `from` to below `to`, spread over the shops: nine in ten are over
 * with all that belongs to them (transfer, moves, two events delivered at the first attempt), one in ten of all still holds
 * its slot, in quarantine, and one in a hundred is open.
 */
export async function insertHistory(
  url: string,
  shops: readonly Shop[],
  from: number,
  to: number,
): Promise<void> {
  // Neither triggers nor foreign keys: nothing here waits for the relay, and all of it belongs together by construction.
  const db = openDb({ url, applicationName: 'bench-history', poolSizeMax: 1, unbounded: true })
  await db`set session_replication_role = replica`
  await db`set synchronous_commit = off`
  for (let start = from; start < to; start += PART) {
    await insertPart(db, shops, start, Math.min(to, start + PART) - 1)
  }
  // As old rows are: known to be visible, and on disk.
  await db`vacuum analyze`
  await db`checkpoint`
  await closeDb(db, CLOSE_TIMEOUT_MS)
}

async function insertPart(
  db: Db,
  shops: readonly Shop[],
  first: number,
  last: number,
): Promise<void> {
  const stores = shops.map(({ storeId }) => storeId)
  const accounts = shops.map(({ accountId }) => accountId)
  const addresses = shops.map(({ address }) => address)
  await db`
    create temp table if not exists part (n bigint, payment_id text, shop integer, is_open boolean)`
  await db`truncate part`
  await db`
    insert into part
    select n, 'pay_0' || lpad(n::text, 37, '0'), 1 + n % ${shops.length}::bigint, n % 100 = 0
    from generate_series(${first}::bigint, ${last}::bigint) n`
  await db`
    insert into payments (payment_id, store_id, account_id, mode, network, token, deployment, contract, decimals,
      address, is_exclusive, clock, confirmations_required, amount_cents, price_base_units, amount_base_units,
      received_base_units, status, tx_hash, block_number, created_at, expires_at, detected_at, settled_at)
    select payment_id, (${stores}::text[])[shop], (${accounts}::text[])[shop], 'test', 'base', 'usdc', 'base:test',
      ${CONTRACT}, 6, (${addresses}::text[])[shop], false, 'CHAIN', 12, 500, 5000000, 5000001 + n,
      case when is_open then 0 else 5000001 + n end, case when is_open then 'PENDING' else 'CONFIRMED' end,
      case when not is_open then '0x' || md5(payment_id) || md5(shop::text) end, case when not is_open then n / 10 end,
      now() - interval '1 day', now() + interval '1 hour',
      case when not is_open then now() end, case when not is_open then now() end
    from part`
  await db`
    insert into slots (address, amount_base_units, token, deployment, payment_id, store_id, price_base_units,
      is_exclusive, is_open, expires_at, ended_at, release_at)
    select p.address, p.amount_base_units, p.token, p.deployment, p.payment_id, p.store_id, p.price_base_units, false,
      is_open, p.expires_at, p.settled_at, p.settled_at + interval '1 day'
    from part join payments p using (payment_id)
    where part.n % 10 = 0`
  await db`
    insert into payment_moves (payment_id, move_key, from_status, to_status, trigger)
    select payment_id, key, 'PENDING', 'CONFIRMED', 'test'
    from part, unnest('{a,b}'::text[]) key
    where not is_open`
  await db`
    insert into transfers (transfer_id, deployment, network, mode, block_hash, tx_hash, log_index, block_number,
      block_time, token, contract, decimals, sender, address, amount_base_units, state, payment_id, rule, is_final)
    select 'trf_0' || lpad(n::text, 37, '0'), p.deployment, p.network, p.mode, '0x' || md5(p.block_number::text), p.tx_hash,
      n, p.block_number, now(), p.token, p.contract, p.decimals, '0xbuyer', p.address, p.amount_base_units, 'MATCHED',
      p.payment_id, 'exact', true
    from part join payments p using (payment_id)
    where not is_open`
  await db`
    insert into inbox (store_id, transfer_id, state, mode)
    select p.store_id, 'trf_0' || lpad(n::text, 37, '0'), 'MATCHED', 'test'
    from part join payments p using (payment_id)
    where not is_open`
  await insertTold(db)
}

/** Events, numbered and delivered. */
async function insertTold(db: Db): Promise<void> {
  await db`
    create temp table if not exists told (
      event_id text, delivery_id text, store_id text, account_id text, payment_id text, type text, place bigint)`
  await db`truncate told`
  await db`
    insert into told
    select payment_id || ':' || type, 'dlv_0' || lpad((2 * n + k)::text, 37, '0'), p.store_id, p.account_id, payment_id,
      type, 2 * (n / (select count(*) from stores)) + k
    from part join payments p using (payment_id),
      unnest('{payment.detected,payment.confirmed}'::text[]) with ordinality as e (type, k)
    where not is_open`
  await db`
    insert into events (event_id, order_key, store_id, account_id, mode, type, payment_id, body)
    select event_id, delivery_id, store_id, account_id, 'test', type, payment_id, repeat('x', 700)
    from told`
  await db`
    insert into event_numbers (store_id, mode, sequence, event_id)
    select store_id, 'test', place, event_id from told`
  await db`
    insert into event_sequences (store_id, mode, last_sequence)
    select store_id, 'test', max(place) from told group by store_id
    on conflict (store_id, mode) do update set last_sequence = excluded.last_sequence`
  await db`
    insert into deliveries (delivery_id, event_id, store_id, mode, event_type, payment_id, url, status, attempt_count,
      next_attempt_at, deadline_at, delivered_at, last_attempt_at, last_duration_ms, last_response_status,
      last_response_body)
    select delivery_id, event_id, store_id, 'test', type, payment_id, 'http://127.0.0.1/', 'DELIVERED', 1,
      null, now(), now(), now(), 10, 200, 'thanks'
    from told`
}

/** Lets the shops have events delivered to these URLs, one each. */
export async function giveEndpoints(
  db: Db,
  shops: readonly Shop[],
  urls: readonly string[],
): Promise<void> {
  const ids = shops.map(({ storeId }) => storeId)
  const secret = newSecret('whsec')
  await db`
    update stores s set webhook_url = u.url
    from unnest(${ids}::text[], ${[...urls]}::text[]) u (store_id, url)
    where s.store_id = u.store_id`
  await db`
    insert into webhook_secrets (webhook_secret_id, store_id, ciphertext)
    select * from unnest(${ids.map(() => `whs_${randomBytes(16).toString('hex')}`)}::text[], ${ids}::text[],
      ${ids.map((id) => Buffer.from(sealWebhookSecret(TEST_KEYRING, id, secret)))}::bytea[])`
}
