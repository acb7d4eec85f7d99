import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js'
import { ENDPOINTS } from '../../api/endpoints.ts'
import { openApiDocument } from '../../api/openapi/document.ts'
import { toPath } from '../../api/openapi/operation.ts'

/** The document as its readers get it: what survives being JSON. */
export const API_DOCUMENT = JSON.parse(
  JSON.stringify(openApiDocument(ENDPOINTS, { publicUrl: 'https://pay.example' })),
)

type Seen = { status: number; headers: Headers; body: unknown; text: string }

/** Schemas use `examples` and the like, which are no rules: everything else must be known. */
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(API_DOCUMENT, 'api')

/** Answers of success seen by this process, as `GET /v1/account`. */
export const SEEN_SUCCESSES = new Set<string>()

/** The schema at a place of the document, named by its keys. */
export function schemaAt(...keys: string[]): ValidateFunction {
  const pointer = keys.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
  const found = ajv.getSchema(`api#/${encodeURI(pointer)}`)
  if (found === undefined) throw new Error(`the document has no schema at ${pointer}`)
  return found
}

/** Asserts that a value is what the schema says. */
export function assertDescribed(validate: ValidateFunction, value: unknown, what: string): void {
  if (validate(value)) return
  throw new Error(`${what} is not as described: ${ajv.errorsText(validate.errors)}`)
}

/** Asserts that an answer of an endpoint is one that the document describes: status, headers, media type, body, error code. */
export function assertAnswerDescribed(method: string, pathAndQuery: string, answer: Seen): void {
  const pathname = pathAndQuery.split(/[?#]/, 1)[0] ?? ''
  const endpoint = ENDPOINTS.find((one) => one.method === method && matches(one.path, pathname))
  if (endpoint === undefined) return
  const { path } = endpoint
  const name = `${method} ${path}`
  const operation = API_DOCUMENT.paths[toPath(path)][method.toLowerCase()]
  const status = String(answer.status)
  const described = operation.responses[status]
  if (described === undefined) throw new Error(`${name} answered ${status}: ${answer.text}`)
  for (const header of Object.keys(described.headers)) {
    const isMissing = header !== 'Idempotent-Replayed' && !answer.headers.has(header)
    if (isMissing) throw new Error(`${name} answered ${status} without ${header}`)
  }
  if (answer.status < 300) SEEN_SUCCESSES.add(name)
  const media = answer.headers.get('content-type')?.split(';', 1)[0] ?? ''
  if (described.content === undefined) {
    if (answer.text !== '')
      throw new Error(`${name} answered ${status} with a body: ${answer.text}`)
    return
  }
  const content = described.content[media]
  if (content === undefined) throw new Error(`${name} answered ${status} as ${media}`)
  if (media !== 'application/json' || content.schema === undefined) return
  const keys = ['paths', toPath(path), method.toLowerCase(), 'responses', status, 'content', media]
  assertDescribed(schemaAt(...keys, 'schema'), answer.body, `${name} ${status} ${answer.text}`)
}

function matches(path: string, pathname: string): boolean {
  const wanted = path.split('/')
  const given = pathname.split('/')
  return (
    wanted.length === given.length &&
    wanted.every((part, index) =>
      part.startsWith(':') ? given[index] !== '' : part === given[index],
    )
  )
}
