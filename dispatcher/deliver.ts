import type { Keyring } from '#shared/crypto.ts'
import type { SqlLike } from '#shared/db.ts'
import type { Log } from '#shared/log.ts'
import { openWebhookSecret } from '#shared/webhook-secret.ts'
import { signatureHeader } from '#shared/webhook-signature.ts'
import {
  type AttemptRecord,
  type DueDelivery,
  readDeliveries,
  readSecrets,
  type SealedSecret,
} from './attempt-queries.ts'
import type { Fresh, Reading } from './fresh.ts'
import type { Job } from './job.ts'
import type { Poster, PostResult } from './post.ts'
import { nextStep, retryAfterMs } from './retry.ts'

/** Opened secrets kept in memory, a count; ids never change their secret. */
const OPENED_SECRET_COUNT_MAX = 10_000

/** What delivering works with. */
export type DeliverDeps = {
  readonly db: SqlLike
  readonly poster: Poster
  readonly log: Log
  /** This process's clock in milliseconds since 1970: what signatures are dated by. */
  readonly nowMs: () => number
  /** Milliseconds of a clock that only moves forward. */
  readonly monotonicMs: () => number
  /** From 0 to 1: decides the jitter of retries. */
  readonly random: () => number
  /** A job with less than this left on its promotion is not begun, in milliseconds. */
  readonly leftMsMin: number
}

/** First stage: everything one attempt needs, read in advance. */
export type Prepared = {
  readonly job: Job
  readonly delivery: DueDelivery
  /** Every active secret, opened; empty when there is none that can be. */
  readonly secrets: readonly string[]
  readonly body: Uint8Array
  /** When it was read, by the clock that only moves forward: at `delivery.now`. */
  readonly preparedAtMs: number
}

/** Second stage: what came of the attempt. */
export type Attempted = {
  readonly prepared: Prepared
  readonly result: PostResult | { readonly kind: 'failed'; readonly fault: 'no_secret' }
  /** Start, by Postgres's clock. */
  readonly at: Date
  readonly durationMs: number
}

/** Opens secrets once each. */
export type SecretOpener = {
  /** A secret opened before; undefined when it was not. */
  opened(webhookSecretId: string): string | undefined
  /** Opens a secret and remembers it; one that cannot be opened is logged, and null. */
  open(sealed: SealedSecret): string | null
}

/**
 * Gets what these jobs ask for: from what the relay has just read, else from the database. `voided` are
 * the jobs that are no longer anybody's: their delivery is done, parked, or promoted anew.
 */
export async function prepare(
  deps: DeliverDeps,
  { fresh, secrets }: { readonly fresh: Fresh; readonly secrets: SecretOpener },
  jobs: readonly Job[],
): Promise<{ prepared: Prepared[]; voided: Job[] }> {
  const readings = new Map<Job, Reading>()
  for (const job of jobs) {
    const reading = fresh.take(job)
    if (reading !== null) readings.set(job, reading)
  }
  const unread = jobs.filter((job) => !readings.has(job))
  if (unread.length > 0) await read(deps, unread, readings)
  const secretsOf = await openSecrets(deps.db, secrets, [...readings.values()])
  const prepared: Prepared[] = []
  for (const [job, { delivery, readAtMs }] of readings) {
    const body = Buffer.from(delivery.body, 'utf8')
    const ownSecrets = delivery.secretIds.flatMap((id) => secretsOf(id) ?? [])
    prepared.push({ job, delivery, secrets: ownSecrets, body, preparedAtMs: readAtMs })
  }
  return { prepared, voided: jobs.filter((job) => !readings.has(job)) }
}

/** Reads the deliveries of jobs that are still theirs. */
async function read(
  deps: DeliverDeps,
  jobs: readonly Job[],
  readings: Map<Job, Reading>,
): Promise<void> {
  const deliveries = await readDeliveries(deps.db, jobs, deps.leftMsMin)
  const readAtMs = deps.monotonicMs()
  const byId = new Map(deliveries.map((delivery) => [delivery.deliveryId, delivery]))
  for (const job of jobs) {
    const delivery = byId.get(job.deliveryId)
    // Named twice, it is the first one's.
    byId.delete(job.deliveryId)
    if (delivery !== undefined) readings.set(job, { delivery, readAtMs })
  }
}

async function openSecrets(
  db: SqlLike,
  secrets: SecretOpener,
  readings: readonly Reading[],
): Promise<(webhookSecretId: string) => string | undefined> {
  const found = new Map<string, string>()
  const sealed = new Set<string>()
  for (const { delivery } of readings) {
    for (const id of delivery.secretIds) {
      const secret = secrets.opened(id)
      if (secret === undefined) sealed.add(id)
      else found.set(id, secret)
    }
  }
  for (const one of sealed.size === 0 ? [] : await readSecrets(db, [...sealed])) {
    const secret = secrets.open(one)
    if (secret !== null) found.set(one.webhookSecretId, secret)
  }
  return (id) => found.get(id)
}

/** Signs and posts once. Never throws for what an endpoint does. */
export async function attempt(deps: DeliverDeps, prepared: Prepared): Promise<Attempted> {
  const { delivery, secrets, body } = prepared
  const startedAtMs = deps.monotonicMs()
  const at = new Date(delivery.now.getTime() + (startedAtMs - prepared.preparedAtMs))
  if (secrets.length === 0) {
    return { prepared, result: { kind: 'failed', fault: 'no_secret' }, at, durationMs: 0 }
  }
  const result = await deps.poster.post({
    url: delivery.url,
    eventType: delivery.eventType,
    eventId: delivery.eventId,
    signature: signatureHeader(body, secrets, Math.floor(deps.nowMs() / 1000)),
    body,
  })
  return { prepared, result, at, durationMs: Math.round(deps.monotonicMs() - startedAtMs) }
}

/**
 * Third stage: what is written down, and when the next attempt is.
 *
 * @param random from 0 to 1, for the jitter
 */
export function recordOf(attempted: Attempted, random: number): AttemptRecord {
  const { prepared, result, at, durationMs } = attempted
  const { delivery, job } = prepared
  const common = { job, url: delivery.url, at, durationMs }
  const now = new Date(at.getTime() + durationMs)
  const wasAnswered = result.kind === 'answered'
  const isSuccess = wasAnswered && result.status >= 200 && result.status < 300
  const step = isSuccess
    ? null
    : nextStep({
        attemptCount: delivery.attemptCount + 1,
        deadlineAt: delivery.deadlineAt,
        now,
        random,
        retryAfterMs: wasAnswered ? retryAfterMs(result.status, result.retryAfter, now) : null,
      })
  return {
    ...common,
    responseStatus: wasAnswered ? result.status : null,
    responseBody: wasAnswered ? shownText(result.body) : null,
    error: wasAnswered ? null : result.fault,
    isSuccess,
    nextAttemptAt: step?.kind === 'RETRY' ? step.at : null,
  }
}

/** Makes an opener that remembers; a secret that cannot be opened is logged and left out. */
export function createSecretOpener(deps: {
  readonly keyring: Keyring
  readonly log: Log
}): SecretOpener {
  const opened = new Map<string, string>()
  return {
    opened: (webhookSecretId) => opened.get(webhookSecretId),
    open({ webhookSecretId, storeId, ciphertext }) {
      try {
        const secret = openWebhookSecret(deps.keyring, storeId, ciphertext)
        if (opened.size >= OPENED_SECRET_COUNT_MAX) opened.clear()
        opened.set(webhookSecretId, secret)
        return secret
      } catch (error) {
        deps.log.error(
          'a signing secret cannot be opened: is ENCRYPTION_KEY the one it was sealed with?',
          { storeId, webhookSecretId, error },
        )
        return null
      }
    },
  }
}

/** The answer's first bytes as text Postgres can keep: no NUL, and no half character at the end. */
function shownText(body: Uint8Array): string {
  return new TextDecoder().decode(body, { stream: true }).replaceAll('\u0000', '')
}
