import { BlockList, isIPv6 } from 'node:net'
import { overlayPlanCaps, PLAN_CAPS_USD, type PlanCapsUsd } from '#shared/config-plans.ts'
import {
  CIDRS,
  ENCRYPTION_KEY,
  type Format,
  HOST,
  LOG_LEVEL,
  MAIL_ADDRESS,
  oneOf,
  PORT,
  POSTGRES_URL,
  PROXY_URL,
  PUBLIC_URL,
  SMTP_URL,
  SWITCH,
  wholeNumber,
} from '#shared/config-values.ts'
import type { LogLevel } from '#shared/log.ts'
import { NetworksError } from '#shared/networks/overlay.ts'
import { buildDeployments, type Deployment } from '#shared/networks/registry.ts'

/**
 * Every variable with its default as an operator would write it; '' is none. An empty variable counts
 * as unset. `.env.example` explains each one, and a test keeps the two alike.
 */
export const VARIABLES = {
  DATABASE_URL: '',
  DATABASE_LISTEN_URL: '',
  DATABASE_PREPARE: '1',
  HOST: '127.0.0.1',
  PORT: '3000',
  PUBLIC_URL: '',
  NETWORKS_FILE: '',
  SMTP_URL: '',
  MAIL_FROM: 'payments@localhost',
  TRUSTED_PROXIES: '',
  SIGNUP: 'open',
  PLANS_FILE: '',
  WEBHOOK_ALLOW_PRIVATE: '0',
  LOG_LEVEL: 'info',
  LOG_FORMAT: '',
  METRICS_PORT: '',
  ENCRYPTION_KEY: '',
  EGRESS_PROXY: '',
  SLOT_QUARANTINE_HOURS: '24',
  RATE_LIMIT_CHECKOUT: '120',
  OPEN_PAYMENTS_PER_IP: '100',
} as const

export type Variable = keyof typeof VARIABLES

/** What a process was told, read once by its entrance and handed down. Holds secrets: never log it. */
export type Config = {
  /** Undefined means the embedded Postgres of `bun start`. */
  databaseUrl: string | undefined
  /** A connection that may `LISTEN`; the same as `databaseUrl` unless that one is a pooler. */
  databaseListenUrl: string | undefined
  /** Whether the driver prepares statements; false behind a transaction pooler. */
  databasePrepare: boolean
  host: string
  port: number
  /** Without a trailing slash. */
  publicUrl: string
  /** By name (`base:test`), every known one; `isOn` tells which have an RPC. */
  deployments: Map<string, Deployment>
  /** Undefined: mails are written to `.data/mail`. */
  smtpUrl: string | undefined
  mailFrom: string
  trustedProxies: BlockList
  isSignupOpen: boolean
  planCapsUsd: PlanCapsUsd
  webhookAllowPrivate: boolean
  logLevel: LogLevel
  logFormat: 'json' | 'pretty'
  metricsPort: number | undefined
  /** 32 bytes. Undefined only where the entrance did not require it. */
  encryptionKey: Uint8Array | undefined
  egressProxy: string | undefined
  slotQuarantineHours: number
  /** Well-formed `POST /checkout` per client IP and minute. */
  rateLimitCheckout: number
  openPaymentsPerIp: number
}

export type Env = Readonly<Record<string, string | undefined>>

/** The fields that an unset variable leaves undefined. */
const OPTIONAL = {
  databaseUrl: ['DATABASE_URL', POSTGRES_URL],
  databaseListenUrl: ['DATABASE_LISTEN_URL', POSTGRES_URL],
  smtpUrl: ['SMTP_URL', SMTP_URL],
  metricsPort: ['METRICS_PORT', PORT],
  encryptionKey: ['ENCRYPTION_KEY', ENCRYPTION_KEY],
  egressProxy: ['EGRESS_PROXY', PROXY_URL],
} as const satisfies { [F in keyof Config]?: readonly [Variable, Format<Config[F]>] }

type OptionalField = keyof typeof OPTIONAL

type Sources<F extends OptionalField> = {
  /** Reads a whole text file, or throws. */
  readFile: (path: string) => string
  /** Whether the log goes to a person's terminal, which then gets readable text. */
  isTerminal?: boolean
  /** What this entrance can't run without. */
  requires?: readonly F[]
}

/** Whole hours, up to 30 days. */
const QUARANTINE_HOURS = wholeNumber(1, 720)
const COUNT = wholeNumber(1, 1_000_000)

/** EX_CONFIG of BSD's sysexits.h: the configuration is wrong, and starting again will not help. */
export const CONFIG_EXIT_CODE = 78

/** The environment can't be run. `faults` has one line for each: the variable, what it should be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

/**
 * Reads and checks every variable. Throws `ConfigError` with all faults at once; none repeats a
 * value, since it could be a secret. What `requires` names is not undefined in the answer.
 */
export function loadConfig<F extends OptionalField = never>(
  env: Env,
  { readFile, isTerminal = false, requires = [] }: Sources<F>,
): Config & { [K in F]: NonNullable<Config[K]> } {
  const faults: string[] = []
  const report = (variable: Variable, shouldBe: string) => {
    faults.push(`${variable} should be ${shouldBe}`)
  }
  const textOf = (variable: Variable) => env[variable]?.trim() || VARIABLES[variable]

  /** The variable's value, or `none` when it is unset; a faulty one is reported, and `none` stands in. */
  function read<T, N>(variable: Variable, format: Format<T>, none: N): T | N {
    const text = textOf(variable)
    if (text === '') return none
    const value = format.parse(text)
    if (value === undefined) report(variable, format.shouldBe)
    return value ?? none
  }
  const readJson = (variable: Variable, use: (json: unknown) => void) => {
    const path = textOf(variable)
    const json = path === '' ? undefined : parseJsonFile(path, readFile)
    if (json === undefined || 'value' in json) use(json?.value)
    else report(variable, json.shouldBe)
  }

  const host = read('HOST', HOST, '127.0.0.1')
  const port = read('PORT', PORT, 3000)
  const databaseUrl = read('DATABASE_URL', POSTGRES_URL, undefined)
  const config: Config = {
    databaseUrl,
    databaseListenUrl: read('DATABASE_LISTEN_URL', POSTGRES_URL, databaseUrl),
    databasePrepare: read('DATABASE_PREPARE', SWITCH, true),
    host,
    port,
    publicUrl: read(
      'PUBLIC_URL',
      PUBLIC_URL,
      `http://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    ),
    deployments: new Map(),
    smtpUrl: read('SMTP_URL', SMTP_URL, undefined),
    mailFrom: read('MAIL_FROM', MAIL_ADDRESS, ''),
    trustedProxies: read('TRUSTED_PROXIES', CIDRS, new BlockList()),
    isSignupOpen: read('SIGNUP', oneOf(['open', 'closed']), 'open') === 'open',
    planCapsUsd: PLAN_CAPS_USD,
    webhookAllowPrivate: read('WEBHOOK_ALLOW_PRIVATE', SWITCH, false),
    logLevel: read('LOG_LEVEL', LOG_LEVEL, 'info'),
    logFormat: read('LOG_FORMAT', oneOf(['json', 'pretty']), isTerminal ? 'pretty' : 'json'),
    metricsPort: read('METRICS_PORT', PORT, undefined),
    encryptionKey: read('ENCRYPTION_KEY', ENCRYPTION_KEY, undefined),
    egressProxy: read('EGRESS_PROXY', PROXY_URL, undefined),
    slotQuarantineHours: read('SLOT_QUARANTINE_HOURS', QUARANTINE_HOURS, 24),
    rateLimitCheckout: read('RATE_LIMIT_CHECKOUT', COUNT, 120),
    openPaymentsPerIp: read('OPEN_PAYMENTS_PER_IP', COUNT, 100),
  }
  readJson('NETWORKS_FILE', (json) => {
    config.deployments = collectDeployments(json, (fault) => faults.push(`NETWORKS_FILE ${fault}`))
  })
  readJson('PLANS_FILE', (json) => {
    config.planCapsUsd = overlayPlanCaps(json, (fault) => faults.push(`PLANS_FILE ${fault}`))
  })

  if (config.smtpUrl !== undefined && !env['MAIL_FROM']?.trim()) {
    report('MAIL_FROM', `set together with SMTP_URL: ${MAIL_ADDRESS.shouldBe}`)
  }
  for (const field of requires) {
    const [variable, format] = OPTIONAL[field]
    const isUnset = textOf(variable) === '' && config[field] === undefined
    if (isUnset) report(variable, `set: ${format.shouldBe}`)
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return config as Config & { [K in F]: NonNullable<Config[K]> }
}

/** The part of a process that an entrance hands over when its configuration is wrong. */
type Exit = { stderr: { write: (text: string) => unknown }; exit: (code: number) => never }

/**
 * Ends the process with exit code 78 and one line per fault on stderr, when the error is a
 * `ConfigError`; any other error is thrown on.
 */
export function exitOnConfigError(error: unknown, process: Exit): never {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.faults.join('\n')}\n`)
  return process.exit(CONFIG_EXIT_CODE)
}

/** What `start` answers; on a `ConfigError` the process ends as {@link exitOnConfigError} says. */
export function orExit<T>(start: () => T, process: Exit): T {
  try {
    return start()
  } catch (error) {
    return exitOnConfigError(error, process)
  }
}

function parseJsonFile(
  path: string,
  readFile: (path: string) => string,
): { value: unknown } | { shouldBe: string } {
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { shouldBe: `the path of a readable file: ${reason}` }
  }
  try {
    return { value: JSON.parse(text) }
  } catch {
    // The parser's own message quotes the text, which may hold an RPC key.
    return { shouldBe: `the path of a JSON file: ${path} holds something else` }
  }
}

function collectDeployments(
  json: unknown,
  report: (fault: string) => void,
): Map<string, Deployment> {
  try {
    return buildDeployments(json)
  } catch (error) {
    if (!(error instanceof NetworksError)) throw error
    for (const fault of error.faults) report(fault)
    return new Map()
  }
}
