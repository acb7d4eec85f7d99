import type { Db } from '#shared/db.ts'
import { TOKENS } from '#shared/networks/names.ts'
import type { Deployment } from '#shared/networks/registry.ts'
import { readForsaken } from '#shared/payments/queries.ts'
import { stalledAfterMs } from '#shared/stalled.ts'
import type { ApiDeps } from '../deps.ts'

/**
 * What a deployment is doing. `OFF`: no RPC; in test mode it settles by simulate. `NOT_RUNNING`: no indexer holds it.
 * `STALLED`: no new head has been seen for {@link stalledAfterMs}. `HALTED`: it stopped itself.
 */
export const NETWORK_STATES = ['RUNNING', 'OFF', 'NOT_RUNNING', 'STALLED', 'HALTED'] as const
export type NetworkState = (typeof NETWORK_STATES)[number]

/** A deployment's row, with ages told by Postgres's clock. */
type Progress = {
  deployment: string
  blockNumber: number | null
  headNumber: number | null
  /** While it catches up. */
  blocksPerSecond: number | null
  isLed: boolean
  /** Since a new head was seen last; null when none ever was. */
  headAgeMs: number | null
  isHalted: boolean
}

/** Every deployment that can be checked out on, with its facts and its state. */
export async function readNetworks(deps: ApiDeps) {
  const progress = await readProgress(deps.db)
  return [...deps.config.deployments.values()]
    .filter((deployment) => deployment.isOn || deployment.mode === 'test')
    .map((deployment) => describe(deployment, progress.get(deployment.deployment)))
}

/**
 * The deployments that see nothing, each with why; empty when all is well. Those that are off, or not configured any more, are
 * among them while payments wait there.
 */
export async function readFaults({
  db,
  config: { deployments },
}: ApiDeps): Promise<{ deployment: string; state: NetworkState }[]> {
  const progress = await readProgress(db)
  const known = [...new Set([...deployments.keys(), ...progress.keys()])]
  const off = known.filter((name) => !deployments.get(name)?.isOn)
  const forsaken = new Set(await readForsaken(db, off))
  return known.flatMap((deployment) => {
    const one = deployments.get(deployment)
    const state = one ? stateOf(one, progress.get(deployment)) : 'OFF'
    const isWell = state === 'RUNNING' || (state === 'OFF' && !forsaken.has(deployment))
    return isWell ? [] : [{ deployment, state }]
  })
}

function describe(one: Deployment, progress: Progress | undefined) {
  const { blockNumber = null, headNumber = null, blocksPerSecond = null } = progress ?? {}
  const blocksBehind =
    blockNumber === null || headNumber === null ? null : Math.max(0, headNumber - blockNumber)
  return {
    network: one.network,
    name: one.networkName,
    mode: one.mode,
    family: one.family,
    tokens: TOKENS.flatMap((token) => {
      const facts = one.tokens[token]
      return facts === undefined ? [] : [{ token, ...facts }]
    }),
    confirmations: one.confirmations,
    isOn: one.isOn,
    state: stateOf(one, progress),
    blockNumber,
    headNumber,
    blocksBehind,
    secondsToCatchUp:
      blocksBehind === null || !blocksPerSecond ? null : Math.ceil(blocksBehind / blocksPerSecond),
  }
}

function stateOf(one: Deployment, progress: Progress | undefined): NetworkState {
  if (!one.isOn) return 'OFF'
  if (progress?.isHalted) return 'HALTED'
  if (!progress?.isLed) return 'NOT_RUNNING'
  const { headAgeMs } = progress
  const isStalled = headAgeMs === null || headAgeMs > stalledAfterMs(one.blockTimeMs)
  return isStalled ? 'STALLED' : 'RUNNING'
}

async function readProgress(db: Db): Promise<Map<string, Progress>> {
  const rows = await db<Progress[]>`
    select deployment, block_number, head_number, blocks_per_second,
      coalesce(lease_until > service_now(), false) as is_led,
      (extract(epoch from service_now() - head_seen_at) * 1000)::double precision as head_age_ms,
      halted_reason is not null as is_halted
    from deployments`
  return new Map(rows.map((row) => [row.deployment, row]))
}
