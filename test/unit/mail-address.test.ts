import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMailAddress } from '#shared/mail-address.ts'

const label = 'd'.repeat(63)
/** 254 characters, the most an address may have. */
const LONGEST = `${'a'.repeat(64)}@${[label, label, 'd'.repeat(61)].join('.')}`

const ADDRESSES: readonly [text: string, address: string][] = [
  ['ann@shop.example', 'ann@shop.example'],
  ['Ann.Smith+Orders@Shop.Example', 'ann.smith+orders@shop.example'],
  ["o'brien@shop.example", "o'brien@shop.example"],
  ['a@b', 'a@b'],
  ['root@localhost', 'root@localhost'],
  ['x_y-z/{}|~!#$%&*=?^`@1.example', 'x_y-z/{}|~!#$%&*=?^`@1.example'],
  ['ann@xn--bcher-kva.example', 'ann@xn--bcher-kva.example'],
  [LONGEST, LONGEST],
]
for (const [text, address] of ADDRESSES) {
  test(`${text.slice(0, 40)} is one address`, () => {
    assert.equal(parseMailAddress(text), address)
  })
}

const REFUSED = [
  '',
  '@',
  'a@',
  '@b.example',
  'ann',
  'ann.shop.example',
  'a@b@c.example',
  'a@x.example\r\nBcc: evil@y.example',
  'a@x.example\nevil@y.example',
  'a@x.example\r',
  'a@x.example\u0000',
  'a@x.example,evil@y.example',
  'a,b@x.example',
  'a@x.example;evil@y.example',
  'a;b@x.example',
  'a:b@x.example',
  'Ann <a@x.example>',
  '<a@x.example>',
  '"a"@x.example',
  '"a b"@x.example',
  'a b@x.example',
  ' a@x.example',
  'a@x.example ',
  'a@x .example',
  'a@x.example\t',
  'a(comment)@x.example',
  'a[b]@x.example',
  'a\\b@x.example',
  '.a@x.example',
  'a.@x.example',
  'a..b@x.example',
  'a@.x.example',
  'a@x.example.',
  'a@x..example',
  'a@-x.example',
  'a@x-.example',
  'a@x_y.example',
  'a@[127.0.0.1]',
  `a@${'d'.repeat(64)}.example`,
  `${'a'.repeat(65)}@x.example`,
  `${LONGEST.slice(0, 65)}d${LONGEST.slice(65)}`,
  'ä@x.example',
  'a@bücher.example',
  // Letters that lower-casing turns into ASCII ones: the Kelvin sign and the dotted capital I.
  'a@\u212aey.example',
  '\u212a@x.example',
  'a@\u0130.example',
  'a\u200b@x.example',
  'a@x.example\u2028b@y.example',
]
for (const text of REFUSED) {
  test(`${JSON.stringify(text.slice(0, 48))} is refused`, () => {
    assert.equal(parseMailAddress(text), undefined)
  })
}
