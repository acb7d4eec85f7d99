import { readFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { loadConfig, orExit } from '#shared/config.ts'
import { newSecret } from '#shared/crypto.ts'
import { readBeside } from '../beside.ts'
import { type ListenDeps, listenForEvents } from './listen.ts'
import { ApiFault, createSource } from './source.ts'

const USAGE = `Usage: bun run listen --key sk_… --forward-to URL [options]

  Posts a store's events to a URL of yours as they are emitted, signed like webhooks: to try an integration on a laptop.

  --key <sk_…>         a secret key of the store; its mode decides which events
  --forward-to <URL>   where to, such as http://127.0.0.1:4000/webhook
  --base-url <URL>     the API (PUBLIC_URL, or http://HOST:PORT, or that of a \`bun start\` in this directory, with /v1)
  --secret <whsec_…>   sign with this one; else one is made up and printed
  --after <sequence>   begin behind this event; 0 for the very first (what is emitted from now on)
  --help
`
const USAGE_EXIT_CODE = 2
const SECRET = /^whsec_\S{16,200}$/

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())

try {
  await listenForEvents(readCommandLine())
} catch (error) {
  if (!(error instanceof ApiFault)) throw error
  exit(1, `${error.message}\n`)
}

function readCommandLine(): ListenDeps {
  const values = parse()
  if (values.help) {
    process.stdout.write(USAGE)
    process.exit(0)
  }
  const mode = /^sk_(test|live)_\S+$/.exec(values.key ?? '')?.[1]
  if (mode !== 'test' && mode !== 'live')
    return refuse('--key should be a secret key: sk_test_… or sk_live_…')
  const forwardTo = readUrl('--forward-to', values['forward-to'])
  const baseUrl = readUrl('--base-url', values['base-url'] ?? baseUrlHere()).replace(/\/+$/, '')
  const { secret = newSecret('whsec'), after } = values
  if (!SECRET.test(secret)) return refuse('--secret should be a signing secret: whsec_…')
  if (after !== undefined && !/^\d{1,15}$/.test(after))
    return refuse('--after should be a sequence')
  const { signal } = stopping
  return {
    ...{ forwardTo, baseUrl, secret, signal },
    source: createSource({ baseUrl, key: values.key ?? '', mode, signal }),
    after: after === undefined ? undefined : Number(after),
    nowMs: () => Date.now(),
    print: (line) => process.stdout.write(`${line}\n`),
  }
}

function parse() {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      options: {
        ...{ key: text, 'forward-to': text, 'base-url': text, secret: text, after: text },
        help: { type: 'boolean' },
      },
    }).values
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

/** The API of this environment, or else of the `bun start` in this directory. */
function baseUrlHere(): string {
  const { PUBLIC_URL, HOST, PORT } = process.env
  const isNamed = [PUBLIC_URL, HOST, PORT].some((value) => value?.trim())
  const beside = isNamed ? undefined : readBeside('public-url')
  if (beside !== undefined) return `${beside}/v1`
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const { publicUrl } = orExit(() => loadConfig({ PUBLIC_URL, HOST, PORT }, { readFile }), process)
  return `${publicUrl}/v1`
}

function readUrl(option: string, text: string | undefined): string {
  const url = text === undefined ? null : URL.parse(text)
  // Other schemes would open files.
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href
  return refuse(`${option} should be an http or https URL`)
}

function refuse(reason: string): never {
  return exit(USAGE_EXIT_CODE, `${reason}\n\n${USAGE}`)
}

function exit(code: number, text: string): never {
  process.stderr.write(text)
  process.exit(code)
}
