import assert from 'node:assert/strict'
import process from 'node:process'
import { loadConfig } from '#shared/config.ts'
import { createLog, type Log } from '#shared/log.ts'
import { buildDeployments } from '#shared/networks/registry.ts'
import type { ApiConfig } from '../../api/deps.ts'
import { type RunningApi, startApi } from '../../api/start.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { assertAnswerDescribed } from './described.ts'

export type TestApi = RunningApi & {
  database: TestDatabase
  config: ApiConfig
  /** One request over real HTTP. A `body` that is not a text goes out as JSON. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Stops the server and drops the database. */
  close(): Promise<void>
}

export type CallOptions = {
  body?: unknown
  /** A secret key or login token. */
  key?: string
  headers?: Record<string, string>
}

export type Answer = {
  status: number
  headers: Headers
  /** The parsed JSON; undefined when the answer has no body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
  text: string
}

export type TestApiOptions = {
  config?: Partial<ApiConfig>
  /** Laid over the networks table, as `NETWORKS_FILE` is. */
  networks?: unknown
  log?: Log
  database?: TestDatabase
}

/** Shows what callers are not told: the cause of a 5xx. */
const errorsLog = createLog({
  level: 'error',
  format: 'pretty',
  name: 'api',
  write: (line) => process.stderr.write(`${line}\n`),
})

/** Requests per minute that no test reaches by accident. */
const UNLIMITED = 1_000_000

/**
 * The API on a free port with a database of its own; ready to answer. Base is on in both modes (its RPC is never
 * called: the API talks to no chain), everything else off.
 */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = options.database ?? (await createTestDatabase())
  const config = testConfig(database.url, options)
  const api = startApi({ config, db: database.db, log: options.log ?? errorsLog })
  await api.ready
  return {
    ...api,
    database,
    config,
    call: (method, path, callOptions) => call(api.url, method, path, callOptions),
    async close() {
      await api.stop()
      await database.drop()
    },
  }
}

/** A configuration as an operator's environment gives it, with what a test wants otherwise. */
export function testConfig(databaseUrl: string, options: TestApiOptions = {}): ApiConfig {
  const networks = options.networks ?? {
    base: { live: { rpc: ['http://127.0.0.1:9'] }, test: { rpc: ['http://127.0.0.1:9'] } },
  }
  return {
    ...loadConfig(
      {
        DATABASE_URL: databaseUrl,
        ENCRYPTION_KEY: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
        PUBLIC_URL: 'https://pay.example',
      },
      { readFile: () => '', requires: ['encryptionKey'] },
    ),
    port: 0,
    rateLimitCheckout: UNLIMITED,
    deployments: buildDeployments(networks),
    ...options.config,
  }
}

/** Sends one request and reads the whole answer, which must be one that the OpenAPI document describes. */
export async function call(
  url: string,
  method: string,
  path: string,
  { body, key, headers = {} }: CallOptions = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  const answer = {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
    text,
  }
  assertAnswerDescribed(method, path, answer)
  return answer
}

/** Asserts the one error shape of contract section 1 with this status and code. */
export function assertError(answer: Answer, status: number, code: string, param?: string): void {
  assert.equal(`${answer.status} ${answer.body?.error?.code}`, `${status} ${code}`, answer.text)
  const { error } = answer.body
  assert.equal(error.param, param, `param of ${answer.text}`)
  assert.equal(typeof error.message, 'string')
  assert.match(error.requestId, /^req_[0-9a-z]{20,}$/)
  assert.equal(answer.headers.get('x-request-id'), error.requestId)
  assert.deepEqual(Object.keys(answer.body), ['error'])
}
