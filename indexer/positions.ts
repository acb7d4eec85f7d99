import type { Tx } from '#shared/db.ts'
import { idFloor } from '#shared/ids.ts'

/**
 * Payments claimed while the position was above a block that is now returned to. They are as young as that block's
 * successors, so they are found by the time in their ids.
 */
export async function readClaimedAbove(
  tx: Tx,
  deployment: string,
  block: { number: number; timeMs: number },
  clockToleranceMs: number,
): Promise<string[]> {
  // A chain whose clock runs ahead dates its blocks later than the payments that were claimed on them.
  const [clocks] = await tx<{ aheadMs: number }[]>`
    select coalesce(greatest(0, extract(epoch from head_time - head_seen_at) * 1000), 0)::double precision as ahead_ms
    from deployments
    where deployment = ${deployment}`
  const earliestMs = block.timeMs - (clocks?.aheadMs ?? 0) - clockToleranceMs
  const rows = await tx<{ paymentId: string }[]>`
    select payment_id
    from payments
    where payment_id >= ${idFloor('pay', earliestMs)}
      and deployment = ${deployment} and position_block > ${block.number}`
  return rows.map((row) => row.paymentId)
}

/** Brings the position at which payments were claimed down to a block of the branch that is followed now. */
export async function lowerPositions(
  tx: Tx,
  paymentIds: readonly string[],
  blockNumber: number,
): Promise<void> {
  if (paymentIds.length === 0) return
  await tx`
    update payments set position_block = ${blockNumber}
    where payment_id = any (${[...paymentIds]}) and position_block > ${blockNumber}`
}
