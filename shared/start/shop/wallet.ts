/** A buyer's wallet: an account of the local chain whose key the node holds, so that a payment is one JSON-RPC call. */

export type Payment = {
  status: string
  network: string
  payTo: string
  contract: string
  amountBaseUnits: string
}

/** The ways to pay that the page offers. */
export const WAYS = ['exact', 'less', 'more', 'twice', 'parts'] as const
export type Way = (typeof WAYS)[number]

/** `transfer(address,uint256)` of ERC-20. */
const TRANSFER_SELECTOR = '0xa9059cbb'
/** Generous: a transfer to a new holder takes some 52,000. */
const GAS = '0x186a0'
/** No tip, and up to 1,000 gwei: far above any base fee of a local chain. */
const FEES = { maxPriorityFeePerGas: '0x0', maxFeePerGas: '0xe8d4a51000' }
const CALL_TIMEOUT_MS = 10_000

/** The amounts, in base units, that paying so sends one after the other. */
export function amountsOf(way: Way, due: bigint): bigint[] {
  switch (way) {
    case 'exact':
      return [due]
    case 'less':
      return [due / 2n]
    case 'more':
      return [due + due / 4n]
    case 'twice':
      return [due, due]
    case 'parts':
      return [due / 2n, due - due / 2n]
  }
}

/** Sends the transfers from the unlocked account; answers their transaction hashes. Throws what the node says. */
export async function pay(
  { rpcUrl, buyer, solanaRpcUrl }: { rpcUrl: string; buyer: string; solanaRpcUrl?: string },
  payment: Payment,
  way: Way,
): Promise<string[]> {
  const hashes: string[] = []
  for (const amount of amountsOf(way, BigInt(payment.amountBaseUnits))) {
    if (payment.network === 'solana' && solanaRpcUrl !== undefined) {
      const params = [payment.payTo, payment.contract, String(amount)]
      hashes.push(await call(solanaRpcUrl, 'localPay', params))
      continue
    }
    const data = `${TRANSFER_SELECTOR}${word(BigInt(payment.payTo))}${word(amount)}`
    hashes.push(
      await call(rpcUrl, 'eth_sendTransaction', [
        { from: buyer, to: payment.contract, data, gas: GAS, ...FEES },
      ]),
    )
  }
  return hashes
}

/** 32 bytes in hex, as the ABI has every argument. */
function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

async function call(rpcUrl: string, method: string, params: readonly unknown[]): Promise<string> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  const answer = (await response.json()) as { result?: string; error?: { message?: string } }
  if (answer.result === undefined) throw new Error(answer.error?.message ?? 'the node said nothing')
  return answer.result
}
