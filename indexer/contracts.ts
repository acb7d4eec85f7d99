import type { Db } from '#shared/db.ts'
import type { Deployment, WatchedToken } from '#shared/networks/registry.ts'

/**
 * Hours, by the chain's clock, for which a contract that the table does not name any more is watched on, and its payments'
 * quarantine on top: a window is 24 at most, and an API may run on the table before for as long again.
 */
const RETIRED_HOURS = 48
/** Retired contracts watched on a deployment; each is part of every reading. */
const RETIRED_MAX = 16
/** Newest payments that are looked at for contracts that nobody watches: within seconds those of every API. */
const LOOKED_AT_MAX = 1_000

/** Notes which contracts a deployment is followed for, once its node has shown that they are what the table says. */
export async function keepContracts(db: Db, { deployment, tokens }: Deployment): Promise<void> {
  const named = Object.entries(tokens)
  const contracts = named.map(([, { contract }]) => contract)
  await db`
    with kept as (
      insert into token_contracts (deployment, contract, token, decimals)
      select ${deployment}, * from unnest(
        ${contracts}::text[],
        ${named.map(([token]) => token)}::text[],
        ${named.map(([, { decimals }]) => decimals)}::integer[]
      )
      on conflict (deployment, contract) do update set
        token = excluded.token, decimals = excluded.decimals, retired_at = null
    )
    update token_contracts set retired_at = service_now()
    where deployment = ${deployment} and retired_at is null and contract <> all (${contracts})`
}

/** What the table named before, on a deployment, and payments may name still. */
export async function readRetired(
  db: Db,
  { deployment, tokens }: Deployment,
  quarantineHours: number,
): Promise<WatchedToken[]> {
  const contracts = Object.values(tokens).map(({ contract }) => contract)
  return db<WatchedToken[]>`
    select c.token, c.contract, c.decimals
    from token_contracts c
    join deployments d on d.deployment = c.deployment
    where c.deployment = ${deployment} and c.contract <> all (${contracts})
      -- Every window has closed, and every late transfer been seen, when blocks so new were read twice.
      and coalesce(d.audited_time < c.retired_at + make_interval(hours => ${RETIRED_HOURS + quarantineHours}), true)
    order by c.retired_at desc
    limit ${RETIRED_MAX}`
}

/** The contracts that the newest payments wait for on some deployments. */
export async function readAwaited(
  db: Db,
  deployments: readonly string[],
): Promise<{ deployment: string; contract: string }[]> {
  return db<{ deployment: string; contract: string }[]>`
    select distinct deployment, contract
    from (
      select deployment, contract, status, clock
      from payments
      order by payment_id desc
      limit ${LOOKED_AT_MAX}
    ) p
    where status = 'PENDING' and clock = 'CHAIN' and deployment = any (${[...deployments]})`
}
