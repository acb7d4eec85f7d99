import { Type } from '@sinclair/typebox'
import { endpoint } from '../endpoint.ts'
import { readNetworks } from './service.ts'

const NetworkObject = Type.Object({
  network: Type.String(),
  name: Type.String(),
  mode: Type.String(),
  family: Type.String(),
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
  state: Type.Union(
    ['RUNNING', 'OFF', 'NOT_RUNNING', 'STALLED', 'HALTED'].map((word) => Type.Literal(word)),
  ),
  blockNumber: Type.Union([Type.Integer(), Type.Null()]),
  headNumber: Type.Union([Type.Integer(), Type.Null()]),
  blocksBehind: Type.Union([Type.Integer(), Type.Null()]),
})

export const listNetworks = endpoint({
  method: 'GET',
  path: '/v1/networks',
  auth: 'open',
  summary: 'List the networks that can be paid on, per mode, and how far behind each one is',
  response: Type.Object({ data: Type.Array(NetworkObject) }),
  handle: async (deps) => ({ data: await readNetworks(deps) }),
})
