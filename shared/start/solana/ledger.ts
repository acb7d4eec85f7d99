import { createHash } from 'node:crypto'
import {
  type Address,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  lamports,
  type Transaction,
} from '@solana/kit'
import { type Clock, FailedTransactionMetadata, LiteSVM } from 'litesvm'
import { parseTokenAccount } from '#shared/start/solana/token.ts'

export type AccountState = {
  lamports: bigint
  program: string
  data: Uint8Array
  isExecutable: boolean
}
export type AccountKey = { pubkey: Address; signer: boolean; writable: boolean }
export type TokenBalance = {
  accountIndex: number
  mint: string
  owner: string
  programId: string
  amount: bigint
  decimals: number
}
/** A transaction as a block holds it, in the terms of `getBlock`. */
export type LedgerTransaction = {
  signature: string
  version: 'legacy' | number
  keys: AccountKey[]
  error: unknown
  logs: string[]
  preBalances: bigint[]
  postBalances: bigint[]
  preTokenBalances: TokenBalance[]
  postTokenBalances: TokenBalance[]
  wire: Uint8Array
}
export type LedgerBlock = {
  slot: number
  parentSlot: number
  blockhash: string
  previousBlockhash: string
  height: number
  timeS: number
  transactions: LedgerTransaction[]
}
/** What a fork begins from. */
export type Checkpoint = { svm: Uint8Array; tip: LedgerBlock }

export type LedgerOptions = {
  nowMs(): number
  /** Blocks from the tip, itself included, at which a block is confirmed and finalized. */
  confirmedDepth?: number
  finalizedDepth?: number
  firstSlot?: number
}

/** One Solana chain in this process: the real programs run on litesvm, blocks are made on command. */
export type Ledger = {
  readonly genesisHash: string
  /** Blocks of the current fork, oldest first. */
  readonly blocks: readonly LedgerBlock[]
  readonly tip: LedgerBlock
  at(commitment: Commitment): LedgerBlock
  find(slot: number): LedgerBlock | undefined
  /** Queues a signed transaction for the next block; answers its signature. Throws when it is no transaction. */
  submit(wire: Uint8Array): string
  /** Runs what is queued and seals a block. A transaction that cannot even pay its fee is left out. */
  produce(): LedgerBlock
  /** Slots without a block. */
  skip(count: number): void
  checkpoint(): Checkpoint
  /** Forgets everything after a checkpoint; what was queued stays queued. */
  rewind(checkpoint: Checkpoint): void
  /** An account as it was at a slot of the current fork. */
  account(pubkey: string, slot: number): AccountState | undefined
  /** Accounts the current fork ever touched. */
  knownAccounts(): Iterable<string>
  airdrop(to: Address, amount: bigint): void
  rentOf(bytes: number): bigint
  onBlock(listener: (block: LedgerBlock) => void): () => void
}

export type Commitment = 'processed' | 'confirmed' | 'finalized'

/** Slots and heights start apart, as on every real cluster: who takes one for the other is found out. */
const FIRST_SLOT = 1_000
/** Blocks kept: older ones are forgotten, as nodes do. */
const BLOCKS_MAX = 20_000

export function createLedger(options: LedgerOptions): Ledger {
  const { confirmedDepth = 2, finalizedDepth = 32 } = options
  let svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n)
  const blocks = [firstBlock(options)]
  const queue: Uint8Array[] = []
  const seen = new Set<string>()
  const history = createHistory()
  const listeners = new Set<(block: LedgerBlock) => void>()
  let slot = blocks[0]?.slot ?? FIRST_SLOT
  let forkCount = 0

  const tip = () => blocks.at(-1) as LedgerBlock
  const seal = (transactions: LedgerTransaction[]) => {
    const block = nextBlock(tip(), { slot, forkCount, nowMs: options.nowMs(), transactions })
    blocks.push(block)
    if (blocks.length > BLOCKS_MAX) blocks.shift()
    for (const listener of listeners) listener(block)
    return block
  }
  return {
    genesisHash: blocks[0]?.blockhash ?? '',
    blocks,
    get tip() {
      return tip()
    },
    at(commitment) {
      const depth = { processed: 1, confirmed: confirmedDepth, finalized: finalizedDepth }[
        commitment
      ]
      return blocks[Math.max(0, blocks.length - depth)] as LedgerBlock
    },
    find: (wanted) => findBlock(blocks, wanted),
    submit(wire) {
      const signature = signatureOf(getTransactionDecoder().decode(wire))
      if (!seen.has(signature)) queue.push(wire)
      return signature
    },
    produce() {
      slot += 1
      svm.warpToSlot(BigInt(slot))
      setTime(svm, options.nowMs())
      const executed = queue.splice(0).flatMap((wire) => {
        const done = execute(svm, wire)
        if (!done || seen.has(done.signature)) return []
        seen.add(done.signature)
        for (const [index, { pubkey, writable }] of done.keys.entries()) {
          if (!writable) continue
          history.note(pubkey, slot, readAccount(svm, pubkey), done.before[index])
        }
        const { before: _, ...transaction } = done
        return [transaction]
      })
      return seal(executed)
    },
    skip(count) {
      slot += count
    },
    checkpoint: () => ({ svm: svm.toBytes(), tip: tip() }),
    rewind(checkpoint) {
      svm = LiteSVM.fromBytes(checkpoint.svm).withBlockhashCheck(false).withTransactionHistory(0n)
      forkCount += 1
      while (tip() !== checkpoint.tip && blocks.length > 1) {
        for (const { signature } of blocks.pop()?.transactions ?? []) seen.delete(signature)
      }
      slot = tip().slot
      history.rewind(slot)
    },
    account: (pubkey, at) =>
      history.has(pubkey) ? history.at(pubkey, at) : readAccount(svm, pubkey as Address),
    knownAccounts: () => history.keys(),
    airdrop(to, amount) {
      const result = svm.airdrop(to, lamports(amount))
      if (result instanceof FailedTransactionMetadata) throw new Error(`no airdrop of ${amount}`)
      history.note(to, slot, readAccount(svm, to))
    },
    rentOf: (bytes) => svm.minimumBalanceForRentExemption(BigInt(bytes)),
    onBlock(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** What accounts were at each slot that changed them. */
function createHistory() {
  const byKey = new Map<string, { slot: number; state: AccountState | undefined }[]>()
  return {
    note(key: string, slot: number, state?: AccountState, before?: AccountState) {
      const versions = byKey.get(key) ?? [{ slot: 0, state: before }]
      byKey.set(key, versions)
      if (versions.at(-1)?.slot === slot) versions.pop()
      versions.push({ slot, state })
    },
    rewind(slot: number) {
      for (const versions of byKey.values()) {
        while (versions.length > 1 && (versions.at(-1)?.slot ?? 0) > slot) versions.pop()
      }
    },
    has: (key: string) => byKey.has(key),
    at: (key: string, slot: number) =>
      byKey.get(key)?.findLast((version) => version.slot <= slot)?.state,
    keys: () => byKey.keys(),
  }
}

function findBlock(blocks: readonly LedgerBlock[], wanted: number): LedgerBlock | undefined {
  let low = 0
  let high = blocks.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const block = blocks[middle] as LedgerBlock
    if (block.slot === wanted) return block
    if (block.slot < wanted) low = middle + 1
    else high = middle - 1
  }
  return undefined
}

function nextBlock(
  parent: LedgerBlock,
  made: { slot: number; forkCount: number; nowMs: number; transactions: LedgerTransaction[] },
): LedgerBlock {
  const { slot, forkCount, nowMs, transactions } = made
  return {
    slot,
    parentSlot: parent.slot,
    blockhash: hashOf(`${parent.blockhash} ${slot} ${forkCount}`),
    previousBlockhash: parent.blockhash,
    height: parent.height + 1,
    timeS: Math.max(parent.timeS, Math.floor(nowMs / 1000)),
    transactions,
  }
}

function firstBlock({ nowMs, firstSlot = FIRST_SLOT }: LedgerOptions): LedgerBlock {
  const timeS = Math.floor(nowMs() / 1000)
  const blockhash = hashOf(`genesis ${nowMs()} ${Math.random()}`)
  const before = { parentSlot: firstSlot - 1, previousBlockhash: hashOf('nothing') }
  return { slot: firstSlot, ...before, blockhash, height: 1, timeS, transactions: [] }
}

function hashOf(text: string): string {
  return getBase58Decoder().decode(createHash('sha256').update(text).digest())
}

function signatureOf(transaction: Transaction): string {
  const [signature] = Object.values(transaction.signatures)
  if (!signature) throw new Error('the transaction is not signed')
  return getBase58Decoder().decode(signature)
}

function setTime(svm: LiteSVM, nowMs: number): void {
  const clock: Clock = svm.getClock()
  clock.unixTimestamp = BigInt(Math.floor(nowMs / 1000))
  svm.setClock(clock)
}

function readAccount(svm: LiteSVM, pubkey: Address): AccountState | undefined {
  const account = svm.getAccount(pubkey)
  if (!account.exists) return undefined
  const { programAddress: program, executable: isExecutable } = account
  return { lamports: account.lamports, program, data: new Uint8Array(account.data), isExecutable }
}

/** Runs a transaction; undefined when it did not even get as far as to pay its fee. */
function execute(svm: LiteSVM, wire: Uint8Array) {
  const transaction = getTransactionDecoder().decode(wire)
  const keys = readKeys(transaction)
  const before = keys.map(({ pubkey }) => readAccount(svm, pubkey))
  const preTokenBalances = readTokenBalances(svm, keys, before)
  const result = svm.sendTransaction(transaction)
  const isFailed = result instanceof FailedTransactionMetadata
  const after = keys.map(({ pubkey }) => readAccount(svm, pubkey))
  const preBalances = before.map((state) => state?.lamports ?? 0n)
  const postBalances = after.map((state) => state?.lamports ?? 0n)
  if (isFailed && preBalances[0] === postBalances[0]) return undefined
  const version = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes).version
  return {
    signature: signatureOf(transaction),
    version,
    keys,
    error: isFailed ? { InstructionError: [0, { Custom: 1 }] } : null,
    logs: isFailed ? result.meta().logs() : result.logs(),
    ...{ before, preBalances, postBalances, preTokenBalances },
    postTokenBalances: readTokenBalances(svm, keys, after),
    wire,
  }
}

function readKeys({ messageBytes }: Transaction): AccountKey[] {
  const { staticAccounts, header } = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header
  return staticAccounts.map((pubkey, index) => {
    const signer = index < numSignerAccounts
    const writable = signer
      ? index < numSignerAccounts - numReadonlySignerAccounts
      : index < staticAccounts.length - numReadonlyNonSignerAccounts
    return { pubkey, signer, writable }
  })
}

function readTokenBalances(
  svm: LiteSVM,
  keys: readonly AccountKey[],
  states: readonly (AccountState | undefined)[],
): TokenBalance[] {
  return keys.flatMap((_, accountIndex) => {
    const state = states[accountIndex]
    const token = state ? parseTokenAccount(state.program, state.data) : undefined
    if (!state || !token?.isInitialized) return []
    const { mint, owner, amount } = token
    // Decimals stand at this place in every mint.
    const decimals = readAccount(svm, mint)?.data[44] ?? 0
    return [{ accountIndex, mint, owner, programId: state.program, amount, decimals }]
  })
}
