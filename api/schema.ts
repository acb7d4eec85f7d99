import { Kind, type Static, type TObject, type TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { fail } from '#shared/errors.ts'

/** Checks a value as it is: nothing is coerced, defaulted or removed. Throws `invalid_request` naming the field. */
export type Checker<T extends TSchema> = (value: unknown) => Static<T>

/** Longest path shown in `param`, in characters: a key is the caller's own text. */
const PARAM_CHARACTERS_MAX = 200

/** Compiles a schema once, at start. Objects in it must say `additionalProperties: false`. */
export function compileSchema<T extends TSchema>(schema: T): Checker<T> {
  const compiled = TypeCompiler.Compile(schema)
  return (value) => {
    if (compiled.Check(value)) return value
    const error = compiled.Errors(value).First()
    if (error === undefined) throw new Error('a schema refused a value without an error')
    const param = toParam(error.path)
    return fail('invalid_request', { message: explain(error), ...(param === '' ? {} : { param }) })
  }
}

/** A query string's schema: texts, and whole numbers, which alone are read from their digits. */
export type QuerySchema = TObject

/** Compiles a reader of query strings. Each name may stand there once; unknown names are refused. */
export function compileQuery<T extends QuerySchema>(schema: T): (query: string) => Static<T> {
  const check = compileSchema(schema)
  const whole = new Set(
    Object.entries(schema.properties).flatMap(([name, { [Kind]: kind }]) =>
      kind === 'Integer' ? [name] : [],
    ),
  )
  return (query) => {
    const values: Record<string, string | number> = {}
    for (const [name, text] of new URLSearchParams(query)) {
      if (Object.hasOwn(values, name)) {
        fail('invalid_request', { message: 'This parameter stands there twice.', param: name })
      }
      if (text.includes('\0') || !text.isWellFormed()) {
        fail('invalid_request', { message: 'This parameter holds no valid text.', param: name })
      }
      values[name] = whole.has(name) && /^\d{1,15}$/.test(text) ? Number(text) : text
    }
    return check(values)
  }
}

function explain(error: ValueError): string {
  const { schema, type } = error
  if (typeof schema['shouldBe'] === 'string') return `This should be ${schema['shouldBe']}.`
  if (type === ValueErrorType.ObjectAdditionalProperties) return 'There is no such field.'
  if (type === ValueErrorType.ObjectRequiredProperty) return 'This field is required.'
  const words = literals(schema)
  if (words.length > 0) return `This should be one of ${words.join(', ')}.`
  const wanted = WANTED[type]?.(schema)
  if (wanted !== undefined) return `This should be ${wanted}.`
  return `${error.message.replace('Expected', 'This should be')}.`
}

/** What a value should be, by what is wrong with it. */
const WANTED: { readonly [T in ValueErrorType]?: (schema: TSchema) => string } = {
  [ValueErrorType.Integer]: () => 'an integer',
  [ValueErrorType.IntegerMinimum]: ({ minimum }) => `${minimum} or more`,
  [ValueErrorType.IntegerMaximum]: ({ maximum }) => `${maximum} or less`,
  [ValueErrorType.String]: () => 'a string',
  [ValueErrorType.StringMinLength]: ({ minLength }) =>
    minLength === 1 ? 'a text that is not empty' : `a text of at least ${minLength} characters`,
  [ValueErrorType.StringMaxLength]: ({ maxLength }) => `a text of at most ${maxLength} characters`,
  [ValueErrorType.Boolean]: () => 'true or false',
  [ValueErrorType.Object]: () => 'an object',
  [ValueErrorType.ObjectMaxProperties]: ({ maxProperties }) =>
    `an object of at most ${maxProperties} keys`,
  [ValueErrorType.Array]: () => 'a list',
  [ValueErrorType.ArrayMinItems]: ({ minItems }) => `a list of ${minItems} or more`,
  [ValueErrorType.ArrayMaxItems]: ({ maxItems }) => `a list of at most ${maxItems}`,
  [ValueErrorType.ArrayUniqueItems]: () => 'a list in which nothing stands twice',
}

function literals(schema: TSchema): string[] {
  if (schema['const'] !== undefined) return [String(schema['const'])]
  return Array.isArray(schema['anyOf']) ? schema['anyOf'].flatMap(literals) : []
}

/** A JSON pointer as the wire's path with dots. */
function toParam(pointer: string): string {
  const path = pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return path.join('.').slice(0, PARAM_CHARACTERS_MAX)
}
