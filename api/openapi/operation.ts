import { ERRORS, type ErrorCode } from '#shared/errors.ts'
import { type EndpointFacts, isReplayable } from '../endpoint.ts'
import { errorsOf } from './errors.ts'
import { explainField } from './glossary.ts'
import { type JsonObject, toJsonSchema } from './schema.ts'

/** How a style of authentication reads in an operation's description. */
const AUTH_NOTES: Record<EndpointFacts['auth'], string> = {
  open: 'Needs no key.',
  publishable:
    'Publishable key: `publishableKey` in the body, together with the `Origin` header that browsers send. With a live key the header must be there and valid.',
  capability: 'Capability: whoever knows the unguessable id in the path may call this. No key.',
  seller: 'Secret key or login token, as `Authorization: Bearer …`.',
  store: 'Secret key of this store or login token of its account, as `Authorization: Bearer …`.',
}

/** One endpoint as an OpenAPI operation. */
export function toOperation(endpoint: EndpointFacts): JsonObject {
  const { auth, body, summary, description } = endpoint
  const isSellers = auth === 'seller' || auth === 'store'
  return {
    operationId: operationId(endpoint),
    tags: [tagOf(endpoint.path)],
    summary,
    description: [description, AUTH_NOTES[auth]].filter(Boolean).join('\n\n'),
    security: isSellers ? [{ secretKey: [] }, { loginToken: [] }] : [],
    parameters: parametersOf(endpoint),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !endpoint.isBodyOptional,
            content: { 'application/json': { schema: toJsonSchema(body) } },
          },
        }),
    responses: { ...successOf(endpoint), ...failuresOf(endpoint) },
  }
}

/** `/v1/stores/:storeId/keys` as OpenAPI writes it. */
export function toPath(path: string): string {
  return path.replace(/:([A-Za-z]+)/g, '{$1}')
}

/** The part of the API that an endpoint belongs to. */
export function tagOf(path: string): string {
  if (!path.startsWith('/v1/')) return 'operation'
  if (/^\/v1\/(test\/)?payments\//.test(path)) return 'checkout'
  const [, , first = '', second, third] = path.replace('/v1/test/', '/v1/').split('/')
  if (first === 'stores' && second === ':storeId' && third !== undefined) return third
  if (first === 'checkout' && second === 'sessions') return 'sessions'
  return first === 'account' ? 'accounts' : first
}

function operationId({ method, path }: EndpointFacts): string {
  const words = path
    .replace(/^\/v1/, '')
    .split(/[/.-]/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith(':') ? `By${capital(part.slice(1))}` : capital(part)))
  return `${method.toLowerCase()}${words.join('')}`
}

function capital(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}

function parametersOf(endpoint: EndpointFacts): JsonObject[] {
  const { path, query, auth } = endpoint
  const inPath = [...path.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => {
    const field = name === 'id' ? 'paymentId' : name
    const schema = { type: 'string' }
    return { name, in: 'path', required: true, ...asParameter(explainField(field, schema)) }
  })
  const inQuery = Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    ...asParameter(explainField(name, toJsonSchema(schema))),
  }))
  const inHeader: JsonObject[] = []
  if (auth === 'publishable') inHeader.push({ $ref: '#/components/parameters/Origin' })
  if (auth === 'seller' || auth === 'store') {
    inHeader.push({ $ref: '#/components/parameters/ServiceMode' })
  }
  if (isReplayable(endpoint)) inHeader.push({ $ref: '#/components/parameters/IdempotencyKey' })
  return [...inPath, ...inQuery, ...inHeader]
}

function asParameter({ description, ...schema }: JsonObject): JsonObject {
  return { description, schema }
}

function successOf(endpoint: EndpointFacts): JsonObject {
  const { status, response, media, method, fails } = endpoint
  const json = response === undefined ? {} : { schema: toJsonSchema(response) }
  const content = media.map((type) => [
    type,
    type === 'application/json' ? json : { schema: { type: 'string' } },
  ])
  return {
    [status]: {
      description: status === 204 ? 'Done; the answer has no body.' : 'Success.',
      headers: {
        ...headerRefs(['X-Request-Id']),
        ...(fails.includes('rate_limited') && method === 'POST' ? headerRefs(RATE_HEADERS) : {}),
        ...(isReplayable(endpoint) ? headerRefs(['Idempotent-Replayed']) : {}),
      },
      ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
    },
  }
}

const RATE_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

/** One answer per status, with the codes that it can hold. */
function failuresOf(endpoint: EndpointFacts): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorsOf(endpoint)) {
    const [status] = ERRORS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, failure(status, codes)]),
  )
}

function failure(status: number, codes: readonly ErrorCode[]): JsonObject {
  const extra =
    status === 429 ? ['Retry-After', ...RATE_HEADERS] : status === 503 ? ['Retry-After'] : []
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join('\n\n'),
    headers: headerRefs(['X-Request-Id', ...extra]),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Error' },
            {
              type: 'object',
              properties: { error: { type: 'object', properties: { code: { enum: codes } } } },
            },
          ],
        },
        examples: Object.fromEntries(
          codes.map((code) => [
            code,
            {
              value: {
                error: {
                  code,
                  message: ERRORS[code][1],
                  requestId: 'req_01k2m4x8y0q3z5w7v9t1r6p8n2',
                },
              },
            },
          ]),
        ),
      },
    },
  }
}

function headerRefs(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
