import { randomBytes } from 'node:crypto'
import type { Db } from '#shared/db.ts'
import { newId } from '#shared/ids.ts'
import { buildDeployments, type TokenContract } from '#shared/networks/registry.ts'
import type { SeededStore } from './seed.ts'

const DEPLOYMENTS = buildDeployments({ base: { live: { rpc: ['http://127.0.0.1:9'] } } })

/** The contract that the networks table names for a token on base. */
function contractOf(token: string, mode: 'test' | 'live'): string {
  const tokens: Readonly<Record<string, TokenContract>> =
    DEPLOYMENTS.get(`base:${mode}`)?.tokens ?? {}
  return tokens[token]?.contract ?? 'contract'
}

/** A 32-byte hash that nothing has. */
export function randomHash(): string {
  return `0x${randomBytes(32).toString('hex')}`
}

export type SeedTransfer = {
  network?: string
  mode?: 'test' | 'live'
  token?: string
  /** Default: what the networks table names on base in that mode. */
  contract?: string
  amountBaseUnits?: bigint
  blockNumber?: number
  reason?: 'LATE' | 'AMBIGUOUS' | 'NO_SLOT' | 'DUST' | 'WRONG_NETWORK' | 'WRONG_TOKEN'
  rule?: string
  candidates?: string[]
  state?: 'UNMATCHED' | 'RETRACTED'
  isFinal?: boolean
}

/** A transfer that belongs to nobody, as an indexer stores it: listed in the inbox of each of these stores. */
export async function seedTransfer(
  db: Db,
  sellers: readonly SeededStore[],
  options: SeedTransfer = {},
): Promise<{ transferId: string; txHash: string }> {
  const { network = 'base', mode = 'test', token = 'usdc', state = 'UNMATCHED' } = options
  const transferId = newId('trf')
  const txHash = randomHash()
  const { contract = contractOf(token, mode) } = options
  await db`
    insert into transfers (transfer_id, deployment, network, mode, block_hash, tx_hash, log_index, block_number,
      block_time, token, contract, decimals, sender, address, amount_base_units, state, rule, reason, candidates, is_final)
    values (${transferId}, ${`${network}:${mode}`}, ${network}, ${mode}, ${randomHash()}, ${txHash}, 7,
      ${options.blockNumber ?? 100}, service_now(), ${token}, ${contract}, 6, 'sender',
      ${sellers[0]?.wallets[0]?.address ?? 'address'}, ${options.amountBaseUnits ?? 5_000_001n}, ${state},
      ${options.rule ?? 'none'}, ${state === 'UNMATCHED' ? (options.reason ?? 'NO_SLOT') : null},
      ${db.json(options.candidates ?? [])}, ${options.isFinal ?? false})`
  for (const { store } of sellers) {
    await db`
      insert into inbox (store_id, mode, transfer_id, state)
      values (${store.storeId}, ${mode}, ${transferId}, 'UNMATCHED')`
  }
  return { transferId, txHash }
}
