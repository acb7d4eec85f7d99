import { hash, verify } from '@node-rs/argon2'
import { fail } from '#shared/errors.ts'

/** Characters, as a person counts them. */
const PASSWORD_CHARACTERS_MIN = 12
/** UTF-8 bytes: enough for any passphrase, little enough that hashing it costs what every hash costs. */
const PASSWORD_BYTES_MAX = 1_024

/**
 * Argon2id as the OWASP Password Storage Cheat Sheet recommends it at least: 19 MiB of memory, two
 * passes, one lane. Some 30 ms each, on a thread of its own.
 */
const MEMORY_KIB = 19_456
const PASSES = 2
const LANES = 1

/** Hashes at a time in one process: each holds 19 MiB and a core. */
const RUNNING_MAX = 2
/** Hashes waiting for one to end, some two seconds' worth; beyond it callers are told to come back. */
const WAITING_MAX = 128
const RETRY_AFTER_SECONDS = 2

/** A hash of nothing, with our parameters: verifying against it is the work a real account would cost. */
const DECOY_HASH = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** Hashes and checks passwords, a bounded number at a time. */
export type Passwords = {
  /** The PHC string to store. Throws 503 `unavailable` when too many hashes wait. */
  hashPassword: (password: string) => Promise<string>
  /**
   * Whether the password is the one behind the stored hash. Without one (no such account) it does the
   * same work and answers false, so that time tells nobody which accounts exist. Throws like
   * `hashPassword`.
   */
  verifyPassword: (password: string, storedHash: string | undefined) => Promise<boolean>
}

/** Whether a new password is long enough, and not too long to be hashed. */
export function isAcceptablePassword(password: string): boolean {
  const text = normalize(password)
  return [...text].length >= PASSWORD_CHARACTERS_MIN && isHashable(text)
}

/** One per process: its limits count all callers together. */
export function createPasswords(): Passwords {
  const run = createGate()
  return {
    hashPassword(password) {
      const text = normalize(password)
      if (!isHashable(text)) throw new RangeError('a password is checked before it is hashed')
      return run(() => hash(text, { memoryCost: MEMORY_KIB, timeCost: PASSES, parallelism: LANES }))
    },
    async verifyPassword(password, storedHash) {
      const text = normalize(password)
      // No account has such a password, so that answering early tells nothing.
      if (!isHashable(text)) return false
      const isSame = await run(() => verify(storedHash ?? DECOY_HASH, text))
      return isSame && storedHash !== undefined
    },
  }
}

/** Runs jobs, at most `RUNNING_MAX` together and in the order they came. */
function createGate(): <T>(job: () => Promise<T>) => Promise<T> {
  let runningCount = 0
  const waiting: (() => void)[] = []

  return async (job) => {
    if (runningCount >= RUNNING_MAX) {
      if (waiting.length >= WAITING_MAX) {
        fail('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: 'password hashing' })
      }
      // Whoever ends hands its place over, so that the count stays as it is.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      runningCount += 1
    }
    try {
      return await job()
    } finally {
      const next = waiting.shift()
      if (next === undefined) runningCount -= 1
      else next()
    }
  }
}

/** The same password typed on two systems may differ in its code points (NIST SP 800-63B, 5.1.1.2). */
function normalize(password: string): string {
  return password.normalize('NFKC')
}

function isHashable(text: string): boolean {
  return new TextEncoder().encode(text).length <= PASSWORD_BYTES_MAX
}
