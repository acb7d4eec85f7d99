import { API_VERSION } from '#shared/events.ts'
import type { EndpointFacts } from '../endpoint.ts'
import { tagOf, toOperation, toPath } from './operation.ts'
import { componentSchemas, type JsonObject } from './schema.ts'
import { DELIVERY_PARAMETERS, webhookOperations } from './webhooks.ts'

const INTRODUCTION = `Stablecoin payments for sellers. A buyer pays on-chain; the seller's server learns the result from signed webhook events.

**Who is calling.** A *publishable key* (\`pk_test_…\`, \`pk_live_…\`) stands in the body of the two checkout endpoints, with the browser's \`Origin\` header. A *secret key* (\`sk_test_…\`, \`sk_live_…\`) belongs to one store and one mode and goes out as \`Authorization: Bearer …\`, from servers only. A *login token* (\`sess_…\`) goes out the same way, reaches every store of its account and names its mode with \`X-Service-Mode\` (default \`test\`). A *capability* is an unguessable id in the path, such as \`pay_…\`.

**Modes.** A test key sees and makes test data only. A live key reads both (\`?mode=\` filters) and makes and changes live data only.

**Amounts.** \`amount\` is US dollars as a decimal text, \`amountBaseUnits\` the exact integer on-chain amount, to be read with \`decimals\`. \`amountCents\` is US cents.

**Lists** take \`limit\` (1–100, default 20) and \`cursor\`, and answer \`data\`, \`hasMore\` and \`nextCursor\`, newest first: a walk never repeats or skips what was there when it began.

**Errors** have one shape and a code to act on. \`429\` carries \`Retry-After\` and the \`RateLimit-*\` headers. Every answer carries \`X-Request-Id\`. Any path may answer \`404 not_found\` or \`405 method_not_allowed\` to a wrong path or method.

**Input** is JSON and taken as it is: nothing is coerced, and unknown fields, duplicate keys and whole numbers beyond 2^53 are refused. Lengths of texts count UTF-16 code units, as JavaScript and Java do: most emoji count as two.

**Trying again.** A POST with a secret key or login token may carry an \`Idempotency-Key\`: for 24 hours the same request gets the same answer.`

/** The OpenAPI 3.1 document of these endpoints, made from what they are declared with. Pure. */
export function openApiDocument(
  endpoints: readonly EndpointFacts[],
  { publicUrl }: { publicUrl: string },
): JsonObject {
  const tags = [...new Set(endpoints.map(({ path }) => tagOf(path))), 'webhook events']
  return {
    openapi: '3.1.1',
    info: {
      title: 'Stablecoin payments',
      version: '1',
      summary: `Webhook payloads of version ${API_VERSION}.`,
      description: INTRODUCTION,
    },
    servers: [{ url: publicUrl }],
    tags: tags.map((name) => ({ name })),
    paths: pathsOf(endpoints),
    webhooks: webhookOperations(),
    components: {
      schemas: componentSchemas(),
      securitySchemes: SECURITY_SCHEMES,
      parameters: { ...PARAMETERS, ...DELIVERY_PARAMETERS },
      headers: HEADERS,
    },
  }
}

function pathsOf(endpoints: readonly EndpointFacts[]): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const endpoint of endpoints) {
    const path = toPath(endpoint.path)
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: toOperation(endpoint) }
  }
  return paths
}

const SECURITY_SCHEMES: JsonObject = {
  secretKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk_test_… or sk_live_…',
    description: 'A secret key of one store and mode. For servers only.',
  },
  loginToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sess_…',
    description: 'What POST /v1/accounts/login answers. Reaches every store of the account.',
  },
}

const PARAMETERS: JsonObject = {
  Origin: {
    name: 'Origin',
    in: 'header',
    required: false,
    description:
      'Sent by browsers. Must be there and valid with a live key; any or none with a test key.',
    schema: { type: 'string', examples: ['https://shop.example'] },
  },
  ServiceMode: {
    name: 'X-Service-Mode',
    in: 'header',
    required: false,
    description:
      'The mode of a login token (default test). With a secret key it must be the key’s own.',
    schema: { type: 'string', enum: ['test', 'live'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'A text of 1 to 255 visible ASCII characters, new for each thing to be done. For 24 hours the same key gets the same answer again, with Idempotent-Replayed: true, and nothing is done twice; with another request it is refused (409 idempotency_mismatch).',
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      examples: ['order-1042'],
    },
  },
}

const HEADERS: JsonObject = {
  'X-Request-Id': {
    description: 'The request’s id: name it when you ask for help.',
    schema: { type: 'string', examples: ['req_01k2m4x8y0q3z5w7v9t1r6p8n2'] },
  },
  'Retry-After': {
    description: 'Seconds after which trying again makes sense.',
    schema: { type: 'integer', minimum: 1, examples: [17] },
  },
  'RateLimit-Limit': {
    description: 'Requests allowed in a window.',
    schema: { type: 'integer', examples: [120] },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in this window.',
    schema: { type: 'integer', examples: [119] },
  },
  'RateLimit-Reset': {
    description: 'Seconds until the window ends.',
    schema: { type: 'integer', examples: [60] },
  },
  'Idempotent-Replayed': {
    description:
      'true when this is the answer of an earlier request with the same Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
}
