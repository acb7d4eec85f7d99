import type { Log } from '#shared/log.ts'
import { createGate, type Gate } from './gate.ts'
import { RpcError } from './rpc-error.ts'
import { openTransports, type Transport } from './rpc-transport.ts'
import type { RpcAnswer, RpcCall } from './socket.ts'

/** Answers to a batch, in the order of its calls, all by one provider. */
export type Reading = { answers: Answer[]; provider: number }
/** A JSON-RPC error is an answer too: what it means depends on the call. */
export type Answer = { result: unknown } | { error: RpcError }

export type ReadOptions = {
  /** Milliseconds for the whole batch at one provider; default {@link CALL_TIMEOUT_MS}. */
  timeoutMs?: number
  /** Providers not to ask, by their number. With all of them excluded the call is refused as `lagging`. */
  except?: ReadonlySet<number>
  /** Only a provider that is well is asked, and nothing is waited for: for what can be done another way. */
  isWellOnly?: boolean
}

export type RpcHealth = {
  provider: string
  callCount: number
  errorCount: number
  /** The same for each provider, in the operator's order. */
  providers: { callCount: number; errorCount: number }[]
}

export type Rpc = {
  /** How many providers there are; their numbers run from 0 in the operator's order. */
  readonly providerCount: number
  hostOf(provider: number): string
  /** All providers but one, for `except`. */
  allBut(provider: number): ReadonlySet<number>
  /**
   * Sends calls as one batch to one provider: the preferred one that is well, or the next when it fails. Throws the
   * last provider's `RpcError` when none gave an answer.
   */
  batch(calls: readonly RpcCall[], options?: ReadOptions): Promise<Reading>
  /** One call; its JSON-RPC error is thrown. */
  call(call: RpcCall, options?: ReadOptions): Promise<unknown>
  /** Notes that a provider answered and was wrong or behind: others are asked first for a while. */
  distrust(provider: number, error: RpcError): void
  health(): RpcHealth
  /** From now on few calls are made, each in its turn; false: as many as are needed again, at once those that wait. */
  spare(isSparing: boolean): void
  /** Abandons calls under way; they and later ones reject with kind `stopped`. */
  stop(): void
}

export type RpcOptions = {
  urls: readonly string[]
  /** A cheap call, for websockets without a ping. */
  pingCall: RpcCall
  log: Log
  /** Called before a provider's first use; a throw keeps it out of use. */
  verify?(call: (one: RpcCall) => Promise<unknown>, host: string): Promise<void>
}

type Provider = Transport & {
  /** Failures in a row. */
  streak: number
  failedAt: number
  /** Until then it asked to be left alone. */
  sparedUntil: number
  isVerified: boolean
  callCount: number
  errorCount: number
}

const NO_COUNTS = { callCount: 0, errorCount: 0 }

/** Milliseconds for a batch, connection and body included. */
export const CALL_TIMEOUT_MS = 5_000
/**
 * Milliseconds a provider is passed over after a failure, doubling with each failure in a row between the bounds: long
 * while there are others, since each new try may cost a timeout, short when there is nobody else to ask.
 */
const PAUSE = { msMin: 5_000, msMax: 300_000 }
const PAUSE_ALONE = { msMin: 100, msMax: 2_000 }
/** Failures in a row that still double the pause. */
const DOUBLINGS_MAX = 16
/** Milliseconds a provider may ask to be spared; longer wishes are cut. */
const RETRY_AFTER_MS_MAX = 60_000
const RETRY_AFTER_MS_DEFAULT = 1_000
/** Milliseconds a batch waits for a pause to end instead of being refused at once. */
const WAIT_MS_MAX = 2_000

/** One door to all providers of a deployment, which fails over and counts. */
export function createRpc({ urls, pingCall, log, verify }: RpcOptions): Rpc {
  const providers = openTransports(urls, { pingCall, log }).map(toProvider)
  const counts = { ...NO_COUNTS }
  const stopped = new AbortController()
  const gate = createGate()
  let current = 0

  const send = createSend(counts, gate, stopped.signal)
  const ensureVerified = async (provider: Provider) => {
    if (provider.isVerified || !verify) return
    const call = async (one: RpcCall) => {
      const [answer] = await send(provider, [one], CALL_TIMEOUT_MS)
      return unwrap(answer, provider.host)
    }
    await verify(call, provider.host)
    provider.isVerified = true
  }
  const note = (provider: Provider, error: unknown) => {
    counts.errorCount += 1
    provider.errorCount += 1
    if (error instanceof RpcError && error.kind === 'stopped') return
    noteFailure(provider, error)
    const facts = { host: provider.host, error, inARow: provider.streak }
    if (error instanceof RpcError) log.debug('a provider failed', facts)
    else log.warn('a provider is not used', facts)
  }
  const batch = async (
    calls: readonly RpcCall[],
    { timeoutMs = CALL_TIMEOUT_MS, except = new Set(), isWellOnly = false }: ReadOptions = {},
  ): Promise<Reading> => {
    let failure: unknown = new RpcError('lagging', 'no other provider to ask')
    let hasFailed = false
    const asked = new Set(except)
    while (asked.size < providers.length) {
      if (stopped.signal.aborted) throw new RpcError('stopped', 'stopped')
      const index = await choose(providers, asked, { signal: stopped.signal, isWellOnly })
      const provider = providers[index]
      if (!provider) throw failure
      asked.add(index)
      try {
        await ensureVerified(provider)
        const answers = await send(provider, calls, timeoutMs)
        const limit = answers.find(isRateLimit)
        if (limit) throw limit.error
        provider.streak = 0
        if (index !== current && except.size === 0) {
          log.info('reads from another provider', { host: provider.host })
          current = index
        }
        return { answers, provider: index }
      } catch (error) {
        note(provider, error)
        // A provider of another chain is no reason to say that this one is: the right one may be away for a moment.
        if (error instanceof RpcError || !hasFailed) failure = error
        hasFailed = true
      }
    }
    throw failure
  }
  return {
    providerCount: providers.length,
    hostOf: (provider) => providers[provider]?.host ?? 'nobody',
    allBut: (provider) => new Set(providers.keys().filter((index) => index !== provider)),
    batch,
    async call(call, options) {
      const { answers, provider } = await batch([call], options)
      return unwrap(answers[0], providers[provider]?.host ?? '')
    },
    distrust(provider, error) {
      const known = providers[provider]
      if (known) note(known, error)
    },
    health: () => ({
      provider: providers[current]?.host ?? '',
      ...counts,
      providers: providers.map(({ callCount, errorCount }) => ({ callCount, errorCount })),
    }),
    spare: gate.spare,
    stop() {
      stopped.abort()
      for (const provider of providers) provider.stop()
    },
  }
}

/** Sends calls to a provider as the gate lets them pass, and counts them; a batch goes in parts while calls are spared. */
function createSend(counts: { callCount: number }, gate: Gate, signal: AbortSignal) {
  return async (provider: Provider, calls: readonly RpcCall[], timeoutMs: number) => {
    const answers: Answer[] = []
    while (answers.length < calls.length) {
      const left = calls.slice(answers.length)
      const part = left.slice(0, gate.take(left.length))
      await gate.pass(part.length, signal)
      if (signal.aborted) throw new RpcError('stopped', 'stopped')
      counts.callCount += part.length
      provider.callCount += part.length
      const told = await provider.send(part, timeoutMs)
      answers.push(...told.map((answer) => toAnswer(answer, provider)))
    }
    return answers
  }
}

/** The result of an answer; throws its error. */
export function unwrap(answer: Answer | undefined, host: string): unknown {
  if (!answer) throw new RpcError('malformed', `${host}: answered fewer calls than were asked`)
  if ('error' in answer) throw answer.error
  return answer.result
}

function toProvider(transport: Transport): Provider {
  return { ...transport, streak: 0, failedAt: 0, sparedUntil: 0, isVerified: false, ...NO_COUNTS }
}

function noteFailure(provider: Provider, error: unknown): void {
  const now = performance.now()
  provider.streak += 1
  provider.failedAt = now
  if (!(error instanceof RpcError) || error.kind !== 'rate_limited') return
  const wishMs =
    error.retryAfterMs ?? RETRY_AFTER_MS_DEFAULT * 2 ** Math.min(DOUBLINGS_MAX, provider.streak - 1)
  provider.sparedUntil = now + Math.min(RETRY_AFTER_MS_MAX, wishMs)
}

/**
 * The first provider in the operator's order that is not paused; when all are, the one whose pause ends first, after
 * waiting for that. A provider that asked to be spared is never asked before.
 */
async function choose(
  providers: readonly Provider[],
  asked: ReadonlySet<number>,
  { signal, isWellOnly }: { signal: AbortSignal; isWellOnly: boolean },
): Promise<number> {
  const now = performance.now()
  const left = providers.map((_, index) => index).filter((index) => !asked.has(index))
  const restMs = (index: number, bounds: typeof PAUSE) => {
    const { streak = 0, failedAt = 0, sparedUntil = 0 } = providers[index] ?? {}
    const doubled = bounds.msMin * 2 ** Math.min(DOUBLINGS_MAX, streak - 1)
    const pauseMs = streak === 0 ? 0 : Math.min(bounds.msMax, doubled)
    return Math.max(failedAt + pauseMs, sparedUntil) - now
  }
  const well = left.find((index) => restMs(index, PAUSE) <= 0)
  if (well !== undefined) return well
  if (isWellOnly) throw new RpcError('lagging', 'no other provider is well')
  const soonest = left
    .map((index) => ({ index, ms: restMs(index, PAUSE_ALONE) }))
    .sort((a, b) => a.ms - b.ms)[0]
  if (!soonest) throw new RpcError('network', 'no provider to ask')
  if (soonest.ms > WAIT_MS_MAX) {
    const host = providers[soonest.index]?.host ?? ''
    throw new RpcError('rate_limited', `${host}: asked to be spared`, { retryAfterMs: soonest.ms })
  }
  await pause(soonest.ms, signal)
  return soonest.index
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      done()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

/** Characters of a node's own words that are kept: they may repeat what was sent. */
const MESSAGE_CHARACTERS_MAX = 200
/** Codes and words by which nodes say "too many requests" inside a 200 answer; -32005 alone also means a wide range. */
const RATE_LIMIT_CODES = new Set([429, -32_029, -32_097])
const RATE_LIMIT_WORDS = /rate.?limit|too many requests|exceeded.{0,40}(capacity|throughput|quota)/i

function toAnswer(answer: RpcAnswer, { host, scrub }: Transport): Answer {
  if (!('error' in answer)) return answer
  const { code, message } = (
    typeof answer.error === 'object' && answer.error !== null ? answer.error : {}
  ) as { code?: unknown; message?: unknown }
  const text = scrub(typeof message === 'string' ? message : 'no message').slice(
    0,
    MESSAGE_CHARACTERS_MAX,
  )
  const number = typeof code === 'number' ? code : undefined
  const isLimit =
    (number !== undefined && RATE_LIMIT_CODES.has(number)) || RATE_LIMIT_WORDS.test(text)
  const kind = isLimit ? 'rate_limited' : 'refused'
  return { error: new RpcError(kind, `${host}: ${text}`, { code: number }) }
}

function isRateLimit(answer: Answer): answer is { error: RpcError } {
  return 'error' in answer && answer.error.kind === 'rate_limited'
}
