/** What strict JSON can hold. Numbers are finite, and exact when they are whole. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A text that is not strict JSON. `param` is the path of the value at fault, empty when it is the text itself. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly param: string

  constructor(message: string, param: string) {
    super(message)
    this.param = param
  }
}

/** Nested arrays and objects, the outermost counted: no body of the API is deeper than four. */
const DEPTH_MAX = 16
/** Setting this key changes what an object is. Any other makes a field of its own, `constructor` of metadata too. */
const FORBIDDEN_KEY = '__proto__'

const WHITE_SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const LITERAL = /true|false|null/y
/** Up to the closing quote, with escapes passed over: `JSON.parse` judges what is inside. */
const STRING = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y
/** What must not be in a string: NUL, which Postgres refuses, and what JSON wants escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const UNESCAPED_CONTROL = /[\u0000-\u001f]/

type Cursor = { text: string; at: number; path: (string | number)[] }

/**
 * Reads JSON more strictly than `JSON.parse`: no key twice in an object, none called `__proto__`, no NUL and no
 * lone surrogate in a string, no whole number beyond 2^53, no nesting beyond {@link DEPTH_MAX}.
 * Throws {@link JsonError}.
 */
export function parseStrictJson(text: string): Json {
  const cursor: Cursor = { text, at: 0, path: [] }
  skip(cursor)
  const value = readValue(cursor, 1)
  skip(cursor)
  if (cursor.at < text.length) refuse(cursor, 'The body holds more than one JSON value.')
  return value
}

function readValue(cursor: Cursor, depth: number): Json {
  switch (cursor.text[cursor.at]) {
    case '{':
      return readObject(cursor, depth)
    case '[':
      return readArray(cursor, depth)
    case '"':
      return readString(cursor)
    case 't':
    case 'f':
    case 'n':
      return readLiteral(cursor)
    default:
      return readNumber(cursor)
  }
}

function readObject(cursor: Cursor, depth: number): Json {
  enter(cursor, depth)
  const object: { [key: string]: Json } = {}
  if (takes(cursor, '}')) return object
  for (;;) {
    if (cursor.text[cursor.at] !== '"') malformed(cursor)
    const key = readString(cursor)
    cursor.path.push(key)
    if (key === FORBIDDEN_KEY) refuse(cursor, 'This key is not allowed.')
    if (Object.hasOwn(object, key)) refuse(cursor, 'This key stands there twice.')
    skip(cursor)
    if (!takes(cursor, ':')) malformed(cursor)
    object[key] = readValue(cursor, depth + 1)
    cursor.path.pop()
    skip(cursor)
    if (takes(cursor, '}')) return object
    if (!takes(cursor, ',')) malformed(cursor)
  }
}

function readArray(cursor: Cursor, depth: number): Json {
  enter(cursor, depth)
  const array: Json[] = []
  if (takes(cursor, ']')) return array
  for (;;) {
    cursor.path.push(array.length)
    array.push(readValue(cursor, depth + 1))
    cursor.path.pop()
    skip(cursor)
    if (takes(cursor, ']')) return array
    if (!takes(cursor, ',')) malformed(cursor)
  }
}

function enter(cursor: Cursor, depth: number): void {
  if (depth > DEPTH_MAX) refuse(cursor, `The body is nested deeper than ${DEPTH_MAX} levels.`)
  cursor.at += 1
  skip(cursor)
}

function readString(cursor: Cursor): string {
  const quoted = match(cursor, STRING)
  if (quoted === undefined || UNESCAPED_CONTROL.test(quoted)) malformed(cursor)
  const value = quoted.includes('\\') ? decodeEscapes(cursor, quoted) : quoted.slice(1, -1)
  if (value.includes('\0')) refuse(cursor, 'A text must not hold the character NUL.')
  if (!value.isWellFormed()) refuse(cursor, 'A text must not hold half a surrogate pair.')
  return value
}

function decodeEscapes(cursor: Cursor, quoted: string): string {
  try {
    return JSON.parse(quoted)
  } catch {
    return malformed(cursor)
  }
}

function readLiteral(cursor: Cursor): Json {
  const word = match(cursor, LITERAL)
  if (word === undefined) malformed(cursor)
  return word === 'null' ? null : word === 'true'
}

function readNumber(cursor: Cursor): number {
  const digits = match(cursor, NUMBER)
  if (digits === undefined) malformed(cursor)
  const value = Number(digits)
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    refuse(cursor, 'This number is too large to be exact.')
  }
  return value
}

function match(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at
  const found = pattern.exec(cursor.text)
  if (found === null) return undefined
  cursor.at = pattern.lastIndex
  return found[0]
}

function skip(cursor: Cursor): void {
  WHITE_SPACE.lastIndex = cursor.at
  WHITE_SPACE.test(cursor.text)
  cursor.at = WHITE_SPACE.lastIndex
}

/** Passes over the character and the white space behind it, when it comes next. */
function takes(cursor: Cursor, character: string): boolean {
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  skip(cursor)
  return true
}

function malformed(cursor: Cursor): never {
  throw new JsonError(`The body is not JSON: there is a fault near character ${cursor.at}.`, '')
}

function refuse(cursor: Cursor, message: string): never {
  throw new JsonError(message, cursor.path.join('.'))
}
