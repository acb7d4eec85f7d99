import type { Db } from '#shared/db.ts'

/** Whether any payment waits on a deployment. */
export async function readIsOpen(db: Db, deployment: string): Promise<boolean> {
  const rows = await db<{ isOpen: boolean }[]>`
    select exists (
      select from slots where deployment = ${deployment} and is_open
    ) as is_open`
  return rows[0]?.isOpen ?? false
}

/**
 * Addresses where payments wait on this deployment, up to `limit`: what a log subscription is narrowed to. From one address to
 * the next, since a shared one may hold a million slots.
 */
export async function readOpenAddresses(
  db: Db,
  deployment: string,
  limit: number,
): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    with recursive found as (
      (select address from slots
        where deployment = ${deployment} and is_open
        order by address limit 1)
      union all
      select (select s.address from slots s
        where s.deployment = ${deployment} and s.is_open and s.address > f.address
        order by s.address limit 1)
      from found f where f.address is not null
    )
    select address from found where address is not null limit ${limit}`
  return rows.map((row) => row.address)
}

/** Addresses at which a slot is held on this deployment, open or in quarantine, up to `limit`; likewise. */
export async function readHeldAddresses(
  db: Db,
  deployment: string,
  limit: number,
): Promise<string[]> {
  const open = readOpenAddresses(db, deployment, limit)
  const rows = await db<{ address: string }[]>`
    with recursive found as (
      (select address from slots
        where deployment = ${deployment} and not is_open
        order by address limit 1)
      union all
      select (select s.address from slots s
        where s.deployment = ${deployment} and not s.is_open and s.address > f.address
        order by s.address limit 1)
      from found f where f.address is not null
    )
    select address from found where address is not null limit ${limit}`
  return [...new Set([...(await open), ...rows.map((row) => row.address)])].sort().slice(0, limit)
}
