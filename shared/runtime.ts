/**
 * The only file that knows which runtime it is on: Bun, or Deno.
 */

import { ConfigError } from '#shared/config.ts'

/** Answers one request. `clientAddress` is the socket's other end, an IP address without port. */
export type FetchHandler = (request: Request, clientAddress: string) => Response | Promise<Response>

export type ServeOptions = {
  fetch: FetchHandler
  hostname: string
  /** 0 asks the system for a free one. */
  port: number
  /** The variable the port came from, for the error when it is taken. */
  variable: 'PORT' | 'METRICS_PORT'
  /**
   * Several processes may listen on the same port, and the system spreads connections over them. Deno does it under its
   * flag `--unstable-net` only, and ends a process that asks for it without: there one process has the port.
   */
  reusePort?: boolean
}

export type RunningServer = {
  /** What it listens on, with the port that it got: `http://127.0.0.1:3000`. */
  url: string
  port: number
  /** Takes no new connections and waits for open requests up to `timeoutMs`; then cuts them off. */
  stop(timeoutMs: number): Promise<void>
}

/** Seconds a connection may be silent while a request is on its way or an answer is awaited. */
const IDLE_TIMEOUT_S = 30

type DenoServer = { addr: { port: number }; finished: Promise<void>; shutdown(): Promise<void> }
type Deno = {
  serve(
    options: {
      hostname: string
      port: number
      reusePort: boolean
      signal: AbortSignal
      onListen: () => void
    },
    handler: (
      request: Request,
      info: { remoteAddr: { hostname?: string } },
    ) => Response | Promise<Response>,
  ): DenoServer
  /** Only there under `--unstable-net`. */
  listenDatagram?: unknown
}

/**
 * Serves HTTP on either runtime. Bounds on bodies are the handler's: a runtime's own refusal has an empty body.
 * Throws a `ConfigError` that names the variable when the port is taken.
 */
export function serve(options: ServeOptions): RunningServer {
  const deno = (globalThis as { Deno?: Deno }).Deno
  try {
    return deno === undefined ? serveOnBun(options) : serveOnDeno(deno, options)
  } catch (error) {
    if (!isTaken(error)) throw error
    const { hostname, port, variable } = options
    throw new ConfigError([`${variable} should be a free port: ${port} on ${hostname} is taken`])
  }
}

function isTaken(error: unknown): boolean {
  return (
    error instanceof Error &&
    ((error as { code?: unknown }).code === 'EADDRINUSE' || error.name === 'AddrInUse')
  )
}

function serveOnBun({ fetch, hostname, port, reusePort = false }: ServeOptions): RunningServer {
  const server = Bun.serve({
    hostname,
    port,
    reusePort,
    idleTimeout: IDLE_TIMEOUT_S,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    fetch: (request, self) => fetch(request, self.requestIP(request)?.address ?? ''),
  })
  const boundPort = server.port ?? port
  return {
    url: toUrl(hostname, boundPort),
    port: boundPort,
    async stop(timeoutMs) {
      await within(server.stop(), timeoutMs)
      await server.stop(true)
    },
  }
}

function serveOnDeno(
  deno: Deno,
  { fetch, hostname, port, reusePort = false }: ServeOptions,
): RunningServer {
  const cut = new AbortController()
  const mayShare = reusePort && deno.listenDatagram !== undefined
  const server = deno.serve(
    { hostname, port, reusePort: mayShare, signal: cut.signal, onListen() {} },
    (request, info) => fetch(request, info.remoteAddr.hostname ?? ''),
  )
  return {
    url: toUrl(hostname, server.addr.port),
    port: server.addr.port,
    async stop(timeoutMs) {
      await within(server.shutdown(), timeoutMs)
      cut.abort()
      await server.finished
    },
  }
}

function toUrl(hostname: string, port: number): string {
  return `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
}

async function within(done: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([done, timeout])
  clearTimeout(timer)
}
