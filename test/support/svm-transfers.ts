import type { OnChain } from './oracle.ts'

type Balance = {
  accountIndex: number
  mint: string
  owner: string
  uiTokenAmount: { amount: string }
}
type Transaction = {
  meta: { err: unknown; preTokenBalances: Balance[]; postTokenBalances: Balance[] }
  transaction: { signatures: string[] }
}
type Block = { blockhash: string; transactions: Transaction[] }

/**
 * What a Solana says was paid to whom, read for the judge: block by block in full, which no reading of the driver does, and
 * summed by owner and mint on its own.
 */
export async function readSvmTransfers(
  httpUrl: string,
  mints: readonly string[],
  from: number,
  to: number,
): Promise<OnChain[]> {
  const slots = await call<number[]>(httpUrl, 'getBlocks', [from, to, { commitment: 'confirmed' }])
  const found: OnChain[] = []
  for (const slot of slots) {
    const block = await call<Block>(httpUrl, 'getBlock', [
      slot,
      { commitment: 'confirmed', transactionDetails: 'full', maxSupportedTransactionVersion: 1 },
    ])
    for (const { meta, transaction } of block.transactions) {
      const txHash = transaction.signatures[0] ?? ''
      for (const mint of meta.err === null ? mints : []) {
        found.push(
          ...sumOf(meta, mint).map((one) => ({ ...one, blockHash: block.blockhash, txHash })),
        )
      }
    }
  }
  return found
}

function sumOf({ preTokenBalances, postTokenBalances }: Transaction['meta'], mint: string) {
  const both = [...preTokenBalances, ...postTokenBalances].filter((one) => one.mint === mint)
  return [...new Set(both.map(({ owner }) => owner))].map((owner) => {
    const sum = (balances: Balance[]) =>
      balances
        .filter((one) => one.mint === mint && one.owner === owner)
        .reduce((total, { uiTokenAmount }) => total + BigInt(uiTokenAmount.amount), 0n)
    const mine = both.filter((one) => one.owner === owner)
    const index = Math.min(...mine.map(({ accountIndex }) => accountIndex))
    return { to: owner, index, amount: sum(postTokenBalances) - sum(preTokenBalances) }
  })
}

async function call<T>(httpUrl: string, method: string, params: unknown[]): Promise<T> {
  const response = await fetch(httpUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } }
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}
