/** A stream of numbers in [0, 1) that a seed decides (mulberry32). */
export type Random = () => number

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pick<T>(random: Random, from: readonly T[]): T {
  const picked = from[Math.floor(random() * from.length)]
  if (picked === undefined) throw new Error('there is nothing to pick from')
  return picked
}

/** JSON texts that no field should take for what it is: types mixed up, sizes, encodings, prototypes. */
export const HOSTILE_VALUES: readonly string[] = [
  ...['null', 'true', '0', '-1', '1.5', '1e400', '-0', '1e-7', '""', '" "', '[]', '{}', '[[]]'],
  ...['"5"', '"5.0"', '"0x10"', '"1e3"', '"NaN"', '"true"', '"null"', '"undefined"'],
  ...['9007199254740993', '100000000000000000000000', '-9007199254740993', '2147483648'],
  ...['"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00x"', '"\\ud83d\\ude00"', '"\\u202eabc"'],
  ...['"\\u0007"', '"\\r\\nX: y"', '"a\\tb"', '"🦊"', '"ﷺ"', '"İı"', '"é"', '"\\u2028"'],
  ...['{"__proto__":{"x":1}}', '{"constructor":1}', '{"a":1,"a":2}', '{"":""}', '{"toString":1}'],
  ...['["usdc","usdc"]', '[null]', '[{}]', '{"length":1}', '[1,"2",null]'],
  ...['"\'; drop table payments; --"', '"%00"', '"../../etc/passwd"', '"{{7*7}}"', '"<script>"'],
  ...[
    '"http://[::1"',
    '"javascript:alert(1)"',
    '"https://user:pass@x.example/"',
    '"a@b\\r\\nBcc: c@d"',
  ],
  ...['"2026-02-30T00:00:00Z"', '"9999999-01-01T00:00:00Z"', '"-271821-04-20T00:00:00Z"'],
  `"${'a'.repeat(5_000)}"`,
  `"${'\\u0041'.repeat(3_000)}"`,
  `{${Array.from({ length: 30 }, (_, index) => `"k${index}":"v"`).join(',')}}`,
  `${'['.repeat(20)}1${']'.repeat(20)}`,
  `{"a":"${'😀'.repeat(600)}"}`,
]

/** Whole bodies that are no JSON object, with the type they claim to be. */
export const HOSTILE_BODIES: readonly (readonly [string, string])[] = [
  ['', 'application/json'],
  ['a=1&b=2', 'application/x-www-form-urlencoded'],
  ['{"a":1}', 'text/plain'],
  ['{"a":1}', ''],
  ['{"a":1', 'application/json'],
  ['{"a":1}{"b":2}', 'application/json'],
  ['\ufeff{"a":1}', 'application/json'],
  ['[]', 'application/json'],
  ['null', 'application/json'],
  ['"text"', 'application/json; charset=utf-16'],
  ["{'a':1}", 'application/json'],
  ['{"a":1,}', 'application/json'],
  ['{"__proto__":{"mode":"live"}}', 'application/json'],
  ['{"mode":"live"}', 'application/json'],
  ['{"mode":{}}', 'application/json'],
  [`${'['.repeat(30_000)}`, 'application/json'],
  [`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 'application/json'],
  [`{"a":"${'x'.repeat(70_000)}"}`, 'application/json'],
  [
    '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--',
    'multipart/form-data; boundary=x',
  ],
]

/** What stands in a path where an id should be, escaped or not as it stands here. */
export const HOSTILE_SEGMENTS: readonly string[] = [
  ...[
    '%00',
    '%',
    '%zz',
    '%c3%28',
    '%ed%a0%80',
    '%f0%9f%a6%8a',
    '%2e%2e',
    '%2f',
    '%252f',
    '..',
    '.',
  ],
  ...[
    'pay_',
    'pay_%00',
    'null',
    'undefined',
    '__proto__',
    'constructor',
    '*',
    ':id',
    '%20',
    '+',
    '~',
  ],
  ...[
    "'%20or%201=1--",
    '%0d%0aX:%20y',
    'x'.repeat(3_000),
    'store_'.repeat(50),
    '%E2%80%AE',
    '1',
    '-1',
  ],
]

export const HOSTILE_QUERIES: readonly string[] = [
  ...[
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=1e1',
    'limit=%00',
    'limit=1&limit=2',
    'limit=',
    'limit',
  ],
  ...[
    'cursor=x',
    'cursor=%00',
    'cursor=Zm9v',
    `cursor=${'A'.repeat(400)}`,
    'cursor=%ff',
    'cursor[]=1',
  ],
  ...[
    'mode=live',
    'mode=TEST',
    'mode=',
    'status=%F0%9F%A6%8A',
    'status=confirmed',
    '__proto__=1',
    '&&&',
    '=',
    '%',
  ],
  ...[
    'after=-1',
    'after=99999999999999999999',
    'after=9007199254740993',
    'createdFrom=now',
    'type=*',
  ],
  ...[
    'createdFrom=0000-00-00T00:00:00Z',
    'createdTo=275760-09-13T00:00:00.001Z',
    'paymentId=%00',
    'a=1',
  ],
  ...[
    'createdFrom=0001-01-01T00:00:00Z',
    'createdTo=9999-12-31T23:59:59Z',
    'network=%27',
    'state=MATCHED',
  ],
]

export const HOSTILE_HEADERS: readonly Record<string, string>[] = [
  { Authorization: 'Bearer' },
  { Authorization: 'Bearer sk_test_' },
  { Authorization: `Bearer sk_test_${'a'.repeat(99)}` },
  { Authorization: 'Basic dXNlcjpwYXNz' },
  { Authorization: `Bearer sess_${'x'.repeat(5_000)}` },
  { 'X-Service-Mode': 'live' },
  { 'X-Service-Mode': 'LIVE, test' },
  { 'X-Forwarded-For': '1.2.3.4, , ::ffff:9.9.9.9, x, [::1]:80' },
  { 'X-Forwarded-For': 'a'.repeat(4_000) },
  { Origin: 'null' },
  { Origin: 'https://xn--/' },
  { Origin: `https://${'a.'.repeat(200)}example` },
  { Accept: 'text/csv;q=abc,*/*;q=' },
  { 'Idempotency-Key': '' },
  { 'Idempotency-Key': 'x'.repeat(300) },
  { 'Idempotency-Key': 'é' },
  { 'Content-Encoding': 'gzip' },
  { 'Accept-Language': 'x'.repeat(3_000) },
  { Cookie: 'a=b; '.repeat(500) },
  { Range: 'bytes=0-0', 'If-None-Match': '*' },
]
