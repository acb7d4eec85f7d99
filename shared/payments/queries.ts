import { column } from '#shared/db/columns.ts'
import { inParts } from '#shared/db/parts.ts'
import type { SqlLike, Tx } from '#shared/db.ts'
import type { LockedPayment, PaymentReading } from '#shared/payments/row.ts'

/** Payments read in one statement. */
const READ_MAX = 1_000

/** A payment as it is shown, or undefined when there is none. One query. */
export async function readPayment(
  sql: SqlLike,
  paymentId: string,
): Promise<PaymentReading | undefined> {
  const rows = await sql<PaymentReading[]>`
    select p.*, s.branding, d.block_number as position, service_now() as now
    from payments p
    join stores s on s.store_id = p.store_id
    left join deployments d on d.deployment = p.deployment
    where p.payment_id = ${paymentId}`
  return rows[0]
}

/**
 * Open payments looked at for each deployment that is off: in test mode some may have been made since, which go by our clock.
 */
const LOOKED_AT_MAX = 10_000

/**
 * Which of these deployments, all of them off, have open payments that go by the chain's clock: nothing settles or ends those
 * before the deployment is on again.
 */
export async function readForsaken(
  sql: SqlLike,
  deployments: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ deployment: string }[]>`
    select o.deployment
    from unnest(${[...deployments]}::text[]) as o (deployment)
    where exists (
      select
      from (
        select s.payment_id from slots s
        where s.deployment = o.deployment and s.is_open
        limit ${LOOKED_AT_MAX}
      ) s
      join payments p on p.payment_id = s.payment_id
      where p.clock = 'CHAIN'
    )
    order by o.deployment`
  return rows.map((row) => row.deployment)
}

/**
 * Locks payments for a change, in id order so that two transactions never wait for each other in a circle.
 * Unknown ids are left out.
 */
export async function lockPayments(
  tx: Tx,
  paymentIds: readonly string[],
): Promise<Map<string, LockedPayment>> {
  const read = (part: readonly string[]) => tx<LockedPayment[]>`
    select p.*, s.top_up_until_expiry, service_now() as now
    from payments p
    join stores s on s.store_id = p.store_id
    where p.payment_id = any (${column(part)}::text[])
    order by p.payment_id
    for update of p`
  // Ids are ASCII: sorted here as Postgres sorts them.
  const rows = (await inParts([...new Set(paymentIds)].sort(), READ_MAX, read)).flat()
  return new Map(rows.map((row) => [row.paymentId, row]))
}

/** A transfer attributed to a payment. */
export type CreditRow = {
  paymentId: string
  transferId: string
  txHash: string
  blockNumber: number
  logIndex: number
  amountBaseUnits: bigint
  isHeld: boolean
  isFinal: boolean
}

/** What is attributed to these payments now, in the order of the chain. */
export async function readCredits(
  tx: Tx,
  paymentIds: readonly string[],
): Promise<Map<string, CreditRow[]>> {
  const credits = new Map<string, CreditRow[]>(paymentIds.map((id) => [id, []]))
  const read = (part: readonly string[]) => tx<CreditRow[]>`
    select payment_id, transfer_id, tx_hash, block_number, log_index, amount_base_units, is_held, is_final
    from transfers
    where payment_id = any (${[...part]}) and state = 'MATCHED'
    order by block_number, log_index`
  const rows = (await inParts([...credits.keys()], READ_MAX, read)).flat()
  for (const row of rows) credits.get(row.paymentId)?.push(row)
  return credits
}
