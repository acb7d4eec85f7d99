import type { Config } from '#shared/config.ts'
import type { Keyring } from '#shared/crypto.ts'
import type { Db } from '#shared/db.ts'

/** What every command works with. Postgres alone: what needs a chain or a mail server is asked for by a row in `requests`. */
export type OpsDeps = {
  db: Db
  config: Pick<Config, 'planCapsUsd' | 'deployments' | 'publicUrl' | 'slotQuarantineHours'>
  /** Undefined without `ENCRYPTION_KEY`: few commands need it. */
  keyring: Keyring | undefined
  /** Everything that is piped in. */
  readInput(): Promise<string>
  /** Something a person should know that is no part of the answer. */
  note(line: string): void
}

/** What stood on the command line behind the command's name, checked against what the command takes. */
export type Arguments = {
  /** The parameters, in order; those that may be left out are undefined then. */
  words: readonly string[]
  options: Readonly<Record<string, string | undefined>>
  flags: ReadonlySet<string>
}

export type Command = {
  /** Two words, such as `account show`. */
  name: string
  summary: string
  /** Names of its parameters; one that ends in `?` may be left out. */
  parameters?: readonly string[]
  /** Options with a value: what stands for the value in the help, and what it is. */
  options?: Readonly<Record<string, { value: string; about: string }>>
  /** Options without one. */
  flags?: Readonly<Record<string, string>>
  /** Answers what is printed, as JSON or as text. Throws {@link UsageError}, {@link Refusal} or `ServiceError`. */
  run(deps: OpsDeps, args: Arguments): Promise<Answer>
}

/** A value of JSON with names. */
export type Answer = Readonly<Record<string, unknown>>

/** The command line asks for something that cannot be: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What was asked for is not there, or could not be done: exit code 1. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** A value that has to be given. Throws {@link UsageError}. */
export function need(args: Arguments, option: string): string {
  const value = args.options[option]
  if (value === undefined) throw new UsageError(`--${option} is missing`)
  return value
}

/** One of some words, in any case; undefined when it was not given. Throws {@link UsageError}. */
export function oneWordOf<W extends string>(
  words: readonly W[],
  text: string | undefined,
  what: string,
): W | undefined {
  if (text === undefined) return undefined
  const found = words.find((word) => word.toLowerCase() === text.toLowerCase())
  if (found === undefined) throw new UsageError(`${what} is one of ${words.join(', ')}`)
  return found
}

/** A whole number within bounds; undefined when it was not given. Throws {@link UsageError}. */
export function wholeNumberOf(
  text: string | undefined,
  what: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw new UsageError(`${what} is a whole number from ${min} to ${max}`)
  }
  return value
}

/** Rows that a list shows when it is not told how many, and at most. */
const LIST_COUNT = 50
const LIST_COUNT_MAX = 1_000

export const LIMIT_OPTION = {
  limit: { value: 'count', about: `how many, newest first (${LIST_COUNT})` },
} as const

/** How many rows are asked for. Throws {@link UsageError}. */
export function limitOf(args: Arguments): number {
  const bounds = { min: 1, max: LIST_COUNT_MAX }
  return wholeNumberOf(args.options['limit'], '--limit', bounds) ?? LIST_COUNT
}
