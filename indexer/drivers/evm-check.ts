import { type Deployment, watchedTokens } from '#shared/networks/registry.ts'
import { type Rpc, unwrap } from '../rpc.ts'
import { RpcError } from '../rpc-error.ts'
import type { RpcCall } from '../socket.ts'
import { DeploymentMismatch } from './driver.ts'
import { judged, retrying } from './evm-read.ts'
import { readQuantity } from './evm-shapes.ts'

const CHAIN_ID_CALL: RpcCall = { method: 'eth_chainId', params: [] }
/** Selector of `decimals()` (EIP-20). */
const DECIMALS_SELECTOR = '0x313ce567'
/** How nodes say that a contract ran and failed: code 3 (go-ethereum), and words. */
const REVERTED = 3
const REVERTED_WORDS = /revert|opcode|out of gas/i

/** Compares a provider's chain id with the row's. Every provider is asked before its first use. */
export async function verifyChainId(
  deployment: Deployment,
  call: (one: RpcCall) => Promise<unknown>,
  host: string,
): Promise<void> {
  const chainId = readQuantity(await call(CHAIN_ID_CALL), 'chain id', host)
  if (chainId === deployment.chainId) return
  throw new DeploymentMismatch(
    `${deployment.deployment}: ${host} is chain ${chainId}, the networks table says ${deployment.chainId}`,
  )
}

/** Asks every provider which chain it is. One of the right chain is enough; a wrong one is logged and not used. */
export async function checkProviders(rpc: Rpc): Promise<void> {
  let failure: unknown
  let isAnyRight = false
  for (let provider = 0; provider < rpc.providerCount; provider += 1) {
    try {
      await rpc.call(CHAIN_ID_CALL, { except: rpc.allBut(provider) })
      isAnyRight = true
    } catch (error) {
      // The right one may be away for a moment: that is waited for, not given up.
      if (error instanceof RpcError || failure === undefined) failure = error
    }
  }
  if (!isAnyRight) throw failure
}

/** Compares each token's decimals with the row's: ten to the power of the difference is what a mistake would cost. */
export async function checkDecimals(rpc: Rpc, deployment: Deployment): Promise<void> {
  for (const { token, contract, decimals } of watchedTokens(deployment)) {
    const name = `${deployment.deployment}: ${token} ${contract}`
    const params = [{ to: contract.toLowerCase(), data: DECIMALS_SELECTOR }, 'latest']
    const word = await retrying(() => callContract(rpc, params)).catch((error: unknown) => {
      if (!isRevert(error)) throw error
      throw new DeploymentMismatch(`${name} does not tell its decimals`, { cause: error })
    })
    if (word === '0x') throw new DeploymentMismatch(`${name} is no contract on this chain`)
    if (
      typeof word !== 'string' ||
      !/^0x[0-9a-f]{64}$/i.test(word) ||
      BigInt(word) !== BigInt(decimals)
    ) {
      throw new DeploymentMismatch(
        `${name} says decimals are ${describe(word)}, the networks table says ${decimals}`,
      )
    }
  }
}

/** Throws `refused` when the contract itself fails, and `unable` when the node does. */
async function callContract(rpc: Rpc, params: readonly unknown[]): Promise<unknown> {
  const { answers, provider } = await rpc.batch([{ method: 'eth_call', params }])
  const [answer] = answers
  const mayRefuse = answer !== undefined && 'error' in answer && isRevert(answer.error)
  return judged(rpc, provider, () => unwrap(answer, rpc.hostOf(provider)), { mayRefuse })
}

function isRevert(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.kind !== 'refused') return false
  return error.code === REVERTED || REVERTED_WORDS.test(error.message)
}

function describe(word: unknown): string {
  return typeof word === 'string' && /^0x[0-9a-f]{1,64}$/i.test(word)
    ? BigInt(word).toString()
    : 'something unreadable'
}
