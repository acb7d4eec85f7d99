import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chain } from 'viem'
import * as chains from 'viem/chains'
import { normalizeContract } from '#shared/networks/addresses.ts'
import { NetworksError } from '#shared/networks/overlay.ts'
import {
  buildDeployments,
  type Deployment,
  deploymentName,
  explorerTxLink,
  NETWORKS,
} from '#shared/networks/registry.ts'

const TOKEN_A = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const TOKEN_B = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'
const RPC = 'https://rpc.example/v2/hunter2hunter2'

function faultsOf(file: unknown): string[] {
  try {
    buildDeployments(file)
  } catch (error) {
    if (error instanceof NetworksError) return [...error.faults]
    throw error
  }
  return []
}

function deploymentOf(file: unknown, name: string): Deployment {
  const deployment = buildDeployments(file).get(name)
  assert.ok(deployment, `${name} is known`)
  return deployment
}

test('the table is the one of the contract', () => {
  const both = { usdc: 6, usdt: 6 }
  const expected = {
    ethereum: [1, 11_155_111, 12, both],
    base: [8_453, 84_532, 12, { usdc: 6 }],
    arbitrum: [42_161, 421_614, 20, both],
    optimism: [10, 11_155_420, 12, both],
    polygon: [137, 80_002, 32, both],
    bnb: [56, 97, 15, { usdc: 18, usdt: 18 }],
    avalanche: [43_114, 43_113, 1, both],
    solana: [
      '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
      'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
      32,
      both,
    ],
  }
  const actual = Object.entries(NETWORKS).map(([network]) => {
    const live = deploymentOf(undefined, deploymentName(network, 'live'))
    const testing = deploymentOf(undefined, deploymentName(network, 'test'))
    const decimals = Object.entries(live.tokens).map(([token, entry]) => [token, entry.decimals])
    return [
      network,
      [
        live.chainId ?? live.genesisHash,
        testing.chainId ?? testing.genesisHash,
        live.confirmations,
        Object.fromEntries(decimals),
      ],
    ]
  })
  assert.deepEqual(Object.fromEntries(actual), expected)
})

test('chain ids, block times and explorers agree with those viem publishes', () => {
  const published = new Map<number, Chain>(Object.values(chains).map((chain) => [chain.id, chain]))
  for (const facts of Object.values(NETWORKS)) {
    if (facts.family !== 'evm') continue
    for (const mode of ['live', 'test'] as const) {
      const chain = published.get(facts[mode].chainId)
      assert.ok(chain, `${facts.networkName} ${mode}`)
      assert.equal(chain.testnet ?? false, mode === 'test')
      const explorer = chain.blockExplorers?.default.url
      assert.equal(facts[mode].explorerTxUrl, `${explorer}/tx/{txHash}`)
      if (mode === 'live') assert.equal(facts.blockTimeMs, chain.blockTime ?? facts.blockTimeMs)
    }
  }
})

test('every contract of the table is written in its one form, and none stands there twice', () => {
  const seen = new Set<string>()
  for (const { family, live, test: testing } of Object.values(NETWORKS)) {
    for (const { tokens } of [live, testing]) {
      for (const { contract } of Object.values(tokens)) {
        assert.equal(normalizeContract(family, contract), contract)
        assert.ok(!seen.has(contract), contract)
        seen.add(contract)
      }
    }
  }
})

test('without a file every deployment is known and none is on', () => {
  const deployments = buildDeployments()
  assert.equal(deployments.size, 16)
  for (const [name, deployment] of deployments) {
    assert.equal(name, deployment.deployment)
    assert.equal(name, deploymentName(deployment.network, deployment.mode))
    assert.equal(deployment.isOn, false)
    assert.equal(deployment.clockToleranceMs, 30_000)
    assert.deepEqual(deployment.rpc, [])
  }
})

test('a deployment is switched on by its rpc alone; all else stays as the table says', () => {
  const live = deploymentOf({ base: { live: { rpc: [RPC] } } }, 'base:live')
  assert.deepEqual(live, { ...deploymentOf(undefined, 'base:live'), rpc: [RPC], isOn: true })
  assert.equal(deploymentOf({ base: { live: { rpc: [] } } }, 'base:live').isOn, false)
})

test('the file is laid over the table field by field', () => {
  const file = {
    base: {
      test: {
        rpc: ['ws://127.0.0.1:8545'],
        chainId: 31_337,
        confirmations: 3,
        clockToleranceMs: 0,
        blockTimeMs: 1_000,
        networkName: 'Local',
        tokens: { usdc: { contract: TOKEN_B.toLowerCase(), decimals: 6 } },
      },
    },
  }
  assert.deepEqual(deploymentOf(file, 'base:test'), {
    deployment: 'base:test',
    network: 'base',
    networkName: 'Local',
    mode: 'test',
    family: 'evm',
    chainId: 31_337,
    confirmations: 3,
    tokens: { usdc: { contract: TOKEN_B, decimals: 6 } },
    rpc: ['ws://127.0.0.1:8545'],
    clockToleranceMs: 0,
    blockTimeMs: 1_000,
    isOn: true,
  })
  assert.deepEqual(deploymentOf(file, 'base:live'), deploymentOf(undefined, 'base:live'))
})

test('given tokens replace the row’s whole ones', () => {
  const tokens = { usdt: { contract: TOKEN_A, decimals: 18 } }
  const { tokens: merged } = deploymentOf({ bnb: { live: { tokens } } }, 'bnb:live')
  assert.deepEqual(merged, tokens)
})

test('another chain under a known name loses the table’s explorer, unless the file names one', () => {
  const moved = { chainId: 31_337, rpc: [RPC] }
  assert.equal(deploymentOf({ base: { test: moved } }, 'base:test').explorerTxUrl, undefined)
  const explorerTxUrl = 'http://127.0.0.1:4000/tx/{txHash}'
  const named = deploymentOf({ base: { test: { ...moved, explorerTxUrl } } }, 'base:test')
  assert.equal(explorerTxLink(named, '0xab'), 'http://127.0.0.1:4000/tx/0xab')
})

test('an explorer link holds the hash, escaped', () => {
  const base = deploymentOf(undefined, 'base:live')
  assert.equal(explorerTxLink(base, '0xab'), 'https://basescan.org/tx/0xab')
  assert.equal(explorerTxLink(base, 'a/b?c'), 'https://basescan.org/tx/a%2Fb%3Fc')
})

test('an EVM chain is added without code', () => {
  const row = {
    chainId: 100,
    confirmations: 20,
    tokens: { usdc: { contract: TOKEN_A, decimals: 6 } },
  }
  const deployments = buildDeployments({ gnosis: { live: { ...row, rpc: [RPC] } } })
  assert.equal(deployments.size, 17)
  assert.deepEqual(deployments.get('gnosis:live'), {
    ...row,
    deployment: 'gnosis:live',
    network: 'gnosis',
    networkName: 'gnosis',
    mode: 'live',
    family: 'evm',
    rpc: [RPC],
    clockToleranceMs: 30_000,
    blockTimeMs: 2_000,
    isOn: true,
  })
})

test('a test deployment that is off offers every token sold live, on its own chain', () => {
  const { tokens, chainId } = deploymentOf(undefined, 'ethereum:test')
  assert.equal(chainId, 11_155_111)
  assert.deepEqual(tokens, {
    usdc: NETWORKS['ethereum']?.test.tokens.usdc,
    usdt: NETWORKS['ethereum']?.live.tokens.usdt,
  })
})

test('a test deployment that is on takes only tokens that exist on its chain', () => {
  const { tokens } = deploymentOf({ ethereum: { test: { rpc: [RPC] } } }, 'ethereum:test')
  assert.deepEqual(Object.keys(tokens), ['usdc'])
})

test('tokens that the operator names are all there are, on or off', () => {
  const named = { usdc: { contract: TOKEN_A, decimals: 6 } }
  const { tokens } = deploymentOf({ polygon: { test: { tokens: named } } }, 'polygon:test')
  assert.deepEqual(tokens, named)
})

const token = (contract: unknown, decimals: unknown = 6) => ({ usdc: { contract, decimals } })
const FAULTS: readonly [what: string, file: unknown, ...paths: string[]][] = [
  ['a file that is no object', [], 'the file'],
  ['a file that is null', null, 'the file'],
  ['a network name with upper case', { Base: {} }, 'Base'],
  ['a prototype’s name', JSON.parse('{"__proto__": {"live": {}}}'), '__proto__'],
  ['a network that is no object', { base: 'x' }, 'base'],
  ['a mode that does not exist', { base: { staging: {} } }, 'base.staging'],
  ['a row that is no object', { base: { live: [] } }, 'base.live'],
  ['a misspelt field', { base: { live: { rpcs: [] } } }, 'base.live.rpcs'],
  ['a family', { base: { live: { family: 'evm' } } }, 'base.live.family'],
  ['a chain id in a string', { base: { live: { chainId: '8453' } } }, 'base.live.chainId'],
  ['a chain id of 0', { base: { live: { chainId: 0 } } }, 'base.live.chainId'],
  [
    'a genesis hash on an EVM chain',
    { base: { live: { genesisHash: 'x' } } },
    'base.live.genesisHash',
  ],
  ['a chain id on Solana', { solana: { live: { chainId: 1 } } }, 'solana.live.chainId'],
  [
    'a genesis hash that is none',
    { solana: { test: { genesisHash: 'x0' } } },
    'solana.test.genesisHash',
  ],
  ['a depth of 0', { base: { live: { confirmations: 0 } } }, 'base.live.confirmations'],
  ['half a block', { base: { live: { confirmations: 1.5 } } }, 'base.live.confirmations'],
  ['a depth on Solana', { solana: { live: { confirmations: 1 } } }, 'solana.live.confirmations'],
  [
    'a negative tolerance',
    { base: { live: { clockToleranceMs: -1 } } },
    'base.live.clockToleranceMs',
  ],
  ['a block time of 0', { base: { live: { blockTimeMs: 0 } } }, 'base.live.blockTimeMs'],
  ['an empty name', { base: { live: { networkName: '' } } }, 'base.live.networkName'],
  [
    'an explorer without a place',
    { base: { live: { explorerTxUrl: 'https://x' } } },
    'base.live.explorerTxUrl',
  ],
  [
    'a script for an explorer',
    { base: { live: { explorerTxUrl: 'javascript:{txHash}' } } },
    'base.live.explorerTxUrl',
  ],
  ['rpc as a string', { base: { live: { rpc: RPC } } }, 'base.live.rpc'],
  ['too many rpc URLs', { base: { live: { rpc: Array(17).fill(RPC) } } }, 'base.live.rpc'],
  [
    'an rpc URL of another scheme',
    { base: { live: { rpc: [RPC, 'ipc:///x'] } } },
    'base.live.rpc[1]',
  ],
  ['an rpc URL that is none', { base: { live: { rpc: ['https://'] } } }, 'base.live.rpc[0]'],
  [
    'an rpc whose user cannot be decoded',
    { base: { live: { rpc: ['https://u:p%@rpc.example'] } } },
    'base.live.rpc[0]',
  ],
  ['an rpc that is no string', { base: { live: { rpc: [1] } } }, 'base.live.rpc[0]'],
  ['one rpc URL twice', { base: { live: { rpc: [RPC, RPC] } } }, 'base.live.rpc[1]'],
  [
    'one rpc URL written in two ways',
    { base: { live: { rpc: ['https://rpc.example', 'https://RPC.example:443/'] } } },
    'base.live.rpc[1]',
  ],
  ['tokens as a list', { base: { live: { tokens: [] } } }, 'base.live.tokens'],
  ['no tokens', { base: { live: { tokens: {} } } }, 'base.live.tokens'],
  ['an unknown token', { base: { live: { tokens: { dai: {} } } } }, 'base.live.tokens.dai'],
  [
    'a token that is no object',
    { base: { live: { tokens: { usdc: TOKEN_A } } } },
    'base.live.tokens.usdc',
  ],
  [
    'a short contract',
    { base: { live: { tokens: token('0x12') } } },
    'base.live.tokens.usdc.contract',
  ],
  [
    'a contract with a wrong checksum',
    { base: { live: { tokens: token(TOKEN_A.replace('C', 'c')) } } },
    'base.live.tokens.usdc.contract',
  ],
  [
    'a mint on an EVM chain',
    { base: { live: { tokens: token('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v') } } },
    'base.live.tokens.usdc.contract',
  ],
  [
    'an EVM contract on Solana',
    { solana: { live: { tokens: token(TOKEN_A) } } },
    'solana.live.tokens.usdc.contract',
  ],
  [
    'a token with too few decimals for a tail',
    { base: { live: { tokens: token(TOKEN_A, 2) } } },
    'base.live.tokens.usdc.decimals',
  ],
  [
    'decimals in a string',
    { base: { live: { tokens: token(TOKEN_A, '6') } } },
    'base.live.tokens.usdc.decimals',
  ],
  [
    'a field too many in a token',
    { base: { live: { tokens: { usdc: { contract: TOKEN_A, decimals: 6, name: 'x' } } } } },
    'base.live.tokens.usdc.name',
  ],
  [
    'an added chain without facts',
    { gnosis: { test: { rpc: [RPC] } } },
    'gnosis.test.chainId',
    'gnosis.test.confirmations',
    'gnosis.test.tokens',
  ],
]

for (const [what, file, ...paths] of FAULTS) {
  test(`${what} is refused, naming the field`, () => {
    const faults = faultsOf(file)
    assert.deepEqual(
      faults.map((fault) => fault.split(' should be ')[0]),
      paths,
    )
    assert.ok(!faults.join('\n').includes('hunter2'), 'an RPC key is not repeated')
  })
}

test('all faults are told at once', () => {
  const file = {
    base: { live: { rpc: 1, chainId: 0 }, test: { tokens: 1 } },
    solana: { live: { rcp: 1 } },
  }
  assert.equal(faultsOf(file).length, 4)
})

test('two deployments that are on and share chain and contract are refused, naming both', () => {
  const tokens = { usdc: { contract: TOKEN_A, decimals: 6 } }
  const local = { rpc: [RPC], chainId: 31_337, tokens }
  const [fault = '', ...others] = faultsOf({ base: { test: local }, polygon: { test: local } })
  assert.match(fault, /^polygon\.test\.tokens\.usdc .* base\.test\.tokens\.usdc/)
  assert.deepEqual(others, [])

  const twin = {
    chainId: 8_453,
    confirmations: 1,
    rpc: [RPC],
    tokens: NETWORKS['base']?.live.tokens,
  }
  const faults = faultsOf({ base: { live: { rpc: [RPC] } }, twin: { live: twin } })
  assert.equal(faults.length, 1)
  assert.deepEqual(faultsOf({ twin: { live: twin } }), [], 'one that is off watches nothing')
})

test('the same contract address on two chains, or two tokens of one chain, are fine', () => {
  const usdc = { contract: TOKEN_A, decimals: 6 }
  const usdt = { contract: TOKEN_B, decimals: 6 }
  const file = {
    base: { test: { rpc: [RPC], chainId: 31_337, tokens: { usdc } } },
    polygon: { test: { rpc: [RPC], chainId: 31_338, tokens: { usdc } } },
    bnb: { test: { rpc: [RPC], chainId: 31_337, tokens: { usdt } } },
  }
  assert.deepEqual(faultsOf(file), [])
})

test('one contract for both tokens of a deployment is refused', () => {
  const same = { contract: TOKEN_A, decimals: 6 }
  const file = { base: { live: { rpc: [RPC], tokens: { usdc: same, usdt: same } } } }
  assert.match(faultsOf(file).join(), /^base\.live\.tokens\.usdt /)
})

test('Solana clusters that share a genesis hash and a mint are refused', () => {
  const genesisHash = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
  const tokens = NETWORKS['solana']?.live.tokens
  const file = { solana: { live: { rpc: [RPC] }, test: { rpc: [RPC], genesisHash, tokens } } }
  assert.equal(faultsOf(file).length, 2)
})
