import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newSecret } from '#shared/crypto.ts'
import { newId } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'

/** What nobody who reads a log may learn: capabilities, keys, tokens, secrets of webhooks, and who somebody is. */
const SECRETS = [
  newId('pay'),
  ...['sk_test', 'sk_live', 'sess', 'whsec', 'renew', 'verify', 'reset'].map((kind) =>
    newSecret(kind as 'sess'),
  ),
  ...[
    'ann@shop.example',
    'seller@intranet',
    'ann.lee+tea@mail.shop.example',
    "o'brien@shop.example",
    'a/b=c@shop.example',
  ],
]
/** URLs of which the host alone is shown. */
const URLS = [
  'postgres://payments:hunter22@db.internal:5432/hunter22',
  'wss://node.example/v2/hunter22',
  'https://hunter22@node.example/?key=hunter22',
  'smtps://mailer:hunter22@smtp.example:465',
]

for (const format of ['json', 'pretty'] as const) {
  describe(`a line of ${format}`, () => {
    const lines: string[] = []
    const log = createLog({
      level: 'debug',
      format,
      name: 'api',
      write: (line) => lines.push(line),
    })
    const written = (write: () => void) => {
      lines.length = 0
      write()
      assert.equal(lines.length, 1)
      return lines[0] ?? ''
    }
    /** Everywhere that a text can come into a line. */
    const everywhere = (text: string) => [
      written(() => log.info(`said ${text}, twice: ${text}`)),
      written(() =>
        log.warn('a field', { path: `/v1/payments/${text}`, list: [{ deep: { text } }] }),
      ),
      written(() => log.with({ bound: text }).debug('a bound field')),
      written(() => {
        const cause = Object.assign(new Error(`Key (email)=(${text}) exists`), { code: '23505' })
        log.error('an error', { error: new Error(`at ${text}`, { cause }), nested: { text } })
      }),
    ]

    for (const secret of SECRETS) {
      test(`never holds ${secret.replace(/[0-9a-z]{20,}$/, '…')}`, () => {
        // What a reader may see is the kind before the underscore, or nothing of an address.
        const rest = secret.includes('@') ? secret : secret.slice(secret.lastIndexOf('_') + 1)
        const [first = ''] = rest.split('@')
        for (const line of everywhere(secret)) {
          assert.ok(!line.includes(rest) && !line.includes(first), line)
        }
      })
    }

    test('shows of a URL its host alone', () => {
      for (const url of URLS) {
        for (const line of everywhere(url)) {
          assert.ok(!line.includes('hunter22'), line)
          assert.ok(line.includes(new URL(url).hostname), line)
        }
      }
    })

    test('is cut where it is too long, and never through a secret', () => {
      const secret = newSecret('sk_live')
      const line = written(() =>
        log.info('long', { body: `${'x'.repeat(1_980)} ${secret} ${'y'.repeat(9_000)}` }),
      )
      assert.ok(line.length < 2_200)
      assert.ok(!line.includes(secret.slice(0, 'sk_live_'.length + 4)))
    })
  })
}
