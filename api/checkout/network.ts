import type { ErrorCode } from '#shared/errors.ts'
import { TOKENS } from '#shared/networks/names.ts'
import {
  type Deployment,
  deploymentName,
  type Mode,
  type Token,
} from '#shared/networks/registry.ts'

/** What a payment stores of its network, in the names of its columns. */
export type NetworkFacts = {
  network: string
  token: Token
  deployment: string
  contract: string
  decimals: number
  clock: 'CHAIN' | 'OURS'
  confirmationsRequired: number
}

type Deployments = ReadonlyMap<string, Deployment>

/**
 * What is known of a token on a network in a mode, or why it cannot be paid with: the operator does not run the network
 * (in test mode one that is off is offered all the same, and settles by simulate), or the token does not exist there.
 */
export function resolveNetwork(
  deployments: Deployments,
  mode: Mode,
  network: string,
  token: Token,
): NetworkFacts | { code: Extract<ErrorCode, 'network_not_accepted' | 'token_not_accepted'> } {
  const deployment = deployments.get(deploymentName(network, mode))
  if (deployment === undefined || !isOffered(deployment)) return { code: 'network_not_accepted' }
  const facts = deployment.tokens[token]
  if (facts === undefined) return { code: 'token_not_accepted' }
  return {
    ...{ network, token, deployment: deployment.deployment },
    ...{ contract: facts.contract, decimals: facts.decimals },
    clock: deployment.isOn ? 'CHAIN' : 'OURS',
    confirmationsRequired: deployment.confirmations,
  }
}

/** What a buyer may choose from, in the order of the networks table. A null list accepts everything. */
export function listOptions(
  deployments: Deployments,
  mode: Mode,
  walletNetworks: readonly string[],
  accepted: { networks: readonly string[] | null; tokens: readonly string[] | null },
): { network: string; token: Token; decimals: number }[] {
  return [...deployments.values()]
    .filter((one) => one.mode === mode && isOffered(one) && walletNetworks.includes(one.network))
    .filter((one) => accepted.networks === null || accepted.networks.includes(one.network))
    .flatMap(({ network, tokens }) =>
      TOKENS.flatMap((token) => {
        const isAccepted = accepted.tokens === null || accepted.tokens.includes(token)
        const facts = isAccepted ? tokens[token] : undefined
        return facts === undefined ? [] : [{ network, token, decimals: facts.decimals }]
      }),
    )
}

function isOffered(deployment: Deployment): boolean {
  return deployment.isOn || deployment.mode === 'test'
}
