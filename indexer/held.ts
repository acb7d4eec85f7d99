import type { SqlLike, Tx } from '#shared/db.ts'

/** A block in which readings differ about transfers, and to whom. */
export type Difference = { blockNumber: number; recipients: string[] }

/** Where stored transfers lie that a second reading did not find. */
export async function readPlaces(
  tx: Tx,
  transferIds: readonly string[],
): Promise<{ blockNumber: number; address: string }[]> {
  if (transferIds.length === 0) return []
  return tx<{ blockNumber: number; address: string }[]>`
    select block_number, address
    from transfers
    where transfer_id = any (${[...transferIds]})`
}

/** Whose transfers in a block are held. */
export async function readHeldRecipients(
  sql: SqlLike,
  deployment: string,
  blockNumber: number,
): Promise<string[]> {
  const rows = await sql<{ address: string }[]>`
    select distinct address
    from transfers
    where deployment = ${deployment} and is_held and block_number = ${blockNumber}`
  return rows.map((row) => row.address)
}

/** Holds transfers that a second reading did not find: they do not count until a reading finds them. */
export async function holdTransfers(tx: Tx, transferIds: readonly string[]): Promise<void> {
  if (transferIds.length === 0) return
  await tx`
    update transfers t set
      is_held = true,
      -- What decided nothing yet may still be taken back.
      is_final = t.is_final and exists (
        select from payments p where p.payment_id = t.payment_id and p.settled_at is not null
      )
    where t.transfer_id = any (${[...transferIds]})`
}

/** Lets transfers count again that a later reading confirmed. */
export async function releaseHeld(tx: Tx, transferIds: readonly string[]): Promise<void> {
  if (transferIds.length === 0) return
  await tx`
    update transfers set is_held = false
    where transfer_id = any (${[...transferIds]}) and is_held`
}

/** Takes back held transfers that a block of another hash has taken the place of. */
export async function retractHeld(
  tx: Tx,
  deployment: string,
  block: { number: number; hash: string },
): Promise<string[]> {
  const rows = await tx<{ paymentId: string | null }[]>`
    update transfers set state = 'RETRACTED', is_held = false
    where deployment = ${deployment} and block_number = ${block.number} and is_held
      and block_hash <> ${block.hash} and not is_final and state <> 'RETRACTED'
    returning payment_id`
  return [...new Set(rows.flatMap((row) => row.paymentId ?? []))]
}

/** Takes back held transfers that were shown never to have been; answers the payments that lost some. What settled one stays. */
export async function retractDisproved(tx: Tx, transferIds: readonly string[]): Promise<string[]> {
  if (transferIds.length === 0) return []
  const rows = await tx<{ paymentId: string | null }[]>`
    update transfers set state = 'RETRACTED', is_held = false
    where transfer_id = any (${[...transferIds]}) and is_held and not is_final
      and state <> 'RETRACTED'
    returning payment_id`
  return [...new Set(rows.flatMap((row) => row.paymentId ?? []))]
}

/** Differences by block, lowest first. */
export function groupDifferences(
  places: readonly { blockNumber: number; address: string }[],
): Difference[] {
  const recipients = new Map<number, Set<string>>()
  for (const { blockNumber, address } of places) {
    recipients.set(blockNumber, (recipients.get(blockNumber) ?? new Set()).add(address))
  }
  return [...recipients]
    .map(([blockNumber, addresses]) => ({ blockNumber, recipients: [...addresses] }))
    .sort((a, b) => a.blockNumber - b.blockNumber)
}
