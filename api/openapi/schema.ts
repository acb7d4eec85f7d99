import { Kind, type TSchema } from '@sinclair/typebox'
import { COMPONENTS } from './components.ts'
import { explainField } from './glossary.ts'

/** A piece of an OpenAPI document. */
export type JsonObject = { [key: string]: unknown }

const NAMES = new Map<TSchema, string>(Object.entries(COMPONENTS).map(([name, one]) => [one, name]))

/**
 * A schema that validates, as JSON Schema 2020-12. An object that does not say otherwise is closed: what is sent is
 * checked so, and what is answered is held to it by tests. Objects of {@link COMPONENTS} become references.
 */
export function toJsonSchema(schema: TSchema): JsonObject {
  const name = NAMES.get(schema)
  return name === undefined ? describe(schema) : { $ref: `#/components/schemas/${name}` }
}

/** The schemas that others refer to. */
export function componentSchemas(): JsonObject {
  return Object.fromEntries(Object.entries(COMPONENTS).map(([name, one]) => [name, describe(one)]))
}

function describe(schema: TSchema): JsonObject {
  const { description, deprecated, examples } = schema
  const told = { description, deprecated, examples }
  return withoutUndefined({ ...shapeOf(schema), ...told })
}

function shapeOf(schema: TSchema): JsonObject {
  switch (schema[Kind]) {
    case 'Object':
      return objectShape(schema)
    case 'Record':
      return {
        type: 'object',
        additionalProperties: toJsonSchema(
          Object.values(schema['patternProperties'])[0] as TSchema,
        ),
        maxProperties: schema['maxProperties'],
      }
    case 'Array':
      return {
        type: 'array',
        items: toJsonSchema(schema['items']),
        ...pick(schema, ['minItems', 'maxItems', 'uniqueItems']),
      }
    case 'Union':
      return unionShape(schema['anyOf'])
    case 'Literal':
      return { type: typeof schema['const'], const: schema['const'] }
    case 'Unknown':
      return {}
    default:
      return pick(schema, [
        'type',
        'minimum',
        'maximum',
        'minLength',
        'maxLength',
        'pattern',
        'format',
      ])
  }
}

function objectShape(schema: TSchema): JsonObject {
  const properties: [string, TSchema][] = Object.entries(schema['properties'])
  return {
    type: 'object',
    properties: Object.fromEntries(
      properties.map(([name, one]) => [name, explainField(name, toJsonSchema(one))]),
    ),
    required: schema['required'],
    additionalProperties: schema['additionalProperties'] ?? false,
  }
}

/** A choice of words is an enum, which readers and generators know better than a choice of schemas. */
function unionShape(members: readonly TSchema[]): JsonObject {
  const words = members.map((member) => member['const'])
  if (words.every((word) => typeof word === 'string')) return { type: 'string', enum: words }
  return { anyOf: members.map(toJsonSchema) }
}

function pick(schema: TSchema, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, schema[name]]))
}

function withoutUndefined(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}
