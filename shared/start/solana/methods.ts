import { Buffer } from 'node:buffer'
import type {
  AccountState,
  Commitment,
  Ledger,
  LedgerBlock,
  LedgerTransaction,
  TokenBalance,
} from '#shared/start/solana/ledger.ts'
import { parseTokenAccount } from '#shared/start/solana/token.ts'

/** A node's own view of the ledger: what it has not seen yet, what it has forgotten, what it hides. */
export type View = {
  ledger: Ledger
  /** Blocks it is behind. */
  lagBlocks: number
  /** Slots below were cleaned up. */
  prunedBelow: number
  /** Signatures it leaves out of blocks and lists. */
  hidden: ReadonlySet<string>
}

/** A JSON-RPC error as Agave's nodes answer it (docs: solana.com/docs/rpc, codes: anza-xyz/agave rpc-client-api custom_error.rs). */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

type Config = {
  commitment?: Commitment
  minContextSlot?: number
  maxSupportedTransactionVersion?: number
  transactionDetails?: 'full' | 'accounts' | 'signatures' | 'none'
  encoding?: string
  limit?: number
  before?: string
  until?: string
  dataSlice?: { offset: number; length: number }
}
type Method = (view: View, params: unknown[]) => unknown

/** Entries one `getSignaturesForAddress` answers at most, and accounts one `getMultipleAccounts` takes. */
const SIGNATURES_MAX = 1_000
const ACCOUNTS_MAX = 100
/** Slots one `getBlocks` spans at most. */
const BLOCKS_SPAN_MAX = 500_000

/** Answers a JSON-RPC call from a node's view. Throws `NodeError`. */
export function answerCall(view: View, method: string, params: unknown[]): unknown {
  const known = METHODS[method]
  if (!known) throw new NodeError(-32_601, 'Method not found')
  return known(view, params)
}

/** The newest block a node has at a commitment. */
export function tipOf(
  { ledger, lagBlocks }: View,
  commitment: Commitment = 'finalized',
): LedgerBlock {
  if (lagBlocks === 0) return ledger.at(commitment)
  const seen = ledger.blocks.length - lagBlocks
  const depth = ledger.blocks.indexOf(ledger.tip) - ledger.blocks.indexOf(ledger.at(commitment))
  return ledger.blocks[Math.max(0, seen - 1 - depth)] as LedgerBlock
}

const METHODS: Readonly<Record<string, Method>> = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': '4.0.0', 'feature-set': 0 }),
  getGenesisHash: ({ ledger }) => ledger.genesisHash,
  getSlot: (view, [config]) => contextOf(view, config).slot,
  getFirstAvailableBlock: ({ ledger, prunedBelow }) =>
    ledger.blocks.find(({ slot }) => slot >= prunedBelow)?.slot ?? 0,
  getBlockHeight: (view, [config]) => contextOf(view, config).height,
  getMinimumBalanceForRentExemption: ({ ledger }, [bytes]) => Number(ledger.rentOf(Number(bytes))),
  getLatestBlockhash(view, [config]) {
    const { slot, blockhash, height } = contextOf(view, config)
    return { context: { slot }, value: { blockhash, lastValidBlockHeight: height + 150 } }
  },
  isBlockhashValid: (view, [, config]) => ({
    context: { slot: contextOf(view, config).slot },
    value: true,
  }),
  getBlocks(view, [from, to, config]) {
    const last = typeof to === 'number' ? to : Number.MAX_SAFE_INTEGER
    if (last !== Number.MAX_SAFE_INTEGER && last - Number(from) > BLOCKS_SPAN_MAX) {
      throw new NodeError(-32_602, `Slot range too large; max ${BLOCKS_SPAN_MAX}`)
    }
    const tip = contextOf(view, typeof to === 'number' ? config : (to ?? config))
    const first = Math.max(Number(from), view.prunedBelow)
    return view.ledger.blocks
      .map(({ slot }) => slot)
      .filter((slot) => slot >= first && slot <= last && slot <= tip.slot)
  },
  getBlock: (view, [slot, config]) => getBlock(view, Number(slot), (config ?? {}) as Config),
  getSignaturesForAddress: (view, [address, config]) =>
    getSignatures(view, String(address), (config ?? {}) as Config),
  getTransaction: (view, [signature, config]) =>
    getTransaction(view, String(signature), (config ?? {}) as Config),
  getSignatureStatuses(view, [signatures]) {
    const { slot } = tipOf(view, 'processed')
    const value = (signatures as string[]).map((signature) => statusOf(view, signature))
    return { context: { slot }, value }
  },
  getAccountInfo(view, [pubkey, config]) {
    const { slot } = contextOf(view, config)
    return { context: { slot }, value: toAccount(view.ledger.account(String(pubkey), slot)) }
  },
  getMultipleAccounts(view, [pubkeys, config]) {
    const keys = pubkeys as string[]
    if (keys.length > ACCOUNTS_MAX)
      throw new NodeError(-32_602, 'Too many inputs provided; max 100')
    const { slot } = contextOf(view, config)
    const { dataSlice } = (config ?? {}) as Config
    return {
      context: { slot },
      value: keys.map((key) => toAccount(view.ledger.account(key, slot), dataSlice)),
    }
  },
  getBalance(view, [pubkey, config]) {
    const { slot } = contextOf(view, config)
    const value = Number(view.ledger.account(String(pubkey), slot)?.lamports ?? 0n)
    return { context: { slot }, value }
  },
  getTokenAccountsByOwner(view, [owner, filter, config]) {
    const { slot } = contextOf(view, config)
    const { mint, programId } = filter as { mint?: string; programId?: string }
    const value = [...view.ledger.knownAccounts()].flatMap((pubkey) => {
      const state = view.ledger.account(pubkey, slot)
      const token = state ? parseTokenAccount(state.program, state.data) : undefined
      if (!state || !token?.isInitialized || token.owner !== owner) return []
      const isWanted = mint ? token.mint === mint : state.program === programId
      return isWanted ? [{ pubkey, account: toAccount(state) }] : []
    })
    return { context: { slot }, value }
  },
  getTokenAccountBalance(view, [pubkey, config]) {
    const { slot } = contextOf(view, config)
    const state = view.ledger.account(String(pubkey), slot)
    const token = state ? parseTokenAccount(state.program, state.data) : undefined
    if (!token) throw new NodeError(-32_602, 'Invalid param: could not find account')
    const decimals = view.ledger.account(token.mint, slot)?.data[44] ?? 0
    return { context: { slot }, value: toAmount(token.amount, decimals) }
  },
  requestAirdrop({ ledger }, [pubkey, amount]) {
    ledger.airdrop(pubkey as Parameters<Ledger['airdrop']>[0], BigInt(Number(amount)))
    return ledger.genesisHash
  },
  sendTransaction({ ledger }, [wire, config]) {
    if ((config as Config | undefined)?.encoding !== 'base64') {
      throw new NodeError(-32_602, 'this node takes base64 only')
    }
    return ledger.submit(new Uint8Array(Buffer.from(String(wire), 'base64')))
  },
}

function contextOf(view: View, config: unknown): LedgerBlock {
  const { commitment = 'finalized', minContextSlot = 0 } = (config ?? {}) as Config
  const tip = tipOf(view, commitment)
  if (tip.slot < minContextSlot) {
    throw new NodeError(-32_016, 'Minimum context slot has not been reached')
  }
  return tip
}

function getBlock(view: View, slot: number, config: Config) {
  const tip = tipOf(view, config.commitment)
  if (slot < view.prunedBelow) {
    const first = view.prunedBelow
    throw new NodeError(
      -32_001,
      `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
    )
  }
  if (slot > tip.slot) throw new NodeError(-32_004, `Block not available for slot ${slot}`)
  const block = view.ledger.find(slot)
  if (!block) {
    throw new NodeError(
      -32_007,
      `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`,
    )
  }
  const { transactionDetails: details = 'full' } = config
  const shown = block.transactions.filter(({ signature }) => !view.hidden.has(signature))
  return {
    blockHeight: block.height,
    blockTime: block.timeS,
    blockhash: block.blockhash,
    parentSlot: block.parentSlot,
    previousBlockhash: block.previousBlockhash,
    ...(details === 'signatures' ? { signatures: shown.map(({ signature }) => signature) } : {}),
    ...(details === 'full' || details === 'accounts'
      ? { transactions: shown.map((transaction) => toBlockTransaction(transaction, config)) }
      : {}),
  }
}

function toBlockTransaction(transaction: LedgerTransaction, config: Config) {
  const { signature, keys } = transaction
  const accountKeys = toAccountKeys(keys)
  const isFull = config.transactionDetails !== 'accounts'
  return {
    meta: toMeta(transaction),
    transaction: isFull
      ? { message: { accountKeys, instructions: [] }, signatures: [signature] }
      : { accountKeys, signatures: [signature] },
    ...toVersion(transaction, config),
  }
}

function toVersion({ version }: LedgerTransaction, { maxSupportedTransactionVersion }: Config) {
  if (maxSupportedTransactionVersion === undefined && version === 'legacy') return {}
  if (version !== 'legacy' && version > (maxSupportedTransactionVersion ?? -1)) {
    throw new NodeError(
      -32_015,
      `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
    )
  }
  return { version }
}

function toAccountKeys(keys: LedgerTransaction['keys']) {
  return keys.map((key) => ({ ...key, source: 'transaction' }))
}

function toMeta(transaction: LedgerTransaction) {
  const { error, preBalances, postBalances, preTokenBalances, postTokenBalances } = transaction
  return {
    computeUnitsConsumed: 4_645,
    err: error,
    fee: 5_000,
    logMessages: transaction.logs,
    preBalances: preBalances.map(Number),
    postBalances: postBalances.map(Number),
    preTokenBalances: preTokenBalances.map(toTokenBalance),
    postTokenBalances: postTokenBalances.map(toTokenBalance),
    status: error === null ? { Ok: null } : { Err: error },
  }
}

function toTokenBalance({ amount, decimals, ...rest }: TokenBalance) {
  return { ...rest, uiTokenAmount: toAmount(amount, decimals) }
}

function toAmount(amount: bigint, decimals: number) {
  const text = amount.toString().padStart(decimals + 1, '0')
  const fraction = decimals === 0 ? '' : text.slice(-decimals).replace(/0+$/, '')
  const whole = text.slice(0, text.length - decimals)
  const uiAmountString = fraction === '' ? whole : `${whole}.${fraction}`
  return { amount: amount.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString }
}

function getSignatures(view: View, address: string, config: Config) {
  const tip = contextOf(view, config)
  const limit = Math.min(SIGNATURES_MAX, config.limit ?? SIGNATURES_MAX)
  const found: object[] = []
  let isCounting = config.before === undefined
  const blocks = view.ledger.blocks
  for (let index = blocks.length - 1; index >= 0 && found.length < limit; index -= 1) {
    const block = blocks[index] as LedgerBlock
    if (block.slot > tip.slot) continue
    if (block.slot < view.prunedBelow) break
    for (const transaction of block.transactions.toReversed()) {
      const { signature, keys, error } = transaction
      if (signature === config.until) return found
      const isMine = keys.some(({ pubkey }) => pubkey === address) && !view.hidden.has(signature)
      if (isCounting && isMine && found.length < limit) {
        const confirmationStatus = statusOf(view, signature)?.confirmationStatus
        const facts = { signature, slot: block.slot, blockTime: block.timeS, confirmationStatus }
        found.push({ ...facts, err: error, memo: null })
      }
      if (signature === config.before) isCounting = true
    }
  }
  return found
}

function getTransaction(view: View, signature: string, config: Config) {
  const place = findTransaction(view, signature)
  const tip = tipOf(view, config.commitment)
  if (!place || place.block.slot > tip.slot || view.hidden.has(signature)) return null
  const { block, transaction } = place
  const accountKeys = toAccountKeys(transaction.keys)
  return {
    blockTime: block.timeS,
    meta: toMeta(transaction),
    slot: block.slot,
    transaction: { message: { accountKeys, instructions: [] }, signatures: [signature] },
    ...toVersion(transaction, config),
  }
}

function findTransaction({ ledger, prunedBelow }: View, signature: string) {
  for (let index = ledger.blocks.length - 1; index >= 0; index -= 1) {
    const block = ledger.blocks[index] as LedgerBlock
    if (block.slot < prunedBelow) return undefined
    const transaction = block.transactions.find((one) => one.signature === signature)
    if (transaction) return { block, transaction }
  }
  return undefined
}

function statusOf(view: View, signature: string) {
  const place = findTransaction(view, signature)
  if (!place || place.block.slot > tipOf(view, 'processed').slot) return null
  const { block, transaction } = place
  const confirmationStatus = (['finalized', 'confirmed', 'processed'] as const).find(
    (commitment) => block.slot <= tipOf(view, commitment).slot,
  )
  return { slot: block.slot, confirmations: null, err: transaction.error, confirmationStatus }
}

/** An account as `getAccountInfo` shows it, base64 whatever was asked for. */
export function toAccount(
  state: AccountState | undefined,
  { offset, length }: Config['dataSlice'] = { offset: 0, length: state?.data.length ?? 0 },
) {
  if (!state || (state.lamports === 0n && state.data.length === 0)) return null
  return {
    data: [Buffer.from(state.data.slice(offset, offset + length)).toString('base64'), 'base64'],
    executable: state.isExecutable,
    lamports: Number(state.lamports),
    owner: state.program,
    rentEpoch: 0,
    space: state.data.length,
  }
}
