/** Severity, least to most. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export type LogFields = Record<string, unknown>

/** One method per level: a sentence, then facts. Secrets and capabilities are redacted before they are written. */
export type Log = { [level in LogLevel]: (message: string, fields?: LogFields) => void } & {
  /** The same log with fields on every line. */
  with(fields: LogFields): Log
}

export type LogOptions = {
  level: LogLevel
  format: 'json' | 'pretty'
  name: string
  write: (line: string) => void
}

/** Capabilities and secrets, wherever they stand in a line: payment ids, keys, tokens, webhook secrets. */
const SECRETS = /\b(pay|sk_test|sk_live|sess|whsec|renew|verify|reset)_[0-9A-Za-z_-]{4,}/g
const URL_SECRETS =
  /\b((?:https?|wss?|postgres(?:ql)?|smtps?):\/\/)([^\s/@]*@)?([^\s/?#"']+)([^\s"']*)/g
/** One label of a host is enough: mail within an intranet has no dot. */
const MAIL_ADDRESSES = /\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\b/g
const FIELD_CHARACTERS_MAX = 2000

/** Writes lines of JSON, or of readable text on a terminal. */
export function createLog(options: LogOptions, bound: LogFields = {}): Log {
  const lowest = LOG_LEVELS.indexOf(options.level)
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return
    options.write(format(options, level, message, { ...bound, ...fields }))
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => createLog(options, { ...bound, ...fields }),
  }
}

/** A stream of the process, as far as a log needs it. */
type Output = { write(text: string): unknown; on(event: 'error', listener: () => void): unknown }

/**
 * What writes a log's lines to a stream. When nobody takes them any more they are lost, and the work goes on: an error that
 * nobody listens to is thrown at the line's writer, and a warning would end the very loop that warns and tries again.
 */
export function linesTo(output: Output): (line: string) => void {
  output.on('error', () => undefined)
  return (line) => {
    output.write(`${line}\n`)
  }
}

/** A log that writes nothing, for callers that were given none. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
}

/** Cuts capabilities, secrets, URL credentials and paths, and mail addresses out of a text. */
export function redact(text: string): string {
  return text
    .replace(URL_SECRETS, (_, scheme: string, _user: string, host: string) => `${scheme}${host}`)
    .replace(SECRETS, '$1_…')
    .replace(MAIL_ADDRESSES, '…@…')
}

function format(options: LogOptions, level: LogLevel, message: string, fields: LogFields): string {
  const time = new Date().toISOString()
  const safe = redactFields(fields)
  if (options.format === 'json') {
    return JSON.stringify({ time, level, name: options.name, message: redact(message), ...safe })
  }
  const facts = Object.entries(safe)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
  return `${time.slice(11, 23)} ${level.padEnd(5)} ${options.name}: ${redact(message)}${facts && ` ${facts}`}`
}

function redactFields(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, redactValue(value)]))
}

function redactValue(value: unknown): unknown {
  if (value instanceof Error) return redact(describeError(value)).slice(0, FIELD_CHARACTERS_MAX)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string') return redact(value).slice(0, FIELD_CHARACTERS_MAX)
  if (value === null || typeof value !== 'object') return value
  const text = JSON.stringify(value, (_, inner) =>
    typeof inner === 'bigint' ? inner.toString() : inner,
  )
  return redact(text).slice(0, FIELD_CHARACTERS_MAX)
}

function describeError(error: Error): string {
  const code = (error as { code?: unknown }).code
  const cause = error.cause instanceof Error ? ` (${describeError(error.cause)})` : ''
  return `${code === undefined ? '' : `${String(code)} `}${error.message || error.name}${cause}`
}
