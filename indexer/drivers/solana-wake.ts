import { type RpcCall, RpcSocket } from '../socket.ts'
import type { DriverDeps, WakeHandle, WakeReason } from './driver.ts'

export type Bell = WakeHandle & {
  isAlive(): boolean
  /** Token accounts whose changes ring, exchanged as a whole. */
  listen(accounts: Iterable<string>): void
  isListening(account: string): boolean
  /** Milliseconds between rings for new slots; undefined: they do not ring. */
  setPace(headEveryMs: number | undefined): void
}
export type BellHandlers = {
  onWake(reason: WakeReason): void
  onHead(slot: unknown): void
  /** A token account changed in this slot. */
  onAccount(account: string, slot: number): void
}

/** A cheap call that every node answers. */
export const PING_CALL: RpcCall = { method: 'getHealth', params: [] }

/** Slots come every 400 ms: a connection that tells of none for so many milliseconds is distrusted. */
const SILENCE_MS = 8_000
/** Accounts listened to over one connection; providers bound them, and the others are asked about. */
const ACCOUNTS_MAX = 900

/**
 * The doorbell of Solana: slots, and changes of the token accounts that matter, at `confirmed`. Without a ws(s) URL it is
 * mute. Who is to be watched comes with `listen`, since accounts and not recipients ring.
 */
export function openBell({ deployment, log }: DriverDeps, handlers: BellHandlers): Bell {
  const urls = deployment.rpc.filter((url) => /^wss?:/.test(url))
  if (urls.length === 0) return mute()
  const { onWake, onHead, onAccount } = handlers
  const open = new Map<string, () => void>()
  let headEveryMs: number | undefined
  let rangAt = 0
  const socket = new RpcSocket({
    urls,
    pingCall: PING_CALL,
    log,
    silenceMs: SILENCE_MS,
    onOpen: () => onWake('connected'),
  })
  socket.subscribe({
    subscribe: { method: 'slotSubscribe', params: [] },
    unsubscribeMethod: 'slotUnsubscribe',
    isRequired: true,
    onNotification(result) {
      onHead((result as { slot?: unknown } | null)?.slot)
      const now = performance.now()
      if (headEveryMs === undefined || now - rangAt < headEveryMs) return
      rangAt = now
      onWake('head')
    },
  })
  const config = {
    commitment: 'confirmed',
    encoding: 'base64',
    dataSlice: { offset: 64, length: 8 },
  }
  const subscribe = (account: string) =>
    socket.subscribe({
      subscribe: { method: 'accountSubscribe', params: [account, config] },
      unsubscribeMethod: 'accountUnsubscribe',
      // The accounts are asked about as well, only less often.
      isRequired: false,
      onNotification(result) {
        const { context } = (result ?? {}) as { context?: { slot?: unknown } }
        if (typeof context?.slot === 'number') onAccount(account, context.slot)
        onWake('transfer')
      },
    })
  return {
    watch() {},
    isAlive: () => socket.isReady,
    isListening: (account) => socket.isReady && open.has(account),
    setPace(ms) {
      headEveryMs = ms
    },
    listen(accounts) {
      const wanted = new Set([...accounts].slice(0, ACCOUNTS_MAX))
      for (const [account, end] of open) {
        if (wanted.has(account)) continue
        open.delete(account)
        end()
      }
      for (const account of wanted) if (!open.has(account)) open.set(account, subscribe(account))
    },
    stop: () => socket.stop(),
  }
}

function mute(): Bell {
  return {
    watch() {},
    listen() {},
    setPace() {},
    stop() {},
    isAlive: () => false,
    isListening: () => false,
  }
}
