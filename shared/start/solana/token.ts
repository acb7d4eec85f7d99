import { Buffer } from 'node:buffer'
import {
  AccountRole,
  type Address,
  address,
  getAddressDecoder,
  getAddressEncoder,
  getProgramDerivedAddress,
  type Instruction,
  type TransactionSigner,
} from '@solana/kit'

/** Programs and byte layouts: solana.com/docs/tokens, spl.solana.com/token, /token-2022/extensions, /associated-token-account. */
export const SYSTEM_PROGRAM = address('11111111111111111111111111111111')
export const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA')
export const TOKEN_2022_PROGRAM = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb')
const ASSOCIATED_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')
/** Bytes of a mint, and of a Token-2022 mint that takes a fee of each transfer. */
export const MINT_BYTES = 82
export const FEE_MINT_BYTES = 278
/** Bytes of a token account; Token-2022 puts extensions behind them. */
const TOKEN_ACCOUNT_BYTES = 165
/** Behind the base, Token-2022 says what an account is; 2 is a token account. */
const ACCOUNT_TYPE_TOKEN = 2

export type TokenAccount = { mint: Address; owner: Address; amount: bigint; isInitialized: boolean }

/** The token account in an account's bytes, or undefined when they are none. */
export function parseTokenAccount(
  programAddress: string,
  data: Uint8Array,
): TokenAccount | undefined {
  if (programAddress !== TOKEN_PROGRAM && programAddress !== TOKEN_2022_PROGRAM) return undefined
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined
  const isLong = data.length > TOKEN_ACCOUNT_BYTES
  if (isLong && data[TOKEN_ACCOUNT_BYTES] !== ACCOUNT_TYPE_TOKEN) return undefined
  const decoder = getAddressDecoder()
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  return {
    mint: decoder.decode(data, 0),
    owner: decoder.decode(data, 32),
    amount: view.getBigUint64(64, true),
    isInitialized: data[108] !== 0,
  }
}

/** The account at which an owner is paid a token. */
export async function associatedAccount(
  owner: Address,
  mint: Address,
  program: Address = TOKEN_PROGRAM,
): Promise<Address> {
  const encoder = getAddressEncoder()
  const [derived] = await getProgramDerivedAddress({
    programAddress: ASSOCIATED_PROGRAM,
    seeds: [encoder.encode(owner), encoder.encode(program), encoder.encode(mint)],
  })
  return derived
}

export function createAccount(
  payer: TransactionSigner,
  created: TransactionSigner,
  { lamports, bytes, program }: { lamports: bigint; bytes: number; program: Address },
): Instruction {
  return instruction(
    SYSTEM_PROGRAM,
    [signing(payer), signing(created)],
    [u32(0), u64(lamports), u64(BigInt(bytes)), key(program)],
  )
}

export function initializeMint(
  mint: Address,
  { decimals, authority, program }: { decimals: number; authority: Address; program: Address },
): Instruction {
  return instruction(program, [writable(mint)], [u8(20), u8(decimals), key(authority), u8(0)])
}

/** Token-2022: a fee of `basisPoints` of each transfer is withheld from what arrives. */
export function initializeTransferFee(mint: Address, basisPoints: number): Instruction {
  const head = [u8(26), u8(0), u8(0), u8(0)]
  const terms = [u8(basisPoints & 0xff), u8(basisPoints >> 8), u64(10n ** 18n)]
  return instruction(TOKEN_2022_PROGRAM, [writable(mint)], [...head, ...terms])
}

/** Makes an owner's associated account unless it is there. */
export async function createAssociated(
  payer: TransactionSigner,
  owner: Address,
  mint: Address,
  program: Address = TOKEN_PROGRAM,
): Promise<Instruction> {
  const account = await associatedAccount(owner, mint, program)
  const accounts = [signing(payer), writable(account), readonly(owner), readonly(mint)]
  const programs = [readonly(SYSTEM_PROGRAM), readonly(program)]
  return instruction(ASSOCIATED_PROGRAM, [...accounts, ...programs], [u8(1)])
}

/** Initializes an account made before as an owner's token account: one that is not the associated one. */
export function initializeAccount(account: Address, mint: Address, owner: Address): Instruction {
  return instruction(TOKEN_PROGRAM, [writable(account), readonly(mint)], [u8(18), key(owner)])
}

export function mintTo(
  mint: Address,
  account: Address,
  authority: TransactionSigner,
  amount: bigint,
  program: Address = TOKEN_PROGRAM,
): Instruction {
  const accounts = [
    writable(mint),
    writable(account),
    signing(authority, AccountRole.READONLY_SIGNER),
  ]
  return instruction(program, accounts, [u8(7), u64(amount)])
}

export type TransferTerms = {
  from: Address
  to: Address
  owner: TransactionSigner
  amount: bigint
  /** Without them it is the plain `Transfer`, which does not name the mint. */
  checked?: { mint: Address; decimals: number }
  program?: Address
  /** Keys the transfer carries (Solana Pay). */
  references?: readonly Address[]
}

export function transfer(terms: TransferTerms): Instruction {
  const { from, to, owner, amount, checked, program = TOKEN_PROGRAM, references = [] } = terms
  const signer = signing(owner, AccountRole.READONLY_SIGNER)
  const extra = references.map(readonly)
  if (!checked) {
    return instruction(
      program,
      [writable(from), writable(to), signer, ...extra],
      [u8(3), u64(amount)],
    )
  }
  const accounts = [writable(from), readonly(checked.mint), writable(to), signer, ...extra]
  return instruction(program, accounts, [u8(12), u64(amount), u8(checked.decimals)])
}

export function closeAccount(account: Address, owner: TransactionSigner): Instruction {
  const signer = signing(owner, AccountRole.READONLY_SIGNER)
  return instruction(TOKEN_PROGRAM, [writable(account), writable(owner.address), signer], [u8(9)])
}

/**
 * Moves tokens that were sent to an account whose owner is itself an associated account to the wallet's own: the associated
 * token program does the transfer, as an inner instruction.
 */
export async function recoverNested(
  wallet: TransactionSigner,
  ownerMint: Address,
  nestedMint: Address,
): Promise<Instruction> {
  const ownerAccount = await associatedAccount(wallet.address, ownerMint)
  const nested = await associatedAccount(ownerAccount, nestedMint)
  const to = await associatedAccount(wallet.address, nestedMint)
  const accounts = [
    ...[writable(nested), readonly(nestedMint), writable(to), readonly(ownerAccount)],
    ...[readonly(ownerMint), signing(wallet), readonly(TOKEN_PROGRAM)],
  ]
  return instruction(ASSOCIATED_PROGRAM, accounts, [u8(2)])
}

type Meta = { address: Address; role: AccountRole; signer?: TransactionSigner }

function instruction(programAddress: Address, accounts: Meta[], data: Uint8Array[]): Instruction {
  return { programAddress, accounts, data: Buffer.concat(data) } as Instruction
}

const writable = (account: Address): Meta => ({ address: account, role: AccountRole.WRITABLE })
const readonly = (account: Address): Meta => ({ address: account, role: AccountRole.READONLY })
const signing = (signer: TransactionSigner, role = AccountRole.WRITABLE_SIGNER): Meta => {
  return { address: signer.address, role, signer }
}

const u8 = (value: number) => Uint8Array.of(value)
const u32 = (value: number) => Uint8Array.of(value, value >> 8, value >> 16, value >> 24)
const key = (account: Address) => new Uint8Array(getAddressEncoder().encode(account))
const u64 = (value: bigint) => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value, true)
  return bytes
}
