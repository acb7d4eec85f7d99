import { Elysia } from 'elysia'
import { withDeadline } from '#shared/deadline.ts'
import { ServiceError } from '#shared/errors.ts'
import { newId } from '#shared/ids.ts'
import { answerError, answerJson, CORS_HEADERS, notReady, overdue } from './answer.ts'
import type { ApiDeps } from './deps.ts'
import type { Endpoint } from './endpoint.ts'

export type App = {
  /** Answers one request; never throws. `socketAddress` is the socket's other end. */
  fetch(request: Request, socketAddress: string): Promise<Response>
  endpoints: readonly Endpoint[]
}

/** An endpoint that may show its errors in its own way: pages are for people. */
export type Route = Endpoint & {
  answerError?(
    deps: ApiDeps,
    error: unknown,
    headers: Record<string, string>,
    request: Request,
  ): Response
}

/** What stands in the path where the endpoint's has a colon; null where it is no valid percent-encoding. */
type Params = Readonly<Record<string, string | null>>

/** Milliseconds until a request is answered `unavailable`, whatever it waits for, unless its endpoint names fewer. Over the statement timeout. */
const REQUEST_DEADLINE_MS = 8_000
/** Seconds a browser may remember a preflight's answer. */
const PREFLIGHT_MAX_AGE_S = 86_400

/**
 * The HTTP side of the API. Elysia finds the route; all else is done here once for every endpoint, on the request as it
 * came: Elysia's own body and query parsing would coerce what must be refused.
 */
export function createApp(deps: ApiDeps, endpoints: readonly Route[]): App {
  // The address cannot travel through Elysia, the request object can.
  const addresses = new WeakMap<Request, string>()
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } })
  for (const endpoint of endpoints) {
    app.route(
      endpoint.method,
      endpoint.path,
      ({ request, params }: { request: Request; params?: Params }) =>
        serveEndpoint(deps, endpoint, request, params ?? {}, addresses.get(request) ?? ''),
      { parse: 'none' } as object,
    )
  }
  app.all('/*', ({ request }: { request: Request }) => serveOther(deps, endpoints, request), {
    parse: 'none',
  } as object)
  return {
    endpoints,
    async fetch(request, socketAddress) {
      addresses.set(request, socketAddress)
      try {
        return await app.fetch(request)
      } catch (error) {
        return answerError(deps, error, newHeaders())
      }
    },
  }
}

async function serveEndpoint(
  deps: ApiDeps,
  endpoint: Route,
  request: Request,
  params: Params,
  socketAddress: string,
): Promise<Response> {
  const startedMs = deps.nowMs()
  const headers = newHeaders()
  if (isCrossOrigin(endpoint)) Object.assign(headers, CORS_HEADERS)
  let response: Response
  try {
    if (endpoint.needsDatabase && !deps.schema.isCurrent) throw notReady()
    if (!areTexts(params)) throw new ServiceError('not_found')
    const arrival = { request, params, socketAddress, query: queryOf(request.url), headers }
    const body = await withDeadline(
      endpoint.run(deps, arrival),
      endpoint.deadlineMs ?? REQUEST_DEADLINE_MS,
      overdue,
    )
    response =
      body instanceof Response
        ? withHeaders(body, headers)
        : answerJson(endpoint.status, body, headers)
  } catch (error) {
    response =
      endpoint.answerError?.(deps, error, headers, request) ?? answerError(deps, error, headers)
  }
  const labels = { method: endpoint.method, path: endpoint.path, status: String(response.status) }
  deps.requestCount.add(labels)
  deps.requestSeconds.observe((deps.nowMs() - startedMs) / 1000)
  return response
}

function areTexts(params: Params): params is Readonly<Record<string, string>> {
  return Object.values(params).every((value) => value !== null)
}

/** What no route took: a preflight, a wrong method, an unknown path. */
function serveOther(deps: ApiDeps, endpoints: readonly Route[], request: Request): Response {
  const headers = newHeaders()
  const { pathname } = new URL(request.url)
  const there = endpoints.filter((endpoint) => matches(endpoint.path, pathname))
  const answer = (error: ServiceError) => answerStranger(deps, endpoints, request, headers, error)
  if (there.length === 0) return answer(new ServiceError('not_found'))
  const allow = allowedMethods(there).join(', ')
  if (there.every(isCrossOrigin)) {
    Object.assign(headers, CORS_HEADERS)
    if (request.method === 'OPTIONS') return answerPreflight(allow, headers)
  }
  return answer(new ServiceError('method_not_allowed', { headers: { Allow: allow } }))
}

/** Outside the API a browser that goes astray is shown a page, as the pages show their errors; a program gets JSON. */
function answerStranger(
  deps: ApiDeps,
  endpoints: readonly Route[],
  request: Request,
  headers: Record<string, string>,
  error: ServiceError,
): Response {
  if (/^\/v1(?:\/|$)/.test(new URL(request.url).pathname)) return answerError(deps, error, headers)
  headers['Vary'] = 'Accept'
  const isBrowser = /\btext\/html\b/i.test(request.headers.get('accept') ?? '')
  const shown = isBrowser ? endpoints.find((endpoint) => endpoint.answerError) : undefined
  return shown?.answerError?.(deps, error, headers, request) ?? answerError(deps, error, headers)
}

function answerPreflight(allow: string, headers: Record<string, string>): Response {
  return answerJson(204, undefined, {
    ...headers,
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers': 'Content-Type',
    'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_S),
  })
}

function allowedMethods(endpoints: readonly Endpoint[]): string[] {
  const methods: string[] = endpoints.map(({ method }) => method)
  if (methods.includes('GET')) methods.push('HEAD')
  if (endpoints.every(isCrossOrigin)) methods.push('OPTIONS')
  return [...new Set(methods)]
}

/** The publishable-key and capability endpoints are called by pages of any origin; nothing else is. */
function isCrossOrigin({ auth }: Endpoint): boolean {
  return auth === 'publishable' || auth === 'capability'
}

function matches(path: string, pathname: string): boolean {
  const wanted = path.split('/')
  const given = pathname.replace(/(?<=.)\/$/, '').split('/')
  if (wanted.length !== given.length) return false
  return wanted.every((part, index) =>
    part.startsWith(':') ? given[index] !== '' : part === given[index],
  )
}

function newHeaders(): Record<string, string> {
  return { 'X-Request-Id': newId('req') }
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

function queryOf(url: string): string {
  const start = url.indexOf('?')
  if (start < 0) return ''
  const end = url.indexOf('#', start)
  return url.slice(start + 1, end < 0 ? undefined : end)
}
