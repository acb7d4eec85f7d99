import { Type } from '@sinclair/typebox'
import { endpoint } from '../endpoint.ts'
import { pageSchema } from '../pagination.ts'
import { ModeWord, oneOf } from '../words.ts'
import { NETWORK_STATES, readNetworks } from './service.ts'

export const NetworkObject = Type.Object({
  network: Type.String(),
  name: Type.String(),
  mode: ModeWord,
  family: oneOf(['evm', 'solana']),
  tokens: Type.Array(
    Type.Object({
      token: Type.String(),
      contract: Type.String(),
      decimals: Type.Integer(),
    }),
  ),
  confirmations: Type.Integer(),
  isOn: Type.Boolean(),
  /** RUNNING, or why nothing is seen on it right now. */
  state: oneOf(NETWORK_STATES),
  blockNumber: Type.Union([Type.Integer(), Type.Null()]),
  headNumber: Type.Union([Type.Integer(), Type.Null()]),
  blocksBehind: Type.Union([Type.Integer(), Type.Null()]),
  /** While it catches up, at its present rate; null at the tip. */
  secondsToCatchUp: Type.Union([Type.Integer(), Type.Null()]),
})

export const listNetworks = endpoint({
  method: 'GET',
  path: '/v1/networks',
  auth: 'open',
  summary: 'List the networks that can be paid on, per mode, and how far behind each one is',
  response: pageSchema(NetworkObject),
  // A list like the others, of which all is always shown.
  handle: async (deps) => ({ data: await readNetworks(deps), hasMore: false, nextCursor: null }),
})
