import { createHash } from 'node:crypto'
import {
  type Address,
  generateKeyPairSigner,
  getBase58Decoder,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit'
import { createLedger, type Ledger, type LedgerOptions } from '#shared/start/solana/ledger.ts'
import { type SolanaNode, startNode } from '#shared/start/solana/node.ts'
import { mintTo } from '#shared/start/solana/token.ts'
import {
  fundInstructions,
  mintInstructions,
  payInstructions,
  signTransaction,
  type TransactionVersion,
} from '#shared/start/solana/wallet.ts'

/** A Solana of the test's own: real token programs, two tokens, a buyer with money, blocks on command. */
export type SvmChain = {
  ledger: Ledger
  node: SolanaNode
  /** Another node of the same chain. */
  addNode(): Promise<SolanaNode>
  /** Pays fees, holds tokens, and is the mints' authority. */
  buyer: KeyPairSigner
  mints: { usdc: Address; usdt: Address }
  /** Queues a transaction for the next block; answers its signature. */
  submit(instructions: readonly Instruction[], options?: SubmitOptions): Promise<string>
  /** A wallet's payment, in a block of its own and confirmed by another. */
  pay(payment: SvmPayment): Promise<string>
  /** Seals blocks, one per slot. */
  produce(count?: number): void
  /** Makes the newest confirmed block final. */
  finalize(): void
  /** A block every so many milliseconds, until stopped. */
  run(everyMs: number): () => void
  stop(): Promise<void>
}
export type SubmitOptions = { payer?: KeyPairSigner; version?: TransactionVersion }
export type SvmPayment = {
  to: string
  amountBaseUnits: bigint
  mint?: string
  references?: string[]
  version?: TransactionVersion
  /** Leaves the transaction in the queue. */
  isQueued?: boolean
}

export const SVM_DECIMALS = 6
/** What the buyer has of each token, in base units, and for fees, in lamports. */
const FUNDS = 10n ** 15n
const LAMPORTS = 10n ** 13n
/** Blocks from confirmed to final, with one to spare. */
const FINAL_BLOCKS = 33

export async function startSvmChain(options: Partial<LedgerOptions> = {}): Promise<SvmChain> {
  const ledger = createLedger({ nowMs: () => Date.now(), ...options })
  const node = await startNode(ledger)
  const nodes = [node]
  const [buyer, usdc, usdt] = (await Promise.all(
    Array.from({ length: 3 }, () => generateKeyPairSigner()),
  )) as [KeyPairSigner, KeyPairSigner, KeyPairSigner]
  let unique = 0

  const submit = async (
    instructions: readonly Instruction[],
    { payer = buyer, version }: SubmitOptions = {},
  ) => {
    // Two transactions alike are one: each gets a blockhash of its own, which the ledger does not look up.
    unique += 1
    const blockhash = getBase58Decoder().decode(
      createHash('sha256').update(`${ledger.tip.blockhash} ${unique}`).digest(),
    )
    return ledger.submit(
      await signTransaction(payer, instructions, {
        blockhash,
        ...(version === undefined ? {} : { version }),
      }),
    )
  }
  const produce = (count = 1) => {
    for (let index = 0; index < count; index += 1) ledger.produce()
  }
  ledger.airdrop(buyer.address, LAMPORTS)
  for (const mint of [usdc, usdt]) {
    await submit(mintInstructions(buyer, mint, SVM_DECIMALS, ledger.rentOf(82)))
    produce()
    await submit(await fundInstructions(buyer, mint.address, buyer.address, FUNDS))
    produce()
  }
  produce(FINAL_BLOCKS)
  return {
    ledger,
    node,
    buyer,
    mints: { usdc: usdc.address, usdt: usdt.address },
    submit,
    produce,
    async addNode() {
      const added = await startNode(ledger)
      nodes.push(added)
      return added
    },
    async pay({ to, amountBaseUnits, mint = usdc.address, references = [], version, isQueued }) {
      const instructions = await payInstructions(buyer, {
        ...{ mint: mint as Address, decimals: SVM_DECIMALS, to: to as Address },
        ...{ amount: amountBaseUnits, references: references as Address[] },
      })
      const signature = await submit(instructions, version === undefined ? {} : { version })
      if (!isQueued) produce(2)
      return signature
    },
    finalize: () => produce(FINAL_BLOCKS),
    run(everyMs) {
      const timer = setInterval(() => ledger.produce(), everyMs)
      return () => clearInterval(timer)
    },
    async stop() {
      await Promise.all(nodes.map((one) => one.stop()))
    },
  }
}

/** A wallet nobody has. */
export async function randomSolanaAddress(): Promise<Address> {
  return (await generateKeyPairSigner()).address
}

/** Mints tokens to an account that exists. */
export function mintInto(chain: SvmChain, account: Address, amount: bigint): Instruction {
  return mintTo(chain.mints.usdc, account, chain.buyer, amount)
}
