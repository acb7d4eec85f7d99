import { relative, resolve } from 'node:path'
import process from 'node:process'
import { readOptions } from '#shared/arguments.ts'
import { CONFIG_EXIT_CODE, ConfigError, orExit } from '#shared/config.ts'
import { DirectoryInUse } from '#shared/start/lock.ts'
import { findStarters, isRunning } from '#shared/start/process-identity.ts'
import { createScreen } from '#shared/start/screen.ts'
import { type StackFacts, Stopped, startStack } from '#shared/start/stack.ts'

/** `bun start`: everything on this machine, until Ctrl-C. */

/** Milliseconds between the first and a second Ctrl-C that is meant: one press reaches us through several parents. */
const SECOND_SIGNAL_AFTER_MS = 500
/** Milliseconds for everything to end; what is left then is ended by the watchers when this process has gone. */
const STOP_TIMEOUT_MS = 4_700
/** Milliseconds between two looks whether whoever started us is still there. */
const STARTERS_POLL_MS = 1_000

const { solana: hasSolana = false } = orExit(
  () => readOptions(process.argv.slice(2), { solana: { type: 'boolean' } }, '[--solana]'),
  process,
)
const directory = resolve('.data')
const isTerminal = process.stdout.isTTY === true
const screen = createScreen({
  write: (text) => process.stdout.write(text),
  isTerminal,
  hasColor: isTerminal && !process.env['NO_COLOR'],
  nowMs: () => performance.now(),
})
// Without a terminal to write to, everything still has to be ended.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)

const stack = startStack({ env: process.env, directory, screen, hasSolana })
let stopping: { sinceMs: number } | undefined

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stopping && performance.now() - stopping.sinceMs > SECOND_SIGNAL_AFTER_MS) process.exit(1)
    stop(0, 'stopping …')
  })
}
void watchStarters()
void stack.hopeless.then(() =>
  stop(CONFIG_EXIT_CODE, 'a process cannot run with this configuration'),
)

try {
  show(await stack.ready)
} catch (error) {
  if (!(error instanceof Stopped)) {
    const isConfig = error instanceof ConfigError || error instanceof DirectoryInUse
    stop(isConfig ? CONFIG_EXIT_CODE : 1, error instanceof Error ? error.message : String(error))
  }
}

function stop(exitCode: number, reason: string): void {
  if (stopping) return
  stopping = { sinceMs: performance.now() }
  screen.settle()
  screen.line(`  ${reason}`)
  setTimeout(() => process.exit(exitCode || 1), STOP_TIMEOUT_MS)
  stack.stop().then(
    () => process.exit(exitCode),
    (error: unknown) => {
      screen.line(`  ${String(error)}`)
      process.exit(exitCode || 1)
    },
  )
}

/** Under `bun start` we end with whoever runs the script: a killed one cannot tell us to. */
async function watchStarters(): Promise<void> {
  if (process.env['npm_lifecycle_event'] !== 'start') return
  // Each runner of scripts names itself here, unless another one above it already has.
  const isUnderNpm = process.env['npm_config_user_agent']?.startsWith('npm/') === true
  const starters = await findStarters(process.ppid, { isUnderNpm })
  const look = async () => {
    const areThere = await Promise.all(starters.map(isRunning))
    if (areThere.includes(false)) stop(0, 'whoever started this has gone: stopping …')
    else setTimeout(look, STARTERS_POLL_MS).unref()
  }
  await look()
}

function show({ settings, seller, docsUrl, networkFaults }: StackFacts): void {
  const { publicUrl, shop } = settings
  const [product] = seller.products
  const body = {
    publishableKey: seller.publishableKey,
    ...{ priceId: product?.priceId, network: 'base', token: 'usdc' },
  }
  screen.settle()
  const lines = [
    '',
    '  Ready. All money here is test money, on a chain of your own.',
    '',
    `    Base URL          ${publicUrl}/v1`,
    `    Docs              ${docsUrl}`,
    `    Demo shop         ${shop.url}`,
    `    Publishable key   ${seller.publishableKey}`,
    `    Secret key        ${seller.secretKey}`,
    '',
    '  Ask for a payment:',
    '',
    `curl -sS ${publicUrl}/v1/checkout -H 'Content-Type: application/json' -H 'Origin: ${shop.url}' -d '${JSON.stringify(body)}'`,
    '',
    ...networkFaults.map((fault) => `  ! ${fault}: see .data/logs/indexer.log`),
    `  Everything is kept in ${relative(process.cwd(), directory)}/, logs in ${relative(process.cwd(), directory)}/logs/. Ctrl-C stops it.`,
    '',
  ]
  for (const line of lines) screen.line(line)
}
