import type { Db, SqlLike, Tx } from '#shared/db.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import type { BlockRef } from './drivers/driver.ts'
import { LEASE_SECONDS } from './lease.ts'

/** Where a deployment stands, as its row says. */
export type CursorRow = {
  blockNumber: number | null
  blockHash: string | null
  auditedNumber: number | null
  auditedTime: Date | null
}

/** Makes the deployment's row, or brings its depth up to date. */
export async function registerDeployment(db: Db, deployment: Deployment): Promise<void> {
  await db`
    insert into deployments (deployment, confirmations)
    values (${deployment.deployment}, ${deployment.confirmations})
    on conflict (deployment) do update set confirmations = excluded.confirmations
    where deployments.confirmations <> excluded.confirmations`
}

/** Says why a deployment is not followed; null when it is. */
export async function writeHaltedReason(
  db: Db,
  deployment: string,
  reason: string | null,
): Promise<void> {
  await db`
    update deployments set halted_reason = ${reason}
    where deployment = ${deployment} and halted_reason is distinct from ${reason}`
}

/** Stores the hash of the chain's first block, or answers the one that was stored before. */
export async function keepGenesis(
  db: Db,
  deployment: string,
  hash: string,
): Promise<string | undefined> {
  const rows = await db<{ genesisHash: string }[]>`
    with kept as (
      update deployments set genesis_hash = ${hash}
      where deployment = ${deployment} and genesis_hash is null
      returning genesis_hash
    )
    select genesis_hash from kept
    union all
    select genesis_hash from deployments where deployment = ${deployment} and genesis_hash is not null`
  return rows[0]?.genesisHash
}

export async function readCursor(sql: SqlLike, deployment: string): Promise<CursorRow | undefined> {
  const rows = await sql<CursorRow[]>`
    select block_number, block_hash, audited_number, audited_time
    from deployments
    where deployment = ${deployment}`
  return rows[0]
}

/** When the oldest payment that still waits here was created; the first run starts no later than that. */
export async function readOldestOpen(db: Db, deployment: string): Promise<Date | undefined> {
  const rows = await db<{ createdAt: Date | null }[]>`
    select min(p.created_at) as created_at
    from slots s
    join payments p on p.payment_id = s.payment_id
    where s.deployment = ${deployment} and s.is_open`
  return rows[0]?.createdAt ?? undefined
}

/** Blocks kept for walking back along: deeper than any reorganisation a supported chain has shown. */
export const BLOCKS_KEPT = 1_024

export type CursorSwap = {
  deployment: string
  epoch: number
  /** Hash the cursor stands on now; null before the first block. */
  previousHash: string | null
  block: BlockRef
}

/**
 * Moves the cursor by compare-and-swap on epoch and hash, renews the lease and stores the block; false when somebody
 * else leads or the cursor stands elsewhere. The last statement of its transaction.
 */
export async function swapCursor(sql: SqlLike, swap: CursorSwap): Promise<boolean> {
  const { block } = swap
  const time = new Date(block.timeMs)
  const rows = await sql`
    with moved as (
      update deployments set
        block_number = ${block.number},
        block_hash = ${block.hash},
        block_time = ${time},
        lease_until = greatest(lease_until, service_now() + make_interval(secs => ${LEASE_SECONDS}))
      where deployment = ${swap.deployment} and epoch = ${swap.epoch}
        and block_hash is not distinct from ${swap.previousHash}
      returning deployment, audited_number
    ),
    trimmed as (
      delete from blocks b using moved
      where b.deployment = moved.deployment
        and (b.block_number < ${block.number - BLOCKS_KEPT} or b.block_number > ${block.number})
        -- The newest block that was read twice stays: nothing below it is expected to change.
        and b.block_number is distinct from moved.audited_number
    )
    insert into blocks (deployment, block_number, block_hash, parent_hash, block_time)
    select deployment, ${block.number}, ${block.hash}, ${block.parentHash}, ${time} from moved
    on conflict (deployment, block_number) do update set
      block_hash = excluded.block_hash, parent_hash = excluded.parent_hash, block_time = excluded.block_time
    returning 1`
  return rows.length === 1
}

export type AuditedSwap = {
  deployment: string
  epoch: number
  number: number
  hash: string
  timeMs: number
  /** How many transfers the two readings disagreed about: the alarm. */
  disagreementCount?: number
}

/** Moves the second reading's mark, under the same fence, and keeps its block to walk back to. */
export async function swapAudited(sql: SqlLike, swap: AuditedSwap): Promise<boolean> {
  const { number, hash, disagreementCount = 0 } = swap
  const time = new Date(swap.timeMs)
  const rows = await sql`
    with moved as (
      update deployments set
        audited_number = ${number},
        audited_time = ${time},
        disagreement_count = disagreement_count + ${disagreementCount},
        disagreed_at = case when ${disagreementCount > 0} then service_now() else disagreed_at end
      where deployment = ${swap.deployment} and epoch = ${swap.epoch}
      returning deployment
    ),
    kept as (
      insert into blocks (deployment, block_number, block_hash, parent_hash, block_time)
      select deployment, ${number}, ${hash}, '', ${time} from moved
      on conflict (deployment, block_number) do nothing
    )
    select 1 from moved`
  return rows.length === 1
}

/** Takes the mark back to an ancestor when it lies above, in the transaction of the cursor. */
export async function lowerAudited(
  sql: SqlLike,
  deployment: string,
  epoch: number,
  ancestor: BlockRef,
): Promise<void> {
  await sql`
    update deployments set
      audited_number = ${ancestor.number}, audited_time = ${new Date(ancestor.timeMs)}
    where deployment = ${deployment} and epoch = ${epoch} and audited_number > ${ancestor.number}`
}

/** Locks the deployment's row while this epoch holds; undefined when somebody else leads. */
export async function lockAudited(
  tx: Tx,
  deployment: string,
  epoch: number,
): Promise<{ auditedNumber: number; auditedTime: Date } | undefined> {
  const rows = await tx<{ auditedNumber: number; auditedTime: Date }[]>`
    select audited_number, audited_time
    from deployments
    where deployment = ${deployment} and epoch = ${epoch} and audited_time is not null
    for update`
  return rows[0]
}

/** Counts a disagreement that concerns whole blocks. */
export async function noteDisagreement(db: Db, deployment: string): Promise<void> {
  await db`
    update deployments set
      disagreement_count = disagreement_count + 1, disagreed_at = service_now()
    where deployment = ${deployment}`
}

/**
 * Notes how far the chain itself is. `head_seen_at` is when it last moved where it had not been read before: a chain that
 * stands still, or goes on below the cursor, is reported.
 */
export async function writeHead(
  db: Db,
  deployment: string,
  head: { number: number; timeMs: number },
): Promise<void> {
  await db`
    update deployments set
      head_number = ${head.number},
      head_time = ${new Date(head.timeMs)},
      head_seen_at = case
        when ${head.number} >= coalesce(block_number, 0) then service_now()
        else head_seen_at
      end
    where deployment = ${deployment} and head_number is distinct from ${head.number}`
}

/** Blocks per second of a catch-up; null when there is none. */
export async function writeRate(
  db: Db,
  deployment: string,
  blocksPerSecond: number | null,
): Promise<void> {
  await db`
    update deployments set blocks_per_second = ${blocksPerSecond}
    where deployment = ${deployment} and blocks_per_second is distinct from ${blocksPerSecond}`
}

/** The hash stored for a height, where there is one: of a range only its last block is stored. */
export async function readBlockHash(
  db: Db,
  deployment: string,
  number: number,
): Promise<string | undefined> {
  const rows = await db<{ blockHash: string }[]>`
    select block_hash from blocks where deployment = ${deployment} and block_number = ${number}`
  return rows[0]?.blockHash
}

/** Blocks above a height that hold held transfers, lowest first. */
export async function readHeldBlocks(
  db: Db,
  deployment: string,
  above: number,
  limit: number,
): Promise<number[]> {
  const rows = await db<{ blockNumber: number }[]>`
    select distinct block_number
    from transfers
    where deployment = ${deployment} and is_held and block_number > ${above}
    order by block_number
    limit ${limit}`
  return rows.map((row) => row.blockNumber)
}

/** Stored blocks, newest first: what a reorganisation is walked back along. */
export async function readBlocks(
  db: Db,
  deployment: string,
): Promise<{ number: number; hash: string }[]> {
  return db<{ number: number; hash: string }[]>`
    select block_number as number, block_hash as hash
    from blocks
    where deployment = ${deployment}
    order by block_number desc
    limit ${BLOCKS_KEPT + 1}`
}

/** Whether anything waits for its depth, or for its window to close, at or before this block and time. */
export async function readIsAuditWanted(
  db: Db,
  deployment: string,
  depthBlock: number,
): Promise<boolean> {
  const rows = await db<{ isWanted: boolean }[]>`
    select exists (
      select from transfers
      where deployment = ${deployment} and state = 'MATCHED' and not is_final
        and block_number <= ${depthBlock}
    ) or exists (
      select from slots where is_open and deployment = ${deployment} and expires_at < service_now()
    ) as is_wanted`
  return rows[0]?.isWanted ?? false
}

/** How deployments stand, for the numbers of a process. */
export type ProgressRow = {
  deployment: string
  behind: number
  unaudited: number
  blocksPerSecond: number | null
  disagreementCount: number
  heldCount: number
  isHalted: boolean
}

export async function readProgress(db: Db, deployments: readonly string[]): Promise<ProgressRow[]> {
  return db<ProgressRow[]>`
    select d.deployment,
      coalesce(greatest(0, d.head_number - d.block_number), 0) as behind,
      coalesce(greatest(0, d.block_number - d.audited_number), 0) as unaudited,
      d.blocks_per_second, d.disagreement_count,
      (select count(*) from transfers t where t.deployment = d.deployment and t.is_held) as held_count,
      d.halted_reason is not null as is_halted
    from deployments d
    where d.deployment = any (${[...deployments]})`
}
