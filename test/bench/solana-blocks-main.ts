import { createHash } from 'node:crypto'
import process from 'node:process'
import { getBase58Decoder } from '@solana/kit'
import { listenWire } from '#shared/start/solana/wire.ts'

/**
 * A node that answers blocks of mainnet's size and nothing else: 1,500 transactions, two thirds of them votes, the others
 * with some 20 accounts and 6 token balances, 100 of them in the watched mint. Prints where it listens.
 */

const TRANSACTIONS = 1_500
const VOTES = 1_000
const WATCHED = 100
const KEYS = 20
const BALANCES = 6
const FIRST = 400_000_000
const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const OTHER_MINT = 'So11111111111111111111111111111111111111112'
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

const keyOf = (text: string) =>
  getBase58Decoder().decode(createHash('sha256').update(text).digest())
const signatureOf = (text: string) =>
  getBase58Decoder().decode(createHash('sha512').update(text).digest())

const transactions = JSON.stringify(
  Array.from({ length: TRANSACTIONS }, (_, index) => toTransaction(index)),
)
const genesisHash = keyOf('genesis')
const server = await listenWire({
  onOpen() {},
  onMessage() {},
  onClose() {},
  async onPost(body) {
    const call = JSON.parse(body) as { id: number; method: string; params: unknown[] }
    return { status: 200, body: `{"jsonrpc":"2.0","id":${call.id},"result":${answer(call)}}` }
  },
})
process.stdout.write(
  `${JSON.stringify({ url: `http://127.0.0.1:${server.port}`, genesisHash, first: FIRST, blockBytes: transactions.length })}\n`,
)

function answer({ method, params }: { method: string; params: unknown[] }): string {
  if (method === 'getGenesisHash') return JSON.stringify(genesisHash)
  const [from, to] = params as [number, number]
  if (method === 'getBlocks') {
    return JSON.stringify(Array.from({ length: to - from + 1 }, (_, index) => from + index))
  }
  const head = {
    ...{ blockHeight: from - 20_000_000, blockTime: Math.floor(Date.now() / 1000) },
    ...{
      blockhash: keyOf(`${from}`),
      parentSlot: from - 1,
      previousBlockhash: keyOf(`${from - 1}`),
    },
  }
  return `${JSON.stringify(head).slice(0, -1)},"transactions":${transactions}}`
}

function toTransaction(index: number) {
  const isVote = index < VOTES
  const keys = Array.from({ length: isVote ? 4 : KEYS }, (_, at) => ({
    ...{
      pubkey: keyOf(`${index} ${at}`),
      signer: at === 0,
      source: 'transaction',
      writable: at < 8,
    },
  }))
  const lamports = keys.map(() => 2_039_280)
  const mint = index >= TRANSACTIONS - WATCHED ? MINT : OTHER_MINT
  const balances = (extra: number) =>
    Array.from({ length: isVote ? 0 : BALANCES }, (_, at) => ({
      accountIndex: at + 1,
      mint,
      owner: keyOf(`owner ${index} ${at}`),
      programId: TOKEN_PROGRAM,
      uiTokenAmount: {
        amount: String(1_000_000 + (at % 2 === 0 ? extra : -extra)),
        ...{ decimals: 6, uiAmount: 1, uiAmountString: '1' },
      },
    }))
  return {
    meta: {
      ...{ err: null, fee: 5_000, preBalances: lamports, postBalances: lamports },
      ...{ preTokenBalances: balances(0), postTokenBalances: balances(5), status: { Ok: null } },
    },
    transaction: { accountKeys: keys, signatures: [signatureOf(`${index}`)] },
    version: isVote ? 'legacy' : 0,
  }
}
