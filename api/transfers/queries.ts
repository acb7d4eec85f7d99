import type { Db, SqlLike, Tx } from '#shared/db.ts'
import type { Mode } from '#shared/networks/registry.ts'
import { SCANNED_MAX, type Stretch } from '../list.ts'
import type { TransferRow, TransferState } from '../transfer-object.ts'

export type TransferScope = { storeId: string; modes: readonly Mode[] }

/** A transfer locked for a decision about it. */
export type LockedTransfer = {
  transferId: string
  state: 'MATCHED' | 'UNMATCHED'
  paymentId: string | null
  deployment: string
  token: string
  contract: string
}

/** A stretch of a store's inbox. What left the chain again is not shown. */
export async function listTransferRows(
  db: Db,
  storeId: string,
  state: TransferState | undefined,
  stretch: Stretch,
): Promise<TransferRow[]> {
  const { rows, order } = scan(db, storeId, state, stretch)
  // One look at the transfers per row, as far as the page needs: a join could choose to read them all.
  return db<TransferRow[]>`
    select ${transferColumns(db)}
    from (${rows} order by ${order} limit ${SCANNED_MAX}) i
    cross join lateral (
      select * from transfers where transfer_id = i.transfer_id limit 1
    ) t
    where t.state <> 'RETRACTED' and i.state = coalesce(${state ?? null}, i.state)
    order by ${order}
    limit ${stretch.limit}`
}

export async function readTransferScanEnd(
  db: Db,
  storeId: string,
  state: TransferState | undefined,
  stretch: Stretch,
): Promise<string | undefined> {
  const { rows, order } = scan(db, storeId, state, stretch)
  const ends = await db<{ transferId: string }[]>`
    select transfer_id
    from (${rows} order by ${order} offset ${SCANNED_MAX - 1} limit 1) i`
  return ends[0]?.transferId
}

/** What waits for the seller has an index of its own; what was matched is most of the inbox anyway. */
function scan(db: Db, storeId: string, state: TransferState | undefined, stretch: Stretch) {
  const { mode, from, before } = stretch
  if (state === undefined || state === 'MATCHED') {
    return {
      rows: db`
        select * from inbox i
        where (store_id, mode, transfer_id) >= (${storeId}, ${mode}, ${from})
          and (store_id, mode, transfer_id) < (${storeId}, ${mode}, ${before})`,
      order: db`i.store_id desc, i.mode desc, i.transfer_id desc`,
    }
  }
  return {
    rows: db`
      select * from inbox i
      where (store_id, mode, state, transfer_id) >= (${storeId}, ${mode}, ${state}, ${from})
        and (store_id, mode, state, transfer_id) < (${storeId}, ${mode}, ${state}, ${before})
        and state <> 'MATCHED'`,
    order: db`i.store_id desc, i.mode desc, i.state desc, i.transfer_id desc`,
  }
}

/** One transfer of a store's inbox; undefined when it is not there, or left the chain. */
export async function readTransfer(
  sql: SqlLike,
  { storeId, modes }: TransferScope,
  transferId: string,
): Promise<TransferRow | undefined> {
  const rows = await sql<TransferRow[]>`
    select ${transferColumns(sql)}
    from inbox i
    join transfers t on t.transfer_id = i.transfer_id
    where i.store_id = ${storeId} and i.transfer_id = ${transferId} and i.mode = any (${[...modes]})
      and t.state <> 'RETRACTED'`
  return rows[0]
}

/** Locks a transfer of a store's inbox; undefined when it is not there, or left the chain. */
export async function lockTransfer(
  tx: Tx,
  { storeId, mode }: { storeId: string; mode: Mode },
  transferId: string,
): Promise<LockedTransfer | undefined> {
  const rows = await tx<LockedTransfer[]>`
    select t.transfer_id, t.state, t.payment_id, t.deployment, t.token, t.contract
    from inbox i
    join transfers t on t.transfer_id = i.transfer_id
    where i.store_id = ${storeId} and i.transfer_id = ${transferId} and i.mode = ${mode}
      and t.state <> 'RETRACTED'
    for update of t`
  return rows[0]
}

/** Whether the store has this payment in this mode. */
export async function readIsOwnPayment(
  tx: Tx,
  { storeId, mode }: { storeId: string; mode: Mode },
  paymentId: string,
): Promise<boolean> {
  const rows = await tx`
    select from payments
    where payment_id = ${paymentId} and store_id = ${storeId} and mode = ${mode}`
  return rows.length === 1
}

/**
 * Gives an unmatched transfer to a payment, and takes it from the other stores that had it listed. It counts from now:
 * the next second reading of the chain settles it when it is at depth, however old its block.
 */
export async function attachToPayment(
  tx: Tx,
  storeId: string,
  transferId: string,
  paymentId: string,
): Promise<void> {
  await tx`
    with attached as (
      update transfers set
        state = 'MATCHED', payment_id = ${paymentId}, rule = 'attached', reason = null, is_final = false
      where transfer_id = ${transferId} and state = 'UNMATCHED'
      returning transfer_id
    ),
    elsewhere as (
      delete from inbox i using attached a
      where i.transfer_id = a.transfer_id and i.store_id <> ${storeId}
    )
    update inbox i set state = 'MATCHED', note = null, resolved_at = null
    from attached a
    where i.transfer_id = a.transfer_id and i.store_id = ${storeId}`
}

/** Notes what the seller did about an unmatched transfer, in this store's inbox alone. */
export async function resolveListed(
  tx: Tx,
  storeId: string,
  transferId: string,
  note: string,
): Promise<void> {
  await tx`
    update inbox set state = 'RESOLVED', note = ${note}, resolved_at = service_now()
    where store_id = ${storeId} and transfer_id = ${transferId}`
}

/** The deployment's position, from which confirmations are told; null when it never ran. */
export async function readPosition(tx: Tx, deployment: string): Promise<number | null> {
  const rows = await tx<{ blockNumber: number | null }[]>`
    select block_number from deployments where deployment = ${deployment}`
  return rows[0]?.blockNumber ?? null
}

/** A store sees its own payments among the candidates: the id of another's is the right to cancel it. */
function transferColumns(sql: SqlLike) {
  return sql`
    t.transfer_id, i.state, t.reason, t.network, t.token, t.mode, t.tx_hash, t.log_index, t.block_number,
    t.sender, t.address, t.amount_base_units, t.decimals, t.payment_id, i.note, t.seen_at, i.resolved_at,
    array(
      select c.payment_id
      from jsonb_array_elements_text(t.candidates) with ordinality as c (payment_id, rank)
      join payments p on p.payment_id = c.payment_id and p.store_id = i.store_id
      order by c.rank
    ) as candidates`
}
