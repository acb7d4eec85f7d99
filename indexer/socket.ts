import type { Log } from '#shared/log.ts'
import { RpcError } from './rpc-error.ts'

export type RpcCall = { method: string; params: readonly unknown[] }
/** What a node answered to one call: its result, or its JSON-RPC error. Neither is validated yet. */
export type RpcAnswer = { result: unknown } | { error: unknown }

export type Subscription = {
  subscribe: RpcCall
  /** The method that ends it, with the subscription's id as its parameter. */
  unsubscribeMethod: string
  /** Without it the connection is of no use: when the node refuses, the next URL is tried. */
  isRequired: boolean
  onNotification(result: unknown): void
}

export type SocketOptions = {
  /** Endpoints of the same chain, tried in turn. They may hold keys. */
  urls: readonly string[]
  /** A cheap call that stands in for a ping where the runtime's WebSocket has none (Deno). */
  pingCall: RpcCall
  log: Log
  /** Called once after each (re)connect, when all required subscriptions stand. */
  onOpen?(): void
  /** Milliseconds without a notification after which a connection is distrusted, however well it answers pings. */
  silenceMs?: number
}

/** Milliseconds for a connection to open and subscribe. */
const CONNECT_TIMEOUT_MS = 4_000
/** Milliseconds of silence after which the other end is asked for a sign of life, and for that sign. */
const PING_EVERY_MS = 4_000
const PONG_TIMEOUT_MS = 3_000
/**
 * Milliseconds before a new attempt: doubles from the lower to the upper bound, less up to a half at random so that
 * many clients do not come back at once. With the timeouts above every dead socket is replaced within 15 s.
 */
const RECONNECT_MS_MIN = 100
const RECONNECT_MS_MAX = 5_000
/** Milliseconds a connection has to hold before the next attempt after it is quick again. */
const STABLE_MS = 10_000
/** Milliseconds between two looks at the deadlines: their precision. */
const CHECK_EVERY_MS = 250
/** A chain may be silent for good: each reconnect for silence alone doubles the patience, up to this factor. */
const SILENCE_FACTOR_MAX = 32
/** Characters of one message; a longer one ends the connection. */
const MESSAGE_CHARACTERS_MAX = 64 * 1024 * 1024
/** Calls on their way at once. */
const PENDING_COUNT_MAX = 1_000

type Pending = {
  resolve(answer: RpcAnswer): void
  reject(error: RpcError): void
  deadline: number
}
/** Bun's client has a ping, an immediate end and a `pong` event; a plain WebSocket has none of them. */
type RuntimeSocket = WebSocket & { ping?(): void; terminate?(): void }

/**
 * A JSON-RPC websocket that heals itself: it notices a peer that closed, reset, or fell silent, connects again and
 * subscribes again. Nothing it says is taken for complete: between two connections notifications are lost, which
 * `onOpen` makes up for.
 */
export class RpcSocket {
  readonly #options: SocketOptions
  readonly #subscriptions = new Set<Subscription>()
  /** Subscriptions by the id the node gave them on this connection. */
  readonly #routes = new Map<string | number, Subscription>()
  readonly #pending = new Map<number, Pending>()
  readonly #timer: ReturnType<typeof setInterval>
  #socket: RuntimeSocket | undefined
  #isOpen = false
  #isReady = false
  #isStopped = false
  #nextId = 1
  #urlIndex = 0
  #reconnectMs = RECONNECT_MS_MIN
  #reconnectAt = 0
  #connectDeadline = 0
  #heardAt = 0
  #notifiedAt = 0
  #pingedAt: number | undefined
  #silenceFactor = 1
  #readyAt = 0

  constructor(options: SocketOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS)
    this.#connect()
  }

  /** Whether the connection stands with its required subscriptions, and nothing speaks against it. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** Subscribes now or with the next connection, and again after each one. Answers how to end it. */
  subscribe(subscription: Subscription): () => void {
    this.#subscriptions.add(subscription)
    if (this.#isOpen) this.#open(subscription).catch((error) => this.#refused(error))
    return () => this.#unsubscribe(subscription)
  }

  /**
   * Sends calls in one message and answers them in order. Rejects with an `RpcError` of kind `network` when there is
   * no connection or it breaks, `timeout` when one answer is missing after `timeoutMs`.
   */
  send(calls: readonly RpcCall[], timeoutMs: number): Promise<RpcAnswer[]> {
    if (!this.#socket || !this.#isOpen) return Promise.reject(this.#error('network', 'no socket'))
    if (this.#pending.size + calls.length > PENDING_COUNT_MAX) {
      return Promise.reject(this.#error('network', `over ${PENDING_COUNT_MAX} calls under way`))
    }
    const deadline = performance.now() + timeoutMs
    const answers: Promise<RpcAnswer>[] = []
    const messages = calls.map(({ method, params }) => {
      const id = this.#nextId
      this.#nextId += 1
      answers.push(
        new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject, deadline })),
      )
      return { jsonrpc: '2.0', id, method, params }
    })
    const all = Promise.all(answers)
    this.#write(JSON.stringify(messages.length === 1 ? messages[0] : messages))
    return all
  }

  /** Ends the connection for good; calls under way reject. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    clearInterval(this.#timer)
    this.#drop('stopped', 'stopped')
  }

  get #host(): string {
    return hostOf(this.#url)
  }

  get #url(): string {
    const { urls } = this.#options
    return urls[this.#urlIndex % urls.length] ?? ''
  }

  #connect(): void {
    const now = performance.now()
    this.#connectDeadline = now + CONNECT_TIMEOUT_MS
    this.#heardAt = now
    this.#notifiedAt = now
    this.#pingedAt = undefined
    let socket: RuntimeSocket
    try {
      socket = new WebSocket(this.#url)
    } catch {
      // The runtime's message would show the URL.
      this.#fail('is no address to connect to')
      return
    }
    this.#socket = socket
    const isCurrent = () => this.#socket === socket
    socket.addEventListener('open', () => isCurrent() && this.#opened())
    socket.addEventListener('message', (event) => isCurrent() && this.#heard(event.data))
    socket.addEventListener('pong', () => isCurrent() && this.#heard(undefined))
    socket.addEventListener('error', () => isCurrent() && this.#fail('broke'))
    socket.addEventListener('close', () => isCurrent() && this.#fail('closed'))
  }

  #opened(): void {
    this.#isOpen = true
    const opening = [...this.#subscriptions].map((subscription) => this.#open(subscription))
    const socket = this.#socket
    Promise.all(opening).then(
      () => {
        if (this.#socket !== socket || !this.#isOpen) return
        this.#isReady = true
        this.#readyAt = performance.now()
        this.#notifiedAt = this.#readyAt
        this.#options.log.debug('websocket connected', { host: this.#host })
        this.#options.onOpen?.()
      },
      (error) => {
        if (this.#socket === socket) this.#refused(error)
      },
    )
  }

  async #open(subscription: Subscription): Promise<void> {
    const { subscribe, isRequired } = subscription
    const [answer] = await this.send([subscribe], CONNECT_TIMEOUT_MS)
    const id = answer && 'result' in answer ? answer.result : undefined
    if (typeof id === 'string' || typeof id === 'number') {
      this.#routes.set(id, subscription)
      if (!this.#subscriptions.has(subscription)) this.#unsubscribe(subscription)
    } else if (isRequired) {
      throw this.#error('refused', `refused ${subscribe.method}`)
    } else {
      this.#options.log.debug('the node refused a subscription', { host: this.#host, answer })
    }
  }

  #refused(error: unknown): void {
    if (!this.#isStopped) this.#fail(error instanceof Error ? error.message : String(error))
  }

  #unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription)
    for (const [id, known] of this.#routes) {
      if (known !== subscription) continue
      this.#routes.delete(id)
      const call = { method: subscription.unsubscribeMethod, params: [id] }
      this.send([call], CONNECT_TIMEOUT_MS).catch(() => {
        // The connection broke, and the subscription with it.
      })
    }
  }

  #heard(data: unknown): void {
    this.#heardAt = performance.now()
    this.#pingedAt = undefined
    if (typeof data !== 'string') return
    if (data.length > MESSAGE_CHARACTERS_MAX) {
      this.#fail('sent a message that is too long')
      return
    }
    let message: unknown
    try {
      message = JSON.parse(data)
    } catch {
      this.#fail('sent what is not JSON')
      return
    }
    for (const one of Array.isArray(message) ? message : [message]) this.#route(one)
  }

  #route(message: unknown): void {
    if (typeof message !== 'object' || message === null) return
    const { id, params } = message as { id?: unknown; params?: unknown }
    if (typeof id === 'number') {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      pending?.resolve(
        'error' in message ? { error: message.error } : { result: (message as Answer).result },
      )
      return
    }
    if (id === null && 'error' in message) {
      // A refusal of a whole message: nobody knows whose, so everybody asks again.
      this.#rejectAll('refused', describe(message.error))
      return
    }
    if (typeof params !== 'object' || params === null) return
    const { subscription, result } = params as { subscription?: unknown; result?: unknown }
    if (typeof subscription !== 'string' && typeof subscription !== 'number') return
    const known = this.#routes.get(subscription)
    if (!known) return
    this.#notifiedAt = this.#heardAt
    this.#silenceFactor = 1
    known.onNotification(result)
  }

  #check(): void {
    const now = performance.now()
    if (!this.#socket) {
      if (now >= this.#reconnectAt) this.#connect()
      return
    }
    for (const [id, { reject, deadline }] of this.#pending) {
      if (now < deadline) continue
      this.#pending.delete(id)
      reject(this.#error('timeout', 'did not answer in time'))
    }
    const { silenceMs } = this.#options
    if (!this.#isReady) {
      if (now > this.#connectDeadline) this.#fail('did not open in time')
    } else if (this.#pingedAt !== undefined && now - this.#pingedAt > PONG_TIMEOUT_MS) {
      this.#fail('gave no sign of life')
    } else if (silenceMs && now - this.#notifiedAt > silenceMs * this.#silenceFactor) {
      this.#silenceFactor = Math.min(SILENCE_FACTOR_MAX, this.#silenceFactor * 2)
      this.#fail('notified of nothing')
    } else if (this.#pingedAt === undefined && now - this.#heardAt > PING_EVERY_MS) {
      this.#ping(now)
    }
  }

  #ping(now: number): void {
    this.#pingedAt = now
    if (this.#socket?.ping) {
      this.#socket.ping()
      return
    }
    this.send([this.#options.pingCall], PONG_TIMEOUT_MS).catch(() => {
      // The deadline of the pong says the same.
    })
  }

  #write(text: string): void {
    try {
      this.#socket?.send(text)
    } catch (error) {
      this.#options.log.debug('websocket could not send', { error })
      this.#fail('could not send')
    }
  }

  #fail(reason: string): void {
    const { log, urls } = this.#options
    const now = performance.now()
    if (this.#isReady && now - this.#readyAt > STABLE_MS) this.#reconnectMs = RECONNECT_MS_MIN
    log.debug('websocket lost', { host: this.#host, reason, againInMs: this.#reconnectMs })
    this.#drop('network', reason)
    this.#urlIndex = (this.#urlIndex + 1) % urls.length
    this.#reconnectAt = now + this.#reconnectMs * (1 - Math.random() / 2)
    this.#reconnectMs = Math.min(RECONNECT_MS_MAX, this.#reconnectMs * 2)
  }

  #drop(kind: 'network' | 'stopped', reason: string): void {
    const socket = this.#socket
    this.#socket = undefined
    this.#isOpen = false
    this.#isReady = false
    this.#routes.clear()
    this.#rejectAll(kind, reason)
    if (socket?.terminate) socket.terminate()
    else socket?.close()
  }

  #rejectAll(kind: 'network' | 'stopped' | 'refused', reason: string): void {
    const error = this.#error(kind, reason)
    const pending = [...this.#pending.values()]
    this.#pending.clear()
    for (const { reject } of pending) reject(error)
  }

  #error(kind: 'network' | 'stopped' | 'refused' | 'timeout', reason: string): RpcError {
    return new RpcError(kind, `${this.#host}: ${reason}`)
  }
}

type Answer = { result?: unknown }

/** Host and port of an endpoint: what may be logged of it. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an endpoint'
}

function describe(error: unknown): string {
  return JSON.stringify(error)?.slice(0, 200) ?? 'an error'
}
