import { watchedTokens } from '#shared/networks/registry.ts'
import { type RpcCall, RpcSocket, type Subscription } from '../socket.ts'
import type { DriverDeps, WakeHandle, WakeReason } from './driver.ts'
import { TRANSFER_TOPIC } from './evm-shapes.ts'

export type Bell = WakeHandle & { isAlive(): boolean }

/** A cheap call that every node answers. */
export const PING_CALL: RpcCall = { method: 'eth_chainId', params: [] }

/** Blocks whose heads may fail to come before the connection is distrusted, and bounds in milliseconds. */
const SILENT_BLOCKS_MAX = 10
const SILENCE_MS_MIN = 15_000
const SILENCE_MS_MAX = 180_000
/** Recipients in a log filter; nodes refuse long lists, and heads ring soon enough. */
const RECIPIENTS_MAX = 100
/** Milliseconds between two changes of the log filter, each of which costs two calls. */
const WATCH_EVERY_MS = 1_000

/** The doorbell of an EVM chain: new heads and, for few recipients, their transfers. Without a ws(s) URL it is mute. */
export function openBell(
  { deployment, log }: DriverDeps,
  onHead: (head: unknown) => void,
  onWake: (reason: WakeReason) => void,
): Bell {
  const urls = deployment.rpc.filter((url) => /^wss?:/.test(url))
  if (urls.length === 0) return { watch() {}, stop() {}, isAlive: () => false }
  const silenceMs = Math.min(
    SILENCE_MS_MAX,
    Math.max(SILENCE_MS_MIN, SILENT_BLOCKS_MAX * deployment.blockTimeMs),
  )
  const socket = new RpcSocket({
    urls,
    pingCall: PING_CALL,
    log,
    silenceMs,
    onOpen: () => onWake('connected'),
  })
  socket.subscribe({
    subscribe: { method: 'eth_subscribe', params: ['newHeads'] },
    unsubscribeMethod: 'eth_unsubscribe',
    isRequired: true,
    onNotification(head) {
      onHead(head)
      onWake('head')
    },
  })
  const addresses = watchedTokens(deployment).map(({ contract }) => contract.toLowerCase())
  const recipients = keepWatching(socket, addresses, () => onWake('transfer'))
  return {
    watch: recipients.watch,
    isAlive: () => socket.isReady,
    stop() {
      recipients.stop()
      socket.stop()
    },
  }
}

/** One log subscription, exchanged when the recipients change, at most once a second. */
function keepWatching(socket: RpcSocket, tokens: readonly string[], onLog: () => void) {
  let shown = ''
  let wanted: readonly string[] = []
  let timer: ReturnType<typeof setTimeout> | undefined
  let end = () => {}
  const apply = () => {
    timer = undefined
    const key = wanted.join()
    if (key === shown) return
    end()
    shown = key
    end = wanted.length === 0 ? () => {} : socket.subscribe(toSubscription(tokens, wanted, onLog))
    timer = setTimeout(apply, WATCH_EVERY_MS)
  }
  return {
    watch(recipients: readonly string[]) {
      wanted = recipients.length > RECIPIENTS_MAX ? [] : [...recipients].sort()
      if (!timer) apply()
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

function toSubscription(
  tokens: readonly string[],
  recipients: readonly string[],
  onNotification: () => void,
): Subscription {
  const words = recipients.map((address) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`)
  const filter = { address: tokens, topics: [TRANSFER_TOPIC, null, words] }
  return {
    subscribe: { method: 'eth_subscribe', params: ['logs', filter] },
    unsubscribeMethod: 'eth_unsubscribe',
    // Heads alone do, only later.
    isRequired: false,
    onNotification,
  }
}
