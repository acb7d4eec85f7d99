import type { Db, SqlLike } from '#shared/db.ts'
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
    on conflict (deployment) do update set confirmations = excluded.confirmations`
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
const BLOCKS_KEPT = 1_024

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
      returning deployment
    ),
    trimmed as (
      delete from blocks b using moved
      where b.deployment = moved.deployment
        and (b.block_number < ${block.number - BLOCKS_KEPT} or b.block_number > ${block.number})
    )
    insert into blocks (deployment, block_number, block_hash, parent_hash, block_time)
    select deployment, ${block.number}, ${block.hash}, ${block.parentHash}, ${time} from moved
    on conflict (deployment, block_number) do update set
      block_hash = excluded.block_hash, parent_hash = excluded.parent_hash, block_time = excluded.block_time
    returning 1`
  return rows.length === 1
}

/** Moves the second reading's mark, under the same fence. */
export async function swapAudited(
  sql: SqlLike,
  swap: { deployment: string; epoch: number; number: number; timeMs: number },
): Promise<boolean> {
  const rows = await sql`
    update deployments set audited_number = ${swap.number}, audited_time = ${new Date(swap.timeMs)}
    where deployment = ${swap.deployment} and epoch = ${swap.epoch}
    returning 1`
  return rows.length === 1
}

/** Notes how far the chain itself is. `head_seen_at` is when it last moved: a chain that stands still is reported. */
export async function writeHead(
  db: Db,
  deployment: string,
  head: { number: number; timeMs: number },
): Promise<void> {
  await db`
    update deployments set
      head_number = ${head.number}, head_time = ${new Date(head.timeMs)}, head_seen_at = service_now()
    where deployment = ${deployment} and head_number is distinct from ${head.number}`
}

/** Stored blocks at or below a height, newest first: what a reorganisation is walked back along. */
export async function readBlocks(
  db: Db,
  deployment: string,
): Promise<{ number: number; hash: string }[]> {
  return db<{ number: number; hash: string }[]>`
    select block_number as number, block_hash as hash
    from blocks
    where deployment = ${deployment}
    order by block_number desc
    limit ${BLOCKS_KEPT}`
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

/** Addresses where payments wait on this deployment, up to `limit`: what a log subscription is narrowed to. */
export async function readOpenAddresses(
  db: Db,
  deployment: string,
  limit: number,
): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select distinct address
    from slots
    where deployment = ${deployment} and is_open
    limit ${limit}`
  return rows.map((row) => row.address)
}

/** Addresses at which a slot is held on this deployment, open or in quarantine, up to `limit`. */
export async function readHeldAddresses(
  db: Db,
  deployment: string,
  limit: number,
): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select distinct address
    from slots
    where deployment = ${deployment}
    limit ${limit}`
  return rows.map((row) => row.address)
}
