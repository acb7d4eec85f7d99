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

/** Stores whose opened secrets are kept in memory, a count; ids never change their secret. */
const OPENED_COUNT_MAX = 10_000

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

/** Opens secrets once each; ids come joined by commas. */
export type SecretOpener = {
  /** The secrets of these ids, opened before; undefined when one was not. */
  opened(secretIds: string): readonly string[] | undefined
  /** Opens the secrets of these ids and remembers them; one that cannot be opened is logged and left out. */
  open(secretIds: string, sealed: ReadonlyMap<string, SealedSecret>): readonly string[]
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
  const nowMs = deps.monotonicMs()
  const due: Due[] = []
  const unread: Job[] = []
  for (const job of jobs) {
    const reading = fresh.take(job, nowMs)
    if (reading === null) unread.push(job)
    else due.push({ job, reading })
  }
  const voided = unread.length === 0 ? [] : await read(deps, unread, due)
  const opened = due.map(({ reading }) => secrets.opened(reading.delivery.secretIds))
  const sealed = due.flatMap(({ reading }, index) =>
    opened[index] === undefined ? reading.delivery.secretIds : [],
  )
  const found = await openSecrets(deps.db, secrets, new Set(sealed))
  const prepared = due.map(({ job, reading: { delivery, readAtMs } }, index) => ({
    job,
    delivery,
    secrets: opened[index] ?? found.get(delivery.secretIds) ?? [],
    body: Buffer.from(delivery.body, 'utf8'),
    preparedAtMs: readAtMs,
  }))
  return { prepared, voided }
}

/** A job, and its delivery. */
type Due = { readonly job: Job; readonly reading: Reading }

/** Reads the deliveries of jobs that are still theirs; answers the jobs that are not. */
async function read(deps: DeliverDeps, jobs: readonly Job[], due: Due[]): Promise<Job[]> {
  const deliveries = await readDeliveries(deps.db, jobs, deps.leftMsMin)
  const readAtMs = deps.monotonicMs()
  const byId = new Map(deliveries.map((delivery) => [delivery.deliveryId, delivery]))
  return jobs.filter((job) => {
    const delivery = byId.get(job.deliveryId)
    // Named twice, it is the first one's.
    byId.delete(job.deliveryId)
    if (delivery !== undefined) due.push({ job, reading: { delivery, readAtMs } })
    return delivery === undefined
  })
}

/** The secrets of each of these lists of ids. */
async function openSecrets(
  db: SqlLike,
  secrets: SecretOpener,
  lists: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = [...new Set([...lists].flatMap(idsOf))]
  const read = ids.length === 0 ? [] : await readSecrets(db, ids)
  const sealed = new Map(read.map((one) => [one.webhookSecretId, one]))
  return new Map([...lists].map((list) => [list, secrets.open(list, sealed)]))
}

function idsOf(secretIds: string): string[] {
  return secretIds === '' ? [] : secretIds.split(',')
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
  const wasAnswered = result.kind === 'answered'
  const isSuccess = wasAnswered && result.status >= 200 && result.status < 300
  return {
    job,
    url: delivery.url,
    at,
    durationMs,
    responseStatus: wasAnswered ? result.status : null,
    responseBody: wasAnswered ? shownText(result.body) : null,
    error: wasAnswered ? null : result.fault,
    isSuccess,
    nextAttemptAt: isSuccess ? null : nextAttemptAt(attempted, random),
  }
}

/** When a failed delivery is attempted again; null when it is dead. */
function nextAttemptAt(attempted: Attempted, random: number): Date | null {
  const { result, at, durationMs } = attempted
  const { attemptCount, deadlineAt } = attempted.prepared.delivery
  const now = new Date(at.getTime() + durationMs)
  const askedMs =
    result.kind === 'answered' ? retryAfterMs(result.status, result.retryAfter, now) : null
  const step = nextStep({
    attemptCount: attemptCount + 1,
    deadlineAt: new Date(deadlineAt),
    now,
    random,
    retryAfterMs: askedMs,
  })
  return step.kind === 'RETRY' ? step.at : null
}

/** Makes an opener that remembers; a secret that cannot be opened is logged and left out. */
export function createSecretOpener(deps: {
  readonly keyring: Keyring
  readonly log: Log
}): SecretOpener {
  const opened = new Map<string, readonly string[]>()
  function openOne({ webhookSecretId, storeId, ciphertext }: SealedSecret): string[] {
    try {
      return [openWebhookSecret(deps.keyring, storeId, ciphertext)]
    } catch (error) {
      deps.log.error(
        'a signing secret cannot be opened: is ENCRYPTION_KEY the one it was sealed with?',
        { storeId, webhookSecretId, error },
      )
      return []
    }
  }
  return {
    opened: (secretIds) => opened.get(secretIds),
    open(secretIds, sealed) {
      const ids = idsOf(secretIds)
      const found = ids.flatMap((id) => sealed.get(id) ?? [])
      const secrets = found.flatMap(openOne)
      if (secrets.length < ids.length) return secrets
      if (opened.size >= OPENED_COUNT_MAX) opened.clear()
      opened.set(secretIds, secrets)
      return secrets
    },
  }
}

/** One for all, since making one costs more than decoding. */
const decoder = new TextDecoder()

/** The answer's first bytes as text Postgres can keep: no NUL, and no half character at the end. */
function shownText(body: Uint8Array): string {
  const text = decoder.decode(body, { stream: true })
  // Forgets the half character.
  decoder.decode()
  return text.replaceAll('\u0000', '')
}
