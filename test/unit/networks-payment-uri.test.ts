import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paymentUri } from '#shared/networks/payment-uri.ts'
import { buildDeployments, type Deployment, NETWORKS } from '#shared/networks/registry.ts'

const EVM_PAY_TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const SOLANA_PAY_TO = '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS'
const REFERENCE = '82ZJ7nbGpixjeDCmEhUcmwXYfvurzAgGdtSMuHnUgyny'
const DEPLOYMENTS = buildDeployments()

function deploymentOf(name: string): Deployment {
  const deployment = DEPLOYMENTS.get(name)
  assert.ok(deployment)
  return deployment
}

/** The grammar of EIP-681, read as a wallet reads it. */
function parseEip681(uri: string) {
  const match = /^ethereum:(0x[0-9a-fA-F]{40})@(\d+)\/(\w+)\?(.*)$/.exec(uri)
  assert.ok(match, uri)
  const [, target, chainId, functionName, query] = match
  const parameters = Object.fromEntries(new URLSearchParams(query))
  return { target, chainId: Number(chainId), functionName, parameters }
}

/** A transfer request of the Solana Pay specification, read as a wallet reads it. */
function parseSolanaPay(uri: string) {
  const { protocol, pathname, searchParams } = new URL(uri)
  return { protocol, recipient: pathname, parameters: Object.fromEntries(searchParams) }
}

/** A decimal string in base units, refused when it is not exact or not of Solana Pay's form. */
function parseUnits(amount: string, decimals: number): bigint {
  const match = /^(0|[1-9]\d*)(?:\.(\d+))?$/.exec(amount)
  assert.ok(match, amount)
  const [, whole = '', fraction = ''] = match
  assert.ok(fraction.length <= decimals, amount)
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

const AMOUNTS = [1n, 999_999n, 1_000_000n, 10_001_234n, 10n ** 12n, 123_456_789_012_345_678n]

for (const [network, facts] of Object.entries(NETWORKS)) {
  for (const mode of ['live', 'test'] as const) {
    test(`a ${network} ${mode} link parses back to the same payment`, () => {
      const deployment = deploymentOf(`${network}:${mode}`)
      for (const token of Object.values(deployment.tokens)) {
        for (const amountBaseUnits of AMOUNTS) {
          const payTo = facts.family === 'evm' ? EVM_PAY_TO : SOLANA_PAY_TO
          const uri = paymentUri({ deployment, token, payTo, amountBaseUnits })
          if (facts.family === 'evm') {
            assert.deepEqual(parseEip681(uri), {
              target: token.contract,
              chainId: deployment.chainId,
              functionName: 'transfer',
              parameters: { address: payTo, uint256: amountBaseUnits.toString() },
            })
          } else {
            const { protocol, recipient, parameters } = parseSolanaPay(uri)
            assert.deepEqual([protocol, recipient], ['solana:', payTo])
            assert.deepEqual(Object.keys(parameters), ['amount', 'spl-token'])
            assert.equal(parameters['spl-token'], token.contract)
            assert.equal(parseUnits(parameters['amount'] ?? '', token.decimals), amountBaseUnits)
          }
        }
      }
    })
  }
}

test('an EVM link asks the token to transfer to the seller, never to itself', () => {
  const deployment = deploymentOf('base:live')
  const token = { contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', decimals: 6 }
  assert.equal(
    paymentUri({ deployment, token, payTo: EVM_PAY_TO, amountBaseUnits: 10_001_234n }),
    `ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=${EVM_PAY_TO}&uint256=10001234`,
  )
})

test('a Solana link carries the payment’s reference', () => {
  const deployment = deploymentOf('solana:live')
  const token = { contract: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', decimals: 6 }
  assert.equal(
    paymentUri({
      deployment,
      token,
      payTo: SOLANA_PAY_TO,
      amountBaseUnits: 50_017n,
      reference: REFERENCE,
    }),
    `solana:${SOLANA_PAY_TO}?amount=0.050017&spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v&reference=${REFERENCE}`,
  )
})
