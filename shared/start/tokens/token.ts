import { encodeDeployData, encodeFunctionData, getAddress, parseAbi } from 'viem/utils'
import { BYTECODE } from './bytecode.ts'

type Hex = `0x${string}`

export type TransferOptions = {
  /** The token's contract. */
  token: string
  to: string
  amountBaseUnits: bigint
  /** An account the node holds the key of; the first dev account when absent. */
  from?: string
}

/**
 * The accounts that Anvil funds and holds the keys of, from its well-known test mnemonic (getfoundry.sh/anvil/overview,
 * "test test test … junk"). Everybody knows the keys: never send anything of value there.
 */
export const DEV_ACCOUNTS = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65',
  '0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc',
  '0x976EA74026E726554dB657fA54763abd0C3a0aa9',
  '0x14dC79964da2C08b23698B3D3cc7Ca32193d9955',
  '0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f',
  '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
] as const

const [DEPLOYER] = DEV_ACCOUNTS

const TOKEN = parseAbi([
  'constructor(string name, string symbol, uint8 decimals)',
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
])
const FEE_TOKEN = parseAbi([
  'constructor(string name, string symbol, uint8 decimals, uint256 feeBasisPoints)',
])
const BATCH_PAYER = parseAbi([
  'function pay(address token, address[] recipients, uint256[] values)',
  'function payStrangers(address token, uint256 seed, uint256 count, uint256 value)',
])

/** Milliseconds for one answer of the node, and for a sent transaction to be mined. */
const CALL_TIMEOUT_MS = 10_000
const MINED_TIMEOUT_MS = 30_000
const MINED_POLL_MS = 20
/** Gas, generous: what is not used is not paid, but a block (300 million) fits no more than it could use. */
const GAS_PER_TRANSFER = 100_000
const GAS_PER_STRANGER = 32_000
const GAS_OF_DEPLOYMENT = 3_000_000
/**
 * What is offered for gas: no tip, and up to 1,000 gwei, far above any base fee of a local chain. Left to itself Anvil 1.7.1 now and
 * then answers "max priority fee per gas higher than max fee per gas".
 */
const FEES = { maxPriorityFeePerGas: '0x0', maxFeePerGas: '0xe8d4a51000' }

/** Deploys a token that anybody may mint; answers its EIP-55 address. With a fee, recipients get less than was sent. */
export async function deployToken(
  rpcUrl: string,
  token: { name: string; symbol: string; decimals: number; feeBasisPoints?: number },
): Promise<string> {
  const { name, symbol, decimals, feeBasisPoints } = token
  const data =
    feeBasisPoints === undefined
      ? encodeDeployData({
          abi: TOKEN,
          bytecode: BYTECODE.LocalToken,
          args: [name, symbol, decimals],
        })
      : encodeDeployData({
          abi: FEE_TOKEN,
          bytecode: BYTECODE.LocalFeeToken,
          args: [name, symbol, decimals, BigInt(feeBasisPoints)],
        })
  return deploy(rpcUrl, data)
}

/** Deploys the contract that pays many at once, out of what was minted to it. */
export function deployBatchPayer(rpcUrl: string): Promise<string> {
  return deploy(rpcUrl, BYTECODE.LocalBatchPayer)
}

/** Makes tokens out of nothing; answers the transaction's hash without waiting for it to be mined. */
export function mint(
  rpcUrl: string,
  { token, to, amountBaseUnits }: Omit<TransferOptions, 'from'>,
): Promise<string> {
  const data = encodeFunctionData({
    abi: TOKEN,
    functionName: 'mint',
    args: [to as Hex, amountBaseUnits],
  })
  return send(rpcUrl, { from: DEPLOYER, to: token, data, gas: GAS_PER_TRANSFER })
}

/** Pays as a wallet does; answers the transaction's hash without waiting for it to be mined. */
export function transfer(
  rpcUrl: string,
  { token, to, amountBaseUnits, from = DEPLOYER }: TransferOptions,
): Promise<string> {
  const data = encodeFunctionData({
    abi: TOKEN,
    functionName: 'transfer',
    args: [to as Hex, amountBaseUnits],
  })
  return send(rpcUrl, { from, to: token, data, gas: GAS_PER_TRANSFER })
}

/** Several payments in one transaction, from the batch payer's own balance. */
export function payBatch(
  rpcUrl: string,
  options: {
    payer: string
    token: string
    payments: readonly { to: string; amountBaseUnits: bigint }[]
  },
): Promise<string> {
  const recipients = options.payments.map(({ to }) => to as Hex)
  const values = options.payments.map(({ amountBaseUnits }) => amountBaseUnits)
  const data = encodeFunctionData({
    abi: BATCH_PAYER,
    functionName: 'pay',
    args: [options.token as Hex, recipients, values],
  })
  const gas = GAS_PER_TRANSFER * (options.payments.length + 1)
  return send(rpcUrl, { from: DEPLOYER, to: options.payer, data, gas })
}

/** `count` transfers (up to about 4,000) to addresses of nobody in one transaction; another seed, other addresses. */
export function payStrangers(
  rpcUrl: string,
  options: { payer: string; token: string; seed: bigint; count: number; amountBaseUnits: bigint },
): Promise<string> {
  const data = encodeFunctionData({
    abi: BATCH_PAYER,
    functionName: 'payStrangers',
    args: [options.token as Hex, options.seed, BigInt(options.count), options.amountBaseUnits],
  })
  const gas = GAS_PER_TRANSFER + GAS_PER_STRANGER * options.count
  return send(rpcUrl, { from: DEPLOYER, to: options.payer, data, gas })
}

/**
 * Waits until a transaction is in a block; answers the contract it made, if it made one. Throws when it failed there,
 * or is not mined within 30 s.
 */
export async function untilMined(rpcUrl: string, txHash: string): Promise<string | null> {
  const deadline = performance.now() + MINED_TIMEOUT_MS
  for (;;) {
    const receipt = await localCall<{ status: string; contractAddress: string | null } | null>(
      rpcUrl,
      'eth_getTransactionReceipt',
      [txHash],
    )
    if (receipt?.status === '0x1') return receipt.contractAddress
    if (receipt) throw new Error(`the transaction ${txHash} failed`)
    if (performance.now() > deadline) throw new Error(`the transaction ${txHash} is not mined`)
    await new Promise((done) => setTimeout(done, MINED_POLL_MS))
  }
}

/** One JSON-RPC call to a node of one's own, whose answers are trusted. Throws the node's error. */
export async function localCall<T>(
  rpcUrl: string,
  method: string,
  params: readonly unknown[] = [],
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<T> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const answer = (await response.json()) as { result?: T; error?: { message?: unknown } }
  if (answer.error) throw new Error(`${method} failed: ${String(answer.error.message)}`)
  return answer.result as T
}

async function deploy(rpcUrl: string, data: string): Promise<string> {
  const txHash = await send(rpcUrl, { from: DEPLOYER, data, gas: GAS_OF_DEPLOYMENT })
  const contract = await untilMined(rpcUrl, txHash)
  if (!contract) throw new Error('the node did not say where the contract is')
  return getAddress(contract)
}

/** The node signs: it holds the dev accounts' keys, and counts their nonces. */
function send(
  rpcUrl: string,
  { gas, ...transaction }: { from: string; to?: string; data: string; gas: number },
): Promise<string> {
  return localCall<string>(rpcUrl, 'eth_sendTransaction', [
    { ...transaction, ...FEES, gas: `0x${gas.toString(16)}` },
  ])
}
