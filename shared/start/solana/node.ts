import type { Commitment, Ledger, LedgerBlock } from '#shared/start/solana/ledger.ts'
import { answerCall, NodeError, tipOf, toAccount, type View } from '#shared/start/solana/methods.ts'
import { listenWire, type Peer, type WireServer } from '#shared/start/solana/wire.ts'

/** What a node may do wrong. All of it can be changed while it runs. */
export type Faults = Omit<View, 'ledger'> & {
  /** Notifications are lost, though the connection lives. */
  isMute: boolean
  /** Nothing is answered any more, nothing closed. */
  isBlackHole: boolean
  /** HTTP status of every answer while set. */
  httpStatus: number | undefined
  /** Answers in place of the node: a result, an error, or nothing for "as usual". */
  intercept: ((method: string, params: unknown[]) => Answer | undefined) | undefined
  /** Milliseconds before an answer. */
  delayMs: number
}
export type Answer = { result: unknown } | { error: { code: number; message: string } }

/** Methods that no real node has. */
export type OwnMethods = Readonly<Record<string, (params: unknown[]) => Promise<unknown>>>

export type SolanaNode = {
  httpUrl: string
  wsUrl: string
  faults: Faults
  /** Calls by method since start; a batch counts each of its entries. */
  readonly calls: Map<string, number>
  readonly subscriptionCount: number
  cutWebsockets(): void
  stop(): Promise<void>
}

type Subscription = {
  id: number
  peer: Peer
  kind: 'slot' | 'account'
  pubkey: string
  commitment: Commitment
  /** Newest slot it was told of. */
  toldSlot: number
}
type Request = { id?: unknown; method?: unknown; params?: unknown }

/** A node of the ledger's cluster: JSON-RPC over HTTP and websocket on one port. */
export async function startNode(
  ledger: Ledger,
  port?: number,
  ownMethods: OwnMethods = {},
): Promise<SolanaNode> {
  const faults: Faults = {
    ...{ lagBlocks: 0, prunedBelow: 0, hidden: new Set<string>() },
    ...{ isMute: false, isBlackHole: false, delayMs: 0 },
    ...{ httpStatus: undefined, intercept: undefined },
  }
  const view = (): View => ({ ledger, ...faults })
  const calls = new Map<string, number>()
  const subscriptions = new Map<number, Subscription>()
  let nextId = 1

  const call = async (request: Request, peer?: Peer) => {
    const method = String(request.method)
    const params = Array.isArray(request.params) ? request.params : []
    calls.set(method, (calls.get(method) ?? 0) + 1)
    const head = { jsonrpc: '2.0', id: request.id ?? null }
    try {
      const taken = faults.intercept?.(method, params)
      if (taken) return { ...head, ...taken }
      return {
        ...head,
        result:
          (await ownMethods[method]?.(params)) ??
          subscribe(method, params, peer) ??
          answerCall(view(), method, params),
      }
    } catch (error) {
      const code = error instanceof NodeError ? error.code : -32_603
      return { ...head, error: { code, message: String((error as Error).message) } }
    }
  }
  const subscribe = (method: string, params: unknown[], peer?: Peer): unknown => {
    if (method.endsWith('Unsubscribe')) return subscriptions.delete(Number(params[0]))
    const kind = { slotSubscribe: 'slot', accountSubscribe: 'account' }[method]
    if (kind === undefined || !peer) return undefined
    const { commitment = 'finalized' } = (params[1] ?? {}) as { commitment?: Commitment }
    const id = nextId
    nextId += 1
    const toldSlot = tipOf(view(), kind === 'slot' ? 'processed' : commitment).slot
    const pubkey = String(params[0])
    subscriptions.set(id, { ...{ id, peer, pubkey, commitment, toldSlot }, kind: kind as 'slot' })
    return id
  }
  const reply = async (text: string, peer?: Peer): Promise<string> => {
    const input = JSON.parse(text) as Request | Request[]
    const calls = [input].flat().map((one) => call(one, peer))
    const answers = await Promise.all(calls)
    return JSON.stringify(Array.isArray(input) ? answers : answers[0])
  }
  const wire: WireServer = await listenWire(
    {
      isBlackHole: () => faults.isBlackHole,
      async onPost(body) {
        if (faults.delayMs > 0) await new Promise((done) => setTimeout(done, faults.delayMs))
        if (faults.httpStatus) return { status: faults.httpStatus, body: '' }
        return { status: 200, body: await reply(body) }
      },
      onOpen() {},
      onMessage: async (peer, text) => peer.send(await reply(text, peer)),
      onClose(peer) {
        for (const { id, peer: of } of subscriptions.values())
          if (of === peer) subscriptions.delete(id)
      },
    },
    port,
  )
  const unlisten = ledger.onBlock(() => {
    const isSilent = faults.isMute || faults.isBlackHole
    for (const one of subscriptions.values()) notify(view(), one, isSilent)
  })
  return {
    httpUrl: `http://127.0.0.1:${wire.port}`,
    wsUrl: `ws://127.0.0.1:${wire.port}`,
    faults,
    calls,
    get subscriptionCount() {
      return subscriptions.size
    },
    cutWebsockets: () => wire.cut('websockets'),
    async stop() {
      unlisten()
      await wire.stop()
    },
  }
}

function notify(view: View, subscription: Subscription, isSilent: boolean): void {
  const { id, peer, kind, pubkey, commitment } = subscription
  const tip = tipOf(view, kind === 'slot' ? 'processed' : commitment)
  const fresh = newBlocks(view, subscription.toldSlot, tip)
  subscription.toldSlot = tip.slot
  if (isSilent) return
  const tell = (method: string, result: unknown) =>
    peer.send(JSON.stringify({ jsonrpc: '2.0', method, params: { result, subscription: id } }))
  for (const block of fresh) {
    const { slot, parentSlot: parent, transactions } = block
    if (kind === 'slot') {
      tell('slotNotification', { slot, parent, root: tipOf(view, 'finalized').slot })
    } else if (
      transactions.some(({ keys }) => keys.some((key) => key.writable && key.pubkey === pubkey))
    ) {
      const value = toAccount(view.ledger.account(pubkey, slot))
      tell('accountNotification', { context: { slot }, value })
    }
  }
}

function newBlocks({ ledger }: View, toldSlot: number, tip: LedgerBlock): LedgerBlock[] {
  const found: LedgerBlock[] = []
  for (let index = ledger.blocks.length - 1; index >= 0; index -= 1) {
    const block = ledger.blocks[index] as LedgerBlock
    if (block.slot <= toldSlot) break
    if (block.slot <= tip.slot) found.unshift(block)
  }
  return found
}
