import type { Tx } from '#shared/db.ts'
import type { Hit, NewTransfer } from './queries.ts'

/**
 * Holds what stays above a block after a reorganisation to it: the transfers that settled a payment, which is never taken
 * back. They stay held until a reading finds them again, or their transaction is mined anew.
 */
export async function holdSettled(tx: Tx, deployment: string, aboveBlock: number): Promise<void> {
  await tx`
    update transfers set is_held = true
    where deployment = ${deployment} and block_number > ${aboveBlock} and state = 'MATCHED'`
}

/** What is known of transfers about to be stored from when their transactions stood elsewhere. */
export type Known = {
  /** Transactions that settled a payment and are not where they were. */
  settled: ReadonlySet<string>
  /** By the place of a hit among those given: the payment that the seller attached it to. */
  attached: ReadonlyMap<number, string>
}

/** Transfers attached by hand that left the chain, and are looked for: a handful in a deployment's life. */
const ATTACHED_MAX = 1_000

export async function readKnown(tx: Tx, deployment: string, hits: readonly Hit[]): Promise<Known> {
  const rows = await tx<{ txHash: string; transfer: string | null; paymentId: string | null }[]>`
    with settled as (
      select tx_hash from transfers
      where deployment = ${deployment} and is_held and is_final and state = 'MATCHED'
    ),
    attached as (
      select transfer_id, tx_hash, contract, address, amount_base_units, payment_id,
        row_number() over (
          partition by block_hash, tx_hash, contract, address, amount_base_units order by log_index
        ) as place
      from transfers
      where deployment = ${deployment} and state = 'RETRACTED' and rule = 'attached'
      order by transfer_id desc
      limit ${ATTACHED_MAX}
    )
    select tx_hash, null as transfer, null as payment_id from settled
    union all
    -- Of several branches that held it the last one counts.
    (select distinct on (transfer) tx_hash,
      concat_ws(' ', tx_hash, contract, address, amount_base_units, place) as transfer, payment_id
    from attached
    order by transfer, transfer_id desc)`
  const paymentOf = new Map(rows.map(({ transfer, paymentId }) => [transfer, paymentId]))
  const settled = new Set(rows.flatMap((row) => (row.transfer === null ? row.txHash : [])))
  const attached = new Map<number, string>()
  const places = new Map<string, number>()
  if (rows.length === settled.size) return { settled, attached }
  for (const [index, { observation: one }] of hits.entries()) {
    const name = [one.txHash, one.contract, one.to, one.amountBaseUnits].join(' ')
    const place = (places.get(name) ?? 0) + 1
    places.set(name, place)
    const paymentId = paymentOf.get(`${name} ${place}`)
    if (paymentId) attached.set(index, paymentId)
  }
  return { settled, attached }
}

/**
 * Recognises transactions that settled a payment and were mined anew after a reorganisation below the depth: a transaction
 * is on a chain once, so its transfer moves to the new place and stays its payment's, whoever else it might be taken for by
 * now. Answers the given ids of those.
 */
export async function moveRemined(
  tx: Tx,
  deployment: string,
  transfers: readonly NewTransfer[],
  { settled }: Known,
): Promise<Set<string>> {
  const known = transfers.filter(({ hit }) => settled.has(hit.observation.txHash))
  return known.length === 0 ? new Set() : moveKnown(tx, deployment, known)
}

/**
 * A branch that was read before has a row of its own for the transfer, taken back: then that row takes over what the other
 * stood for.
 */
async function moveKnown(
  tx: Tx,
  deployment: string,
  transfers: readonly NewTransfer[],
): Promise<Set<string>> {
  const rows = transfers.map(({ transferId, hit: { observation } }) => ({
    transfer_id: transferId,
    ...{ tx_hash: observation.txHash, block_hash: observation.blockHash },
    ...{ log_index: observation.index, block_number: observation.blockNumber },
    block_time: new Date(observation.blockTimeMs).toISOString(),
    address: observation.to,
    contract: observation.contract,
    amount_base_units: observation.amountBaseUnits.toString(),
  }))
  const moved = await tx<{ transferId: string }[]>`
    with given as (
      select *, row_number() over (
        partition by tx_hash, contract, address, amount_base_units order by log_index
      ) as place
      from jsonb_populate_recordset(null::transfers, ${tx.json(rows)})
    ),
    known as (
      select t.*, row_number() over (
        partition by t.tx_hash, t.contract, t.address, t.amount_base_units order by t.log_index
      ) as place
      from transfers t
      where t.deployment = ${deployment} and t.is_held and t.is_final and t.state = 'MATCHED'
    ),
    pairs as (
      select g.transfer_id as given_id, k.transfer_id as known_id, r.transfer_id as returning_id,
        k.payment_id, k.rule, g.block_hash, g.block_number, g.block_time, g.log_index
      from given g
      join known k on k.tx_hash = g.tx_hash and k.contract = g.contract and k.address = g.address
        and k.amount_base_units = g.amount_base_units and k.place = g.place
        and k.block_hash <> g.block_hash
      left join transfers r on r.deployment = ${deployment} and r.block_hash = g.block_hash
        and r.tx_hash = g.tx_hash and r.log_index = g.log_index
      where r.transfer_id is null or r.state = 'RETRACTED'
    ),
    carried as (
      update transfers t set
        block_hash = p.block_hash, block_number = p.block_number, block_time = p.block_time,
        log_index = p.log_index, is_held = false
      from pairs p
      where t.transfer_id = p.known_id and p.returning_id is null
    ),
    replaced as (
      update transfers t set state = 'RETRACTED', is_final = false, is_held = false
      from pairs p
      where t.transfer_id = p.known_id and p.returning_id is not null
    ),
    returned as (
      update transfers t set
        state = 'MATCHED', payment_id = p.payment_id, rule = p.rule, reason = null, is_final = true
      from pairs p
      where t.transfer_id = p.returning_id
    ),
    unlisted as (
      delete from inbox i using pairs p, payments y
      where i.transfer_id = p.returning_id and y.payment_id = p.payment_id
        and i.store_id <> y.store_id
    ),
    listed as (
      insert into inbox (store_id, mode, transfer_id, state)
      select y.store_id, y.mode, p.returning_id, 'MATCHED'
      from pairs p join payments y on y.payment_id = p.payment_id
      where p.returning_id is not null
      on conflict (store_id, transfer_id) do update set state = 'MATCHED'
    )
    select given_id as transfer_id from pairs`
  return new Set(moved.map((row) => row.transferId))
}
