import type { Static, TSchema } from '@sinclair/typebox'
import type { ErrorCode } from '#shared/errors.ts'
import { type AuthContext, type AuthStyle, authenticate, takeBodyMode } from './auth.ts'
import { readJson } from './body.ts'
import { clientIp } from './client-ip.ts'
import type { ApiDeps } from './deps.ts'
import { runOnce } from './idempotency.ts'
import { compileQuery, compileSchema, type QuerySchema } from './schema.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The names after colons in a path: `/stores/:storeId/keys/:keyId`. */
type ParamName<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamName<Rest>
  : P extends `${string}:${infer Name}`
    ? Name
    : never

type Schemas = { query?: QuerySchema; body?: TSchema }
type QueryOf<S extends Schemas> = S['query'] extends QuerySchema ? Static<S['query']> : undefined
type BodyOf<S extends Schemas> = S['body'] extends TSchema ? Static<S['body']> : undefined

/** One request to one endpoint, everything about it checked. */
export type Call<P extends string, A extends AuthStyle, S extends Schemas> = AuthContext[A] & {
  request: Request
  params: { readonly [N in ParamName<P>]: string }
  query: QueryOf<S>
  body: BodyOf<S>
  /** The client's address, proxies seen through. */
  clientIp(): string
  /** Headers of the answer; handlers may add to them. */
  headers: Record<string, string>
}

/** What an endpoint is, for OpenAPI, for the `Allow` header, for tests. */
export type EndpointFacts = {
  method: Method
  /** Below `{PUBLIC_URL}`, parameters after colons. */
  path: string
  auth: AuthStyle
  summary: string
  /** What the summary leaves out; undefined when that is nothing. */
  description: string | undefined
  /** Status of success; 204 answers no body. */
  status: 200 | 201 | 202 | 204
  query: QuerySchema | undefined
  body: TSchema | undefined
  isBodyOptional: boolean
  response: TSchema | undefined
  /** Media types of success; `response` describes the JSON among them. Empty when there is no body. */
  media: readonly string[]
  /** The errors it answers besides those that every endpoint of its kind does. */
  fails: readonly ErrorCode[]
  /** Answers also while the database was never reached: it needs none. */
  needsDatabase: boolean
  /** Milliseconds until it is answered `unavailable`; undefined for what every request has. */
  deadlineMs: number | undefined
}

/** Whether an `Idempotency-Key` is good for it: POSTs that a seller's server makes (contract section 1). */
export function isReplayable({ method, auth }: Pick<EndpointFacts, 'method' | 'auth'>): boolean {
  return method === 'POST' && (auth === 'seller' || auth === 'store')
}

export type Arrival = {
  request: Request
  params: Readonly<Record<string, string>>
  /** The socket's other end. */
  socketAddress: string
  /** The query string without its question mark; empty when there is none. */
  query: string
  headers: Record<string, string>
}

export type Endpoint = EndpointFacts & {
  /** Checks the caller and what was sent, and answers the body of success (or a whole `Response`). */
  run(deps: ApiDeps, arrival: Arrival): Promise<unknown>
}

type Definition<P extends string, A extends AuthStyle, S extends Schemas> = {
  method: Method
  path: P
  auth: A
  summary: string
  description?: string
  status?: EndpointFacts['status']
  schemas?: S
  /** The body may be left out; `body` is then undefined. */
  isBodyOptional?: boolean
  response?: TSchema
  /** Default: JSON where there is a `response`, and nothing otherwise. */
  media?: readonly string[]
  fails?: readonly ErrorCode[]
  /** Default true. */
  needsDatabase?: boolean
  deadlineMs?: number
  handle(deps: ApiDeps, call: Call<P, A, S>): unknown
}

/**
 * Declares an endpoint: a value that `createApp` mounts and OpenAPI describes. Checks run in this order: the caller
 * (`seller` and `store` only), the query, the body. An endpoint without a body schema ignores what is sent.
 */
export function endpoint<
  const P extends string,
  const A extends AuthStyle,
  const S extends Schemas = Record<never, never>,
>(definition: Definition<P, A, S>): Endpoint {
  const { method, path, auth, summary, status = 200, response, fails = [] } = definition
  const { needsDatabase = true, isBodyOptional = false, description, deadlineMs } = definition
  const media = definition.media ?? (response === undefined ? [] : ['application/json'])
  const { query, body }: Schemas = definition.schemas ?? {}
  const readQuery = query && compileQuery(query)
  const checkBody = body && compileSchema(body)
  const isSellers = auth === 'seller' || auth === 'store'

  return {
    ...{ method, path, auth, summary, description, status, query, body, isBodyOptional },
    ...{ response, media, fails, needsDatabase, deadlineMs },
    async run(deps, arrival) {
      const { request, params, headers } = arrival
      const storeId = auth === 'store' ? (params['storeId'] ?? '') : undefined
      const caller = isSellers
        ? await authenticate(deps.db, request, arrival.query, storeId)
        : undefined
      const queryValue = readQuery?.(arrival.query)
      let bodyValue: unknown
      let sent = ''
      if (checkBody !== undefined) {
        const json = await readJson(request)
        sent = JSON.stringify(json) ?? ''
        if (caller !== undefined) takeBodyMode(caller, json)
        const isAbsent = json === undefined && isBodyOptional
        bodyValue = isAbsent ? undefined : checkBody(json)
      }
      // The schemas above are what the call's types are made from.
      const call = {
        ...{ request, params, headers, caller, query: queryValue, body: bodyValue },
        clientIp: () => addressOf(deps, arrival),
      } as unknown as Call<P, A, S>
      const key = isReplayable({ method, auth }) ? request.headers.get('idempotency-key') : null
      if (caller === undefined || key === null) return definition.handle(deps, call)
      const asked = [method, new URL(request.url).pathname, arrival.query, sent].join('\n')
      const repeatable = { caller, key, asked, headers }
      return runOnce(deps, repeatable, () => definition.handle(deps, call))
    },
  }
}

function addressOf(deps: ApiDeps, { request, socketAddress }: Arrival): string {
  const { trustedProxies } = deps.config
  return clientIp(socketAddress, request.headers.get('x-forwarded-for'), trustedProxies)
}
