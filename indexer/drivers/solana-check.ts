import { Buffer } from 'node:buffer'
import { type Deployment, watchedTokens } from '#shared/networks/registry.ts'
import { type Rpc, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { RpcCall } from '../socket.ts'
import { DeploymentMismatch } from './driver.ts'
import { ask, type Reader, retrying } from './solana-read.ts'
import { fieldsOf, malformed } from './solana-shapes.ts'

export const GENESIS_CALL: RpcCall = { method: 'getGenesisHash', params: [] }

/** The two programs that keep tokens: spl.solana.com/token, spl.solana.com/token-2022. */
const TOKEN_PROGRAMS = [
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]
/** Where a mint's bytes hold its decimals and say that it is one; extensions come behind. */
const DECIMALS_AT = 44
const INITIALIZED_AT = 45
const MINT_BYTES = 82

/** Compares a provider's genesis hash with the row's. Every provider is asked before its first use. */
export async function verifyGenesis(
  deployment: Deployment,
  call: (one: RpcCall) => Promise<unknown>,
  host: string,
): Promise<void> {
  const genesisHash = await call(GENESIS_CALL)
  if (typeof genesisHash !== 'string') throw malformed('genesis hash', host)
  if (genesisHash === deployment.genesisHash) return
  throw new DeploymentMismatch(
    `${deployment.deployment}: ${host} has genesis ${genesisHash}, the networks table says ${deployment.genesisHash}`,
  )
}

/** Asks every provider which cluster it is of. One of the right cluster is enough; a wrong one is not used. */
export async function checkProviders(rpc: Rpc): Promise<void> {
  let failure: unknown
  let isAnyRight = false
  for (let provider = 0; provider < rpc.providerCount; provider += 1) {
    try {
      await rpc.call(GENESIS_CALL, { except: rpc.allBut(provider) })
      isAnyRight = true
    } catch (error) {
      // The right one may be away for a moment: that is waited for, not given up.
      if (error instanceof RpcError || failure === undefined) failure = error
    }
  }
  if (!isAnyRight) throw failure
}

/** Compares each mint's decimals with the row's; answers which token program keeps each mint. */
export async function checkMints(
  reader: Reader,
  deployment: Deployment,
): Promise<Map<string, string>> {
  const tokens = watchedTokens(deployment)
  const mints = tokens.map(({ contract }) => contract)
  const params = [mints, { encoding: 'base64', commitment: 'confirmed' }]
  const accounts = await retrying(() =>
    ask(reader, [{ method: 'getMultipleAccounts', params }], ([answer], host) => {
      const { value } = fieldsOf(unwrap(answer, host), 'accounts', host)
      if (!Array.isArray(value) || value.length !== mints.length) throw malformed('accounts', host)
      return value as unknown[]
    }),
  )
  return new Map(
    tokens.map(({ token, contract, decimals }, index) => {
      const name = `${deployment.deployment}: ${token} ${contract}`
      return [contract, readMint(accounts[index], decimals, name)]
    }),
  )
}

function readMint(account: unknown, decimals: number, name: string): string {
  const { owner, data } = (account ?? {}) as { owner?: unknown; data?: unknown }
  const program = TOKEN_PROGRAMS.find((known) => known === owner)
  const text = Array.isArray(data) ? data[0] : undefined
  const bytes = Buffer.from(typeof text === 'string' ? text : '', 'base64')
  if (!program || bytes.length < MINT_BYTES || bytes[INITIALIZED_AT] !== 1) {
    throw new DeploymentMismatch(`${name} is no token mint on this cluster`)
  }
  if (bytes[DECIMALS_AT] !== decimals) {
    throw new DeploymentMismatch(
      `${name} says decimals are ${bytes[DECIMALS_AT]}, the networks table says ${decimals}`,
    )
  }
  return program
}
