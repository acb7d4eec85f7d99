import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonError, parseStrictJson } from '../../api/strict-json.ts'

/** The same value and the same refusal as `JSON.parse` where nothing more is asked. */
const PLAIN = [
  'null',
  'true',
  ' false ',
  '0',
  '-0',
  '-1.5e+3',
  '9007199254740991',
  '"\\u00e9\\n\\"\\\\ \\ud83d\\ude00 é"',
  '[]',
  '[ 1 , [ ] , { } ]',
  '{"a":{"b":[1,"x",null]},"c":""}',
  '{"constructor":{"prototype":1},"toString":2}',
  '',
  ' ',
  '{',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  "{'a':1}",
  '[1,]',
  '[1 2]',
  '01',
  '+1',
  '1.',
  '.5',
  '1e',
  '-',
  'NaN',
  'Infinity',
  'nul',
  'truefalse',
  '1 2',
  '"a',
  '"\\x"',
  '"\\u12"',
  '"a\nb"',
  '"\t"',
  '\ufeff{}',
  '{}//',
  '\u00a01',
]

for (const text of PLAIN) {
  test(`reads or refuses ${JSON.stringify(text)} as JSON.parse does`, () => {
    let expected: unknown
    try {
      expected = JSON.parse(text)
    } catch {
      assert.throws(() => parseStrictJson(text), JsonError)
      return
    }
    assert.deepEqual(parseStrictJson(text), expected)
  })
}

const REFUSED: [what: string, text: string, param: string][] = [
  ['a key that stands there twice', '{"a":{"b":1,"b":2}}', 'a.b'],
  ['the same key written with an escape', '{"a":1,"\\u0061":2}', 'a'],
  ['__proto__', '{"__proto__":{}}', '__proto__'],
  ['an escaped __proto__', '{"m":{"__pro\\u0074o__":1}}', 'm.__proto__'],
  ['NUL in a text', '{"a":["x","\\u0000"]}', 'a.1'],
  ['NUL in a key', '{"a\\u0000":1}', ''],
  ['half a surrogate pair', '{"a":"\\ud800"}', 'a'],
  ['a pair the wrong way round', '{"a":"\\udc00\\ud800"}', 'a'],
  ['a whole number beyond 2^53', '{"a":9007199254740993}', 'a'],
  ['a negative one', '{"a":-9007199254740992}', 'a'],
  ['one written with an exponent', '{"a":1e300}', 'a'],
  ['a number beyond all numbers', '{"a":1e999}', 'a'],
  ['deep nesting', '['.repeat(17) + ']'.repeat(17), '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0'],
]

for (const [what, text, param] of REFUSED) {
  test(`refuses ${what}`, () => {
    assert.throws(
      () => parseStrictJson(text),
      (error) => error instanceof JsonError && error.param === param,
    )
  })
}

test('takes nesting up to the bound and a value that is no object', () => {
  assert.doesNotThrow(() => parseStrictJson('['.repeat(16) + ']'.repeat(16)))
  assert.equal(parseStrictJson('"x"'), 'x')
})

test('refuses 64 KiB of brackets, quotes or backslashes in no time', { timeout: 2_000 }, () => {
  for (const unit of ['[', '{"a":', '"', '\\', '"\\', '"a\\n', '1', ' ', '-']) {
    const text = unit.repeat(Math.floor(65_536 / unit.length))
    assert.throws(() => parseStrictJson(text), JsonError)
  }
})
