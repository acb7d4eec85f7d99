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
      info: { remoteAddr: { hostname?: string }; completed: Promise<void> },
    ) => Response | Promise<Response>,
  ): DenoServer
  /** Only there under `--unstable-net`. */
  listenDatagram?: unknown
}

/**
 * Serves HTTP on either runtime. Bounds on bodies are the handler's: a runtime's own refusal has an empty body.
 * Throws a `ConfigError` that names the variable when nothing can listen there.
 */
export function serve(options: ServeOptions): RunningServer {
  const deno = (globalThis as { Deno?: Deno }).Deno
  try {
    return deno === undefined ? serveOnBun(options) : serveOnDeno(deno, options)
  } catch (error) {
    throw new ConfigError([toFault(error, options)])
  }
}

function toFault(error: unknown, { hostname, port, variable }: ServeOptions): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') {
    return `${variable} should be a free port: ${port} on ${hostname} is taken`
  }
  if (code === 'EACCES') {
    return `${variable} should be a port that this user may listen at: ${port} is not one`
  }
  // The runtimes tell an address of another machine and a name without one in four ways.
  return `HOST should be an address of this machine: nothing can listen at ${hostname}`
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
  const open = new Set<Promise<void>>()
  let isStopping = false
  const server = deno.serve(
    { hostname, port, reusePort: mayShare, signal: cut.signal, onListen() {} },
    (request, { remoteAddr, completed }) => {
      if (isStopping) return new Response(null, { status: 503, headers: { Connection: 'close' } })
      // Rejects when the client has gone, which ends the request as well.
      const done = completed.catch(() => undefined).finally(() => open.delete(done))
      open.add(done)
      return fetch(request, remoteAddr.hostname ?? '')
    },
  )
  return {
    url: toUrl(hostname, server.addr.port),
    port: server.addr.port,
    async stop(timeoutMs) {
      isStopping = true
      const isIdle = await within(Promise.all(open), timeoutMs)
      // One or the other: a server that was told to shut down cannot be cut off any more.
      if (isIdle) await server.shutdown()
      else cut.abort()
      await server.finished
    },
  }
}

function toUrl(hostname: string, port: number): string {
  return `http://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
}

/** Whether it was done in time. */
async function within(done: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  const isDone = await Promise.race([done.then(() => true), timeout])
  clearTimeout(timer)
  return isDone
}
