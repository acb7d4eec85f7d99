/** The local Solana as the rest of the start sees it. */
export type LocalSolana = {
  httpUrl: string
  /** Its row of the networks file, in test mode. */
  row: object
}

/** A wallet of the demo seller: any key on the curve does, nothing is ever sent from it. */
export const SOLANA_SELLER = '6P6zSWvUdznJ5vindjEwVnpfyGKfELzLBmDGoqyVG8Qk'

const CALL_TIMEOUT_MS = 5_000
/** Times and milliseconds a node that is just starting is asked. */
const TRIES_MAX = 100
const TRY_EVERY_MS = 100

/** Waits for the node and makes its row. Throws when it does not come up. */
export async function describeLocalSolana(port: number): Promise<LocalSolana> {
  const httpUrl = `http://127.0.0.1:${port}`
  const { genesisHash, usdc, usdt } = await untilFacts(httpUrl)
  const token = (contract: string) => ({ contract, decimals: 6 })
  const row = {
    rpc: [`ws://127.0.0.1:${port}`, httpUrl],
    genesisHash,
    tokens: { usdc: token(usdc), usdt: token(usdt) },
  }
  return { httpUrl, row }
}

/** Gives the demo store its wallet there; one it has already is fine. Throws what the API says. */
export async function addSolanaWallet(
  apiUrl: string,
  seller: { storeId: string; secretKey: string },
): Promise<void> {
  const response = await fetch(`${apiUrl}/v1/stores/${seller.storeId}/wallets`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${seller.secretKey}`,
    },
    body: JSON.stringify({ network: 'solana', address: SOLANA_SELLER }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  if (response.ok || response.status === 409) return
  throw new Error(`the demo store's Solana wallet: ${await response.text()}`)
}

type Facts = { genesisHash: string; usdc: string; usdt: string }

async function untilFacts(httpUrl: string): Promise<Facts> {
  let failure: unknown
  for (let attempt = 0; attempt < TRIES_MAX; attempt += 1) {
    try {
      const response = await fetch(httpUrl, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'localFacts', params: [] }),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      })
      const { result } = (await response.json()) as { result?: Facts }
      if (result) return result
    } catch (error) {
      failure = error
    }
    await new Promise((done) => setTimeout(done, TRY_EVERY_MS))
  }
  throw new Error('the local Solana did not start', { cause: failure })
}
