import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageComputeUnitLimit,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLoadedAccountsDataSizeLimit,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import {
  associatedAccount,
  createAccount,
  createAssociated,
  initializeMint,
  MINT_BYTES,
  mintTo,
  TOKEN_PROGRAM,
  transfer,
} from '#shared/start/solana/token.ts'

export type TransactionVersion = 'legacy' | 0 | 1

/** Bytes of accounts a transaction may load and units it may use: version 1 has no defaults. */
const LOADED_BYTES_MAX = 1_000_000
const UNITS_MAX = 400_000
/** Heights for which a made-up lifetime is good: the ledger does not count them. */
const LAST_HEIGHT = 2n ** 40n

/** A signed transaction in its wire form. `blockhash` only has to be new: two alike are one transaction. */
export async function signTransaction(
  payer: KeyPairSigner,
  instructions: readonly Instruction[],
  { blockhash, version = 0 }: { blockhash: string; version?: TransactionVersion },
): Promise<Uint8Array> {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: LAST_HEIGHT }
  const message = pipe(
    createTransactionMessage({ version: version as 0 }),
    (draft) => setTransactionMessageFeePayerSigner(payer, draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) => setTransactionMessageComputeUnitLimit(UNITS_MAX, draft),
    (draft) => setTransactionMessageLoadedAccountsDataSizeLimit(LOADED_BYTES_MAX, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  )
  const signed = await signTransactionMessageWithSigners(message)
  return new Uint8Array(getTransactionEncoder().encode(signed))
}

/** What makes a mint whose authority is the payer. */
export function mintInstructions(
  payer: KeyPairSigner,
  mint: KeyPairSigner,
  decimals: number,
  rent: bigint,
): Instruction[] {
  const space = { lamports: rent, bytes: MINT_BYTES, program: TOKEN_PROGRAM }
  const terms = { decimals, authority: payer.address, program: TOKEN_PROGRAM }
  return [createAccount(payer, mint, space), initializeMint(mint.address, terms)]
}

/** What gives an owner tokens of a mint whose authority is the payer. */
export async function fundInstructions(
  payer: KeyPairSigner,
  mint: Address,
  owner: Address,
  amount: bigint,
): Promise<Instruction[]> {
  const account = await associatedAccount(owner, mint)
  return [await createAssociated(payer, owner, mint), mintTo(mint, account, payer, amount)]
}

/** A wallet's payment: it makes the recipient's account when there is none, and carries the reference keys. */
export async function payInstructions(
  payer: KeyPairSigner,
  payment: { mint: Address; decimals: number; to: Address; amount: bigint; references?: Address[] },
): Promise<Instruction[]> {
  const { mint, decimals, to, amount, references = [] } = payment
  return [
    await createAssociated(payer, to, mint),
    transfer({
      from: await associatedAccount(payer.address, mint),
      to: await associatedAccount(to, mint),
      owner: payer,
      amount,
      checked: { mint, decimals },
      references,
    }),
  ]
}
