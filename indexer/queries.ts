import { column } from '#shared/db/columns.ts'
import type { SqlLike, Tx } from '#shared/db.ts'
import { type Deployment, type Mode, watchedTokens } from '#shared/networks/registry.ts'
import type { Credit } from '#shared/payments/settle.ts'
import type { Observation } from './drivers/driver.ts'
import type { Candidate, Decision } from './match.ts'

/** A transfer of a known token to a seller's address, with the slot terms it is matched by. */
export type Hit = {
  observation: Observation
  token: string
  decimals: number
  /** Everybody it may be meant for, where that was read already. */
  candidates?: Candidate[]
}

/** A stored transfer, as the second reading compares it. */
export type StoredTransfer = {
  transferId: string
  blockHash: string
  txHash: string
  logIndex: number
}

/** Which addresses some store receives at, in this mode, that are one of `keys` (lower case, each once). */
export async function readKnownAddresses(
  sql: SqlLike,
  mode: Mode,
  keys: readonly string[],
): Promise<string[]> {
  if (keys.length === 0) return []
  // One text instead of an array: thousands of strangers, none of whose addresses holds a comma.
  const rows = await sql<{ address: string }[]>`
    with seen as (
      select * from string_to_table(${keys.join()}, ',') as t (key)
    )
    select w.address
    from seen
    join wallets w on lower(w.address) = seen.key and w.mode = ${mode}
    union
    select x.address
    from seen
    join xpub_addresses x on lower(x.address) = seen.key
    where exists (select from wallets w where w.xpub = x.xpub and w.mode = ${mode})`
  return rows.map((row) => row.address)
}

/** Most payments ranked for one transfer: beyond a handful the answer is "ambiguous" anyway. */
const NEAR_CANDIDATES_MAX = 20
/** Transfers for which one plan is as good as another. */
const FEW_HITS_MAX = 20

/** Everybody each transfer may be meant for, as far as the rules look, in one query; answers a list per hit. */
export async function readCandidates(
  sql: SqlLike,
  deployment: string,
  hits: readonly Hit[],
  clockToleranceMs: number,
): Promise<Candidate[][]> {
  const found: Candidate[][] = hits.map(() => [])
  if (hits.length === 0) return found
  const mode = deployment.slice(deployment.indexOf(':') + 1)
  const seen = <T>(pick: (one: Observation) => T) => hits.map((hit) => pick(hit.observation))
  // The planner looks into an array that is given, and would make a new plan each time: for a few transfers, at the tip, that
  // takes longer than the query.
  const given = (values: ReturnType<typeof sql>) =>
    hits.length <= FEW_HITS_MAX ? sql`(select ${values})` : values
  const byReference = sql`
      union all
      select seen.index, 'reference', p.payment_id, null
      from seen
      join payments p on p.reference_key = any (string_to_array(seen.refs, ',')) and p.deployment = ${deployment}
        -- A key names a payment; it cannot make money that went elsewhere, or another token, its own.
        and p.address = seen.address and p.token = seen.token and p.contract = seen.contract`
  const rows = await sql<(FoundRow & { index: number })[]>`
    with seen as (
      select * from unnest(
        ${given(sql`${column(hits.map((_, index) => index))}::integer[]`)},
        ${given(sql`${column(seen((one) => one.to))}::text[]`)},
        ${given(sql`${column(hits.map(({ token }) => token))}::text[]`)},
        ${given(sql`${column(seen((one) => one.contract))}::text[]`)},
        ${given(sql`${column(hits.map(({ decimals }) => decimals))}::integer[]`)},
        ${given(sql`${column(seen((one) => one.amountBaseUnits.toString()))}::numeric[]`)},
        ${given(sql`${column(seen((one) => one.blockNumber))}::bigint[]`)},
        ${given(sql`${column(seen((one) => new Date(one.blockTimeMs).toISOString()))}::timestamptz[]`)},
        ${given(sql`${column(seen((one) => one.references?.join() ?? null))}::text[]`)}
      ) as t (index, address, token, contract, decimals, amount, block_number, block_time, refs)
    ),
    sure as (
      select seen.index, 'exact' as kind, s.payment_id, s.previous_payment_id
      from seen
      join slots s on s.address = seen.address and s.amount_base_units = seen.amount
        and s.token = seen.token and s.deployment = ${deployment}
      union all
      select seen.index, 'exclusive', x.payment_id, null
      from seen
      join xpub_addresses x on x.address = seen.address
      join payments p on p.payment_id = x.payment_id and p.mode = ${mode}
      ${hits.some(({ observation }) => observation.references) ? byReference : sql``}
    ),
    -- Who else may be meant matters only where nobody is for sure.
    unsure as (
      select * from seen where index not in (select index from sure)
    ),
    found as (
      select * from sure
      union all
      select seen.index, 'near', near.payment_id, null
      from unsure seen
      cross join lateral (
        select s.payment_id
        from slots s
        join payments p on p.payment_id = s.payment_id
        where s.address = seen.address and s.token = seen.token and s.deployment = ${deployment}
          and s.amount_base_units between seen.amount / 2 and seen.amount * 10
          and not s.is_exclusive
          and p.contract = seen.contract
          and p.status in ('PENDING', 'DETECTED', 'EXPIRED', 'CANCELED')
          and p.created_at <= seen.block_time + make_interval(secs => ${clockToleranceMs / 1000})
          and (p.position_block is null or p.position_block < seen.block_number)
        order by abs(s.amount_base_units - seen.amount)
        limit ${NEAR_CANDIDATES_MAX}
      ) near
      union all
      select seen.index, 'lowest', lowest.payment_id, null
      from unsure seen
      cross join lateral (
        select s.payment_id
        from slots s
        where s.address = seen.address and s.token = seen.token and s.deployment = ${deployment}
        order by s.amount_base_units
        limit 1
      ) lowest
      union all
      select seen.index, 'elsewhere', s.payment_id, null
      from unsure seen
      join slots s on s.address = seen.address and s.is_open
        and s.amount_base_units in (seen.amount, seen.amount * 1e12, trunc(seen.amount / 1e12))
        and (s.token, s.deployment) <> (seen.token, ${deployment})
        and split_part(s.deployment, ':', 2) = ${mode}
      join payments p on p.payment_id = s.payment_id
        and s.amount_base_units * power(10::numeric, 18 - p.decimals)
          = seen.amount * power(10::numeric, 18 - seen.decimals)
    )
    select found.index, found.kind, found.previous_payment_id,
      p.payment_id, p.deployment, p.token, p.contract, p.status, p.amount_base_units as due_base_units,
      p.created_at, p.expires_at, p.settled_at, p.position_block, st.guess_on_shared_address,
      st.top_up_until_expiry, p.price_base_units, p.confirmations_required,
      case when found.kind = 'near' and p.settled_at is null then (
        select jsonb_agg(jsonb_build_array(
          t.transfer_id, t.tx_hash, t.block_number, t.log_index, t.amount_base_units::text, t.is_held
        ))
        from transfers t
        where t.payment_id = p.payment_id and t.state = 'MATCHED'
      ) end as credits
    from found
    join payments p on p.payment_id = found.payment_id
    join stores st on st.store_id = p.store_id`
  for (const row of rows)
    found[row.index]?.push({ ...row, credits: (row.credits ?? []).map(toCredit) })
  return found
}

type FoundRow = Omit<Candidate, 'credits'> & { credits: StoredCredit[] | null }
type StoredCredit = [string, string, number, number, string, boolean]

function toCredit([
  transferId,
  txHash,
  blockNumber,
  logIndex,
  amount,
  isHeld,
]: StoredCredit): Credit {
  return { transferId, txHash, blockNumber, logIndex, amountBaseUnits: BigInt(amount), isHeld }
}

/** A transfer about to be stored; its payment is locked, if it has one. */
export type NewTransfer = { transferId: string; hit: Hit; decision: Decision; storeId?: string }

/**
 * Stores transfers: a block read again changes nothing, one whose branch was left and is canonical again brings its transfers
 * back. Answers the given ids of transfers that are new, or back, with the ids they have. Their payments must be locked.
 */
export async function insertTransfers(
  tx: Tx,
  deployment: Deployment,
  transfers: readonly NewTransfer[],
): Promise<Map<string, string>> {
  const given = once(transfers)
  const addresses = new Set(given.map(({ hit }) => hit.observation.to))
  const hasUnmatched = given.some(({ decision }) => decision.state === 'UNMATCHED')
  // What belongs to nobody is listed in each store that has the address.
  const ofEverybody = tx`
      union all
      select w.store_id, s.mode, s.transfer_id, s.state
      from stored s
      cross join lateral (
        select w.store_id from wallets w where w.address = s.address and w.mode = s.mode
        union
        select w.store_id
        from xpub_addresses x
        join wallets w on w.xpub = x.xpub and w.mode = s.mode
        where x.address = s.address
      ) w
      where s.state = 'UNMATCHED'`
  const rows = await tx<{ givenId: string; transferId: string }[]>`
    with given as (${selectGiven(tx, given)}),
    inserted as (
      insert into transfers (transfer_id, deployment, network, mode, block_hash, tx_hash, log_index,
        block_number, block_time, token, contract, decimals, sender, address, amount_base_units,
        state, payment_id, rule, reason, candidates)
      select
        t.transfer_id, ${deployment.deployment}, ${deployment.network}, ${deployment.mode},
        t.block_hash, t.tx_hash, t.log_index, t.block_number, t.block_time, t.token, t.contract,
        t.decimals, t.sender, t.address, t.amount_base_units, t.state, t.payment_id, t.rule,
        t.reason, t.candidates::jsonb
      from given t
      on conflict (deployment, block_hash, tx_hash, log_index) do update set
        state = excluded.state, payment_id = excluded.payment_id, rule = excluded.rule,
        reason = excluded.reason, candidates = excluded.candidates, is_held = false
      where transfers.state = 'RETRACTED'
      returning transfer_id, mode, block_hash, tx_hash, log_index, address, state
    ),
    stored as (
      select i.*, g.transfer_id as given_id, g.store_id
      from inserted i
      join given g on g.block_hash = i.block_hash and g.tx_hash = i.tx_hash and g.log_index = i.log_index
    ),
    used as (
      update xpub_addresses set received_at = service_now()
      where address = any (${[...addresses]}) and received_at is null
    ),
    listed as (
      insert into inbox (store_id, mode, transfer_id, state)
      select s.store_id, s.mode, s.transfer_id, s.state from stored s where s.state = 'MATCHED'
      ${hasUnmatched ? ofEverybody : tx``}
      on conflict (store_id, transfer_id) do update set state = excluded.state
    )
    select given_id, transfer_id from stored`
  await unlistElsewhere(
    tx,
    rows.filter(({ givenId, transferId }) => givenId !== transferId),
  )
  return new Map(rows.map(({ givenId, transferId }) => [givenId, transferId]))
}

/** Columns of values: reading a thousand objects takes the server longer than storing their rows does. */
function selectGiven(tx: Tx, given: readonly NewTransfer[]) {
  const of = <T>(pick: (one: Observation) => T) => given.map(({ hit }) => pick(hit.observation))
  const decided = <T>(pick: (one: Decision) => T) => given.map(({ decision }) => pick(decision))
  return tx`
    select * from unnest(
      ${column(given.map(({ transferId }) => transferId))}::text[],
      ${column(of((one) => one.blockHash))}::text[],
      ${column(of((one) => one.txHash))}::text[],
      ${column(of((one) => one.index))}::integer[],
      ${column(of((one) => one.blockNumber))}::bigint[],
      ${column(of((one) => new Date(one.blockTimeMs).toISOString()))}::timestamptz[],
      ${column(given.map(({ hit }) => hit.token))}::text[],
      ${column(of((one) => one.contract))}::text[],
      ${column(given.map(({ hit }) => hit.decimals))}::integer[],
      ${column(of((one) => one.from))}::text[],
      ${column(of((one) => one.to))}::text[],
      ${column(of((one) => one.amountBaseUnits.toString()))}::numeric[],
      ${column(decided((one) => one.state))}::text[],
      ${column(decided((one) => (one.state === 'MATCHED' ? one.paymentId : null)))}::text[],
      ${column(given.map(({ storeId }) => storeId ?? null))}::text[],
      ${column(decided((one) => one.rule))}::text[],
      ${column(decided((one) => (one.state === 'MATCHED' ? null : one.reason)))}::text[],
      ${column(decided((one) => JSON.stringify(one.state === 'MATCHED' ? [] : one.candidates)))}::text[]
    ) as t (
      transfer_id, block_hash, tx_hash, log_index, block_number, block_time, token, contract, decimals,
      sender, address, amount_base_units, state, payment_id, store_id, rule, reason, candidates
    )`
}

/** What is back may have been listed in stores it does not belong to by now. */
async function unlistElsewhere(tx: Tx, back: readonly { transferId: string }[]): Promise<void> {
  if (back.length === 0) return
  await tx`
    delete from inbox l
    using transfers t
    join payments p on p.payment_id = t.payment_id
    where t.transfer_id = any (${back.map(({ transferId }) => transferId)})
      and l.transfer_id = t.transfer_id and l.store_id <> p.store_id`
}

/** Each place of a chain once: a node may tell of the same transfer twice. */
function once(transfers: readonly NewTransfer[]): NewTransfer[] {
  const byPlace = new Map<string, NewTransfer>()
  for (const transfer of transfers) {
    const { blockHash, txHash, index } = transfer.hit.observation
    const place = `${blockHash} ${txHash} ${index}`
    if (!byPlace.has(place)) byPlace.set(place, transfer)
  }
  return [...byPlace.values()]
}

/** Marks transfers that reached depth without deciding anything yet. */
export async function markFinal(tx: Tx, transferIds: readonly string[]): Promise<void> {
  if (transferIds.length === 0) return
  await tx`
    update transfers set is_final = true
    where transfer_id = any (${[...transferIds]}) and not is_final`
}

/** Payments with attributed transfers up to this block that have not been counted yet, and may be. */
export async function readPaymentsAtDepth(
  tx: SqlLike,
  deployment: string,
  depthBlock: number,
): Promise<string[]> {
  const rows = await tx<{ paymentId: string }[]>`
    select distinct payment_id
    from transfers
    where deployment = ${deployment} and state = 'MATCHED' and not is_final and not is_held
      and block_number <= ${depthBlock}`
  return rows.map((row) => row.paymentId)
}

/** What the first reading stored for a range of blocks, of the contracts that are read now. */
export async function readStoredTransfers(
  tx: Tx,
  deployment: Deployment,
  from: number,
  to: number,
): Promise<StoredTransfer[]> {
  const contracts = watchedTokens(deployment).map(({ contract }) => contract)
  return tx<StoredTransfer[]>`
    select transfer_id, block_hash, tx_hash, log_index
    from transfers
    where deployment = ${deployment.deployment} and block_number between ${from} and ${to}
      and contract = any (${contracts}) and state <> 'RETRACTED'`
}

/** Payments with attributed transfers above a block. */
export async function readPaymentsAbove(
  tx: Tx,
  deployment: string,
  aboveBlock: number,
): Promise<string[]> {
  const rows = await tx<{ paymentId: string }[]>`
    select distinct payment_id
    from transfers
    where deployment = ${deployment} and block_number > ${aboveBlock} and state = 'MATCHED'`
  return rows.map((row) => row.paymentId)
}

/**
 * Takes back the transfers above a block, but those that settled a payment; answers the payments that lost some. The
 * payments must be locked.
 */
export async function retractTransfers(
  tx: Tx,
  deployment: string,
  aboveBlock: number,
): Promise<string[]> {
  const rows = await tx<{ paymentId: string | null }[]>`
    update transfers t set state = 'RETRACTED', is_final = false, is_held = false
    where t.deployment = ${deployment} and t.block_number > ${aboveBlock} and t.state <> 'RETRACTED'
      and not (t.is_final and exists (
        select from payments p where p.payment_id = t.payment_id and p.settled_at is not null
      ))
    returning payment_id`
  return [...new Set(rows.flatMap((row) => row.paymentId ?? []))]
}
