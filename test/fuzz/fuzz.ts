import assert from 'node:assert/strict'
import { Kind, type TSchema } from '@sinclair/typebox'
import type { Endpoint } from '../../api/endpoint.ts'
import { ENDPOINTS } from '../../api/endpoints.ts'
import type { TestApi } from '../support/api.ts'
import { type Chance, createChance } from '../support/chance.ts'
import { assertAnswerDescribed } from '../support/described.ts'
import { SEED_OBJECT } from '../support/objects.ts'
import { type SeededStore, seedStore } from '../support/seed.ts'
import {
  HOSTILE_BODIES,
  HOSTILE_HEADERS,
  HOSTILE_QUERIES,
  HOSTILE_SEGMENTS,
  HOSTILE_VALUES,
} from './hostile.ts'
import { rawRequest } from './raw.ts'

export type FuzzOptions = { seed: number; requestCountMax: number; timeMsMax: number }

/** How many requests got which status. */
export type FuzzReport = { requestCount: number; statuses: Record<string, number> }

type Attempt = {
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
}

/** What names of fields and of path parameters usually hold, so that requests get further than the first check. */
type Known = Record<string, string>

/**
 * Sends requests made from the endpoints' own schemas, with one or more things about each made hostile. Throws on the
 * first that is answered a 5xx, an error of another shape than ours, or anything the OpenAPI document does not describe;
 * the message holds what to send to see it again.
 */
export async function fuzz(api: TestApi, options: FuzzOptions): Promise<FuzzReport> {
  const chance = createChance(options.seed)
  const seller = await seedStore(api.database.db, { webhookUrl: 'https://93.184.216.34/hook' })
  const known = await seedKnown(api, seller)
  const report: FuzzReport = { requestCount: 0, statuses: {} }
  const endsAt = performance.now() + options.timeMsMax
  while (report.requestCount < options.requestCountMax && performance.now() < endsAt) {
    const endpoint = ENDPOINTS[report.requestCount % ENDPOINTS.length] as Endpoint
    const attempt = makeAttempt(chance, endpoint, known, seller)
    const status = await send(api, attempt, options.seed)
    report.requestCount += 1
    report.statuses[status] = (report.statuses[status] ?? 0) + 1
  }
  return report
}

async function seedKnown(api: TestApi, seller: SeededStore): Promise<Known> {
  const make = (kind: keyof typeof SEED_OBJECT) => SEED_OBJECT[kind](api, seller, 'test')
  const paymentId = await make('pay')
  return {
    ...{ network: 'base', token: 'usdc', id: paymentId, paymentId },
    storeId: seller.store.storeId,
    publishableKey: seller.keys.test.publishable,
    priceId: await make('price'),
    productId: await make('prod'),
    paymentLinkId: await make('plink'),
    sessionId: await make('cs'),
    subscriptionId: await make('sub'),
    transferId: await make('trf'),
    deliveryId: await make('dlv'),
    walletId: await make('wal'),
    host: 'shop.example',
    url: 'https://93.184.216.34/hook',
    address: `0x${'2'.repeat(40)}`,
    email: seller.account.email,
    from: '2026-01-01T00:00:00Z',
    to: '2027-01-01T00:00:00Z',
  }
}

function makeAttempt(
  chance: Chance,
  endpoint: Endpoint,
  known: Known,
  seller: SeededStore,
): Attempt {
  const headers: Record<string, string> = { Origin: 'https://shop.example' }
  if (endpoint.auth === 'seller' || endpoint.auth === 'store') {
    headers['Authorization'] = `Bearer ${seller.keys.test.secret}`
  }
  let path = endpoint.path.replace(/:([A-Za-z]+)/g, (_, name: string) =>
    chance.isIn(0.2) ? chance.pick(HOSTILE_SEGMENTS) : (known[name] ?? 'key_unknown'),
  )
  if (chance.isIn(0.3)) path += `?${chance.pick(HOSTILE_QUERIES)}`
  if (chance.isIn(0.15)) Object.assign(headers, chance.pick(HOSTILE_HEADERS))
  let body: string | undefined
  if (endpoint.body !== undefined || chance.isIn(0.05)) {
    const [text, type] =
      endpoint.body === undefined || chance.isIn(0.15)
        ? chance.pick(HOSTILE_BODIES)
        : ([sample(chance, endpoint.body, '', known), 'application/json'] as const)
    body = text
    if (type !== '') headers['Content-Type'] = type
  }
  const isBodiless = endpoint.method === 'GET' || endpoint.method === 'DELETE'
  return { method: endpoint.method, path, headers, body: isBodiless ? undefined : body }
}

/** JSON of a schema, with hostile values and unknown fields here and there. */
function sample(chance: Chance, schema: TSchema, name: string, known: Known): string {
  if (chance.isIn(0.12)) return chance.pick(HOSTILE_VALUES)
  if (known[name] !== undefined) return JSON.stringify(known[name])
  switch (schema[Kind]) {
    case 'Object':
      return sampleObject(chance, schema, known)
    case 'Record':
      return '{"orderId":"1042"}'
    case 'Array':
      return `[${sample(chance, schema['items'], '', known)}]`
    case 'Union':
      return sample(chance, chance.pick(schema['anyOf']), '', known)
    case 'Literal':
      return JSON.stringify(schema['const'])
    case 'Null':
      return 'null'
    case 'Boolean':
      return String(chance.isIn(0.5))
    case 'Integer': {
      const { minimum = 0, maximum = 1_000 } = schema
      return String(minimum + chance.below(Math.min(1_000, maximum - minimum)))
    }
    default:
      return JSON.stringify(name === 'password' ? 'correct horse battery' : 'text')
  }
}

function sampleObject(chance: Chance, schema: TSchema, known: Known): string {
  const properties: [string, TSchema][] = Object.entries(schema['properties'])
  const required: string[] = schema['required'] ?? []
  const fields = properties
    .filter(([name]) => chance.isIn(required.includes(name) ? 0.97 : 0.4))
    .map(([name, one]) => `${JSON.stringify(name)}:${sample(chance, one, name, known)}`)
  if (chance.isIn(0.08)) fields.push(`"unknown":${chance.pick(HOSTILE_VALUES)}`)
  return `{${fields.join(',')}}`
}

async function send(api: TestApi, attempt: Attempt, seed: number): Promise<number> {
  const answer = await rawRequest(api.url, attempt)
  const told = `seed ${seed}: ${JSON.stringify({ ...attempt, body: attempt.body?.slice(0, 2_000) })}`
  assert.ok(answer.status < 500, `${told} was answered ${answer.status} ${answer.text}`)
  if (answer.status >= 400) {
    const isPage = answer.headers.get('content-type')?.startsWith('text/html') === true
    if (!isPage) {
      const { code, requestId, message } = answer.body?.error ?? {}
      assert.equal(typeof code, 'string', `${told} was answered ${answer.status} ${answer.text}`)
      assert.equal(typeof message, 'string', told)
      assert.match(String(requestId), /^req_[0-9a-z]+$/, told)
    }
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-z]+$/, told)
  }
  try {
    if (isPlainPath(attempt.path)) assertAnswerDescribed(attempt.method, attempt.path, answer)
  } catch (error) {
    throw new Error(told, { cause: error })
  }
  return answer.status
}

/** Whether the path means the endpoint that it was made from, whoever reads it. */
function isPlainPath(path: string): boolean {
  return !/(^|\/)(\.|%2e)+(\/|$)|%2f/i.test(path.split('?')[0] ?? '')
}
