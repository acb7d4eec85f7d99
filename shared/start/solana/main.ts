import { createHash } from 'node:crypto'
import process from 'node:process'
import {
  type Address,
  createKeyPairSignerFromPrivateKeyBytes,
  getBase58Decoder,
  type Instruction,
} from '@solana/kit'
import { createLedger } from '#shared/start/solana/ledger.ts'
import { startNode } from '#shared/start/solana/node.ts'
import {
  fundInstructions,
  mintInstructions,
  payInstructions,
  signTransaction,
} from '#shared/start/solana/wallet.ts'

/** The local Solana of `bun start --solana`: `main.ts PORT`. It begins anew with each start. */

/** Milliseconds between slots, as on mainnet. */
const SLOT_MS = 400
const DECIMALS = 6
/** What the buyer has of each token, in base units, and for fees, in lamports. */
const FUNDS = 10n ** 15n
const LAMPORTS = 10n ** 13n
const MINT_BYTES = 82

const port = Number(process.argv[2])
const ledger = createLedger({ nowMs: () => Date.now() })
// Known keys of a chain that only this machine has: the tokens are the same after each start.
const [buyer, usdc, usdt] = await Promise.all(
  (['buyer', 'usdc', 'usdt'] as const).map((name) =>
    createKeyPairSignerFromPrivateKeyBytes(createHash('sha256').update(`local ${name}`).digest()),
  ),
)
if (!buyer || !usdc || !usdt) throw new Error('three names make three keys')
let count = 0

const submit = async (instructions: Instruction[]): Promise<string> => {
  count += 1
  const seed = createHash('sha256').update(`${ledger.genesisHash} ${count}`).digest()
  const blockhash = getBase58Decoder().decode(seed)
  return ledger.submit(await signTransaction(buyer, instructions, { blockhash }))
}
ledger.airdrop(buyer.address, LAMPORTS)
for (const mint of [usdc, usdt]) {
  await submit(mintInstructions(buyer, mint, DECIMALS, ledger.rentOf(MINT_BYTES)))
  await submit(await fundInstructions(buyer, mint.address, buyer.address, FUNDS))
}
ledger.produce()

await startNode(ledger, port, {
  /** What the chain is, for the networks file. */
  localFacts: async () => ({
    genesisHash: ledger.genesisHash,
    usdc: usdc.address,
    usdt: usdt.address,
  }),
  /** Pays from the buyer's wallet, whose key this node holds. */
  async localPay([to, mint, amount]) {
    const payment = { to: to as Address, mint: mint as Address, amount: BigInt(String(amount)) }
    return submit(await payInstructions(buyer, { ...payment, decimals: DECIMALS }))
  },
})
setInterval(() => ledger.produce(), SLOT_MS)
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0))
